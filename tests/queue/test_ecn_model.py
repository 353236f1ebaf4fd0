"""The ecn discipline against a list with a threshold (R-DCT-1)."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import initialize
from queue_machine import QueueMachine
from queue_rig import Chance, Discipline, Item, Outcome

from ndpstack._core import ffi


class Ecn:
    """A list that marks what arrives when it holds more than the threshold, itself included."""

    def __init__(self, packets: int, threshold: int, threshold_bytes: int) -> None:
        self.packets, self.threshold, self.threshold_bytes = packets, threshold, threshold_bytes
        self.items: list[Item] = []

    def put(self, item: Item, chance: Chance) -> Outcome:
        assert chance.cuts == 0
        if len(self.items) >= self.packets:
            return Outcome.lost(item)
        self.items.append(item)
        above = self.threshold and len(self.items) > self.threshold
        total = sum(each.size for each in self.items)
        if item.ect and (above or (self.threshold_bytes and total > self.threshold_bytes)):
            self.items[-1] = replace(item, marked=True)
        return Outcome.kept()

    def get(self) -> Item | None:
        return self.items.pop(0) if self.items else None

    def held(self) -> list[Item]:
        return self.items


class EcnMachine(QueueMachine):
    """Any threshold, in packets, in bytes or both."""

    @initialize(
        packets=st.integers(2, 20), part=st.integers(1, 19), size=st.sampled_from([0, 500, 6000])
    )
    def start(self, packets: int, part: int, size: int) -> None:
        threshold = min(part, packets - 1)
        config = {
            "limit": {"packets": packets},
            "threshold": {"packets": threshold, "bytes": size},
        }
        self.real = Discipline("ecn", ffi.new("struct nd_ecn_config *", config))
        self.model = Ecn(packets, threshold, size)


TestEcn = EcnMachine.TestCase
