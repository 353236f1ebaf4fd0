"""The droptail discipline against a list."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize
from queue_machine import QueueMachine
from queue_rig import Chance, Discipline, Item, Outcome

from ndpstack._core import ffi


class Droptail:
    """A list with two limits; 0 is none."""

    def __init__(self, packets: int, size: int) -> None:
        self.packets, self.size = packets, size
        self.items: list[Item] = []

    def put(self, item: Item, chance: Chance) -> Outcome:
        assert chance.cuts == 0
        total = sum(each.size for each in self.items) + item.size
        if (self.packets and len(self.items) >= self.packets) or (self.size and total > self.size):
            return Outcome.lost(item)
        self.items.append(item)
        return Outcome.kept()

    def get(self) -> Item | None:
        return self.items.pop(0) if self.items else None

    def held(self) -> list[Item]:
        return self.items


class DroptailMachine(QueueMachine):
    """Any limits of either kind or both."""

    @initialize(packets=st.integers(1, 12), size=st.integers(64, 9000), kind=st.integers(0, 2))
    def start(self, packets: int, size: int, kind: int) -> None:
        packets, size = (packets, 0) if kind == 0 else (0, size) if kind == 1 else (packets, size)
        limit = {"packets": packets, "bytes": size}
        self.real = Discipline("droptail", ffi.new("struct nd_droptail_config *", {"limit": limit}))
        self.model = Droptail(packets, size)


TestDroptail = DroptailMachine.TestCase


def test_a_queue_without_a_limit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"limit.packets is 0, but a queue needs a limit: set"):
        Discipline("droptail", ffi.new("struct nd_droptail_config *"))
