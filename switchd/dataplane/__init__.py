"""The seam between the daemon and the switch that moves packets."""

from switchd.dataplane._protocol import PORT_GROUPS as PORT_GROUPS
from switchd.dataplane._protocol import SWITCH_GROUPS as SWITCH_GROUPS
from switchd.dataplane._protocol import Counters as Counters
from switchd.dataplane._protocol import DataPlane as DataPlane
from switchd.dataplane._protocol import DataPlaneError as DataPlaneError
from switchd.dataplane._protocol import Direction as Direction
from switchd.dataplane._protocol import LinkState as LinkState
from switchd.dataplane._protocol import PortReading as PortReading
from switchd.dataplane._protocol import SwitchHandle as SwitchHandle
from switchd.dataplane._protocol import SwitchReading as SwitchReading
from switchd.dataplane._protocol import Tap as Tap
