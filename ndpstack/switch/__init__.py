"""Software switches in this process: made, changed and read while C threads move the frames."""

from ndpstack.switch._config import FaultsConfig as FaultsConfig
from ndpstack.switch._config import GroupConfig as GroupConfig
from ndpstack.switch._config import Opening as Opening
from ndpstack.switch._config import PhantomConfig as PhantomConfig
from ndpstack.switch._config import PortConfig as PortConfig
from ndpstack.switch._config import QueueConfig as QueueConfig
from ndpstack.switch._config import SwitchConfig as SwitchConfig
from ndpstack.switch._config import TrimConfig as TrimConfig
from ndpstack.switch._config import WorkerConfig as WorkerConfig
from ndpstack.switch._errors import SwitchError as SwitchError
from ndpstack.switch._mirror import Mirror as Mirror
from ndpstack.switch._mirror import MirrorFrame as MirrorFrame
from ndpstack.switch._queues import mixed_queue as mixed_queue
from ndpstack.switch._queues import queue as queue
from ndpstack.switch._reading import Address as Address
from ndpstack.switch._reading import Counters as Counters
from ndpstack.switch._reading import Depth as Depth
from ndpstack.switch._reading import Heartbeat as Heartbeat
from ndpstack.switch._reading import Page as Page
from ndpstack.switch._reading import PortReading as PortReading
from ndpstack.switch._reading import QueueState as QueueState
from ndpstack.switch._reading import Reading as Reading
from ndpstack.switch._reading import counter_texts as counter_texts
from ndpstack.switch._switch import PortState as PortState
from ndpstack.switch._switch import Switch as Switch
from ndpstack.switch._worker import Worker as Worker
