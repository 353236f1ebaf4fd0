"""The host service: one core that the applications of a machine share."""

from ndpstack._sources import read_status as read_status
from ndpstack.host._replay import Difference as Difference
from ndpstack.host._replay import Packet as Packet
from ndpstack.host._replay import Replay as Replay
from ndpstack.host._replay import ReplayError as ReplayError
from ndpstack.host._replay import replay as replay
from ndpstack.host._service import HostService as HostService
from ndpstack.host._service import ServiceConfig as ServiceConfig
