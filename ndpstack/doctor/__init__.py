"""`ndpstack doctor`: what keeps the stack from running well here, and the command that mends it."""

from ndpstack.doctor._finding import Finding as Finding
from ndpstack.doctor._finding import Status as Status
from ndpstack.doctor._interface import examine_interface as examine_interface
from ndpstack.doctor._machine import examine_machine as examine_machine
from ndpstack.doctor._repair import Repair as Repair
from ndpstack.doctor._repair import mend as mend
