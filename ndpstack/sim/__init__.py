"""The simulator from Python: build from a scenario, run, read numpy arrays."""

from ndpstack.sim._result import Goodput as Goodput
from ndpstack.sim._result import Result as Result
from ndpstack.sim._result import SizeBand as SizeBand
from ndpstack.sim._result import Spread as Spread
from ndpstack.sim._result import completion_ps as completion_ps
from ndpstack.sim._result import summarise as summarise
from ndpstack.sim._run import Run as Run
from ndpstack.sim._simulation import Progress as Progress
from ndpstack.sim._simulation import Simulation as Simulation
from ndpstack.sim._simulation import Status as Status
