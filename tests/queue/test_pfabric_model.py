"""The pfabric discipline against searches of a list (R-PFS-2, R-PFS-3, R-PFS-6, E-P07)."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize
from queue_machine import QueueMachine
from queue_rig import Chance, Discipline, Item, Outcome

from ndpstack._core import ffi


class Pfabric:
    """A list in order of arrival."""

    def __init__(self, packets: int, size: int, flow_bits: int) -> None:
        self.packets, self.size, self.mask = packets, size, (1 << flow_bits) - 1
        self.items: list[Item] = []

    def fits(self, item: Item) -> bool:
        total = sum(each.size for each in self.items) + item.size
        return len(self.items) < self.packets and total <= self.size

    def put(self, item: Item, chance: Chance) -> Outcome:
        assert chance.cuts == 0
        lost: list[Item] = []
        while not self.fits(item):
            # The latest of those that have the largest rank; the arrival is later than all.
            worst = max(reversed([*self.items, item]), key=lambda each: each.rank)
            lost.append(worst)
            if worst is item:
                return Outcome("dropped", lost, [])
            self.items.remove(worst)
        self.items.append(item)
        return Outcome("kept", lost, [])

    def get(self) -> Item | None:
        if not self.items:
            return None
        best = min(self.items, key=lambda each: each.rank)
        first = next(e for e in self.items if e.flow & self.mask == best.flow & self.mask)
        self.items.remove(first)
        return first

    def held(self) -> list[Item]:
        return self.items


class PfabricMachine(QueueMachine):
    """Any limits and any width of the flow's hash."""

    @initialize(
        packets=st.integers(1, 12), size=st.integers(64, 9000), flow_bits=st.integers(1, 16)
    )
    def start(self, packets: int, size: int, flow_bits: int) -> None:
        config = {"limit": {"packets": packets, "bytes": size}, "flow_bits": flow_bits}
        self.real = Discipline("pfabric", ffi.new("struct nd_pfabric_config *", config))
        self.model = Pfabric(packets, size, flow_bits)


TestPfabric = PfabricMachine.TestCase
