"""Runs a scenario's flows on real hosts: the same arrivals as in the simulator, on a clock."""

from ndpstack.agent._replay import Replay as Replay
