"""Runs a scenario's flows on real hosts: the same arrivals as in the simulator, on a clock."""

from ndpstack.agent._replay import PLAIN_PACKETS as PLAIN_PACKETS
from ndpstack.agent._replay import Replay as Replay
from ndpstack.agent._rounds import Rounds as Rounds
from ndpstack.agent._rounds import incast_rounds as incast_rounds
