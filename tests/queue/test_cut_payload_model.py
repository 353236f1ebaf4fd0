"""The cut_payload discipline against a list with a threshold (R-B-CP)."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize
from queue_machine import QueueMachine
from queue_rig import Chance, Discipline, Item, Outcome

from ndpstack._core import ffi


class CutPayload:
    """A list in which data past the threshold waits as a header."""

    def __init__(self, threshold: int, limit: int, last_hop: bool) -> None:
        self.threshold, self.limit, self.last_hop = threshold, limit, last_hop
        self.items: list[Item] = []

    def put(self, item: Item, chance: Chance) -> Outcome:
        total = sum(each.size for each in self.items)
        cut = item.can_trim and total + item.size > self.threshold
        assert chance.cuts == cut
        if cut:
            item = item.cut(last_hop=self.last_hop)
        if total + item.size > self.limit:
            return Outcome.lost(item)
        self.items.append(item)
        return Outcome("trimmed", [], []) if cut else Outcome.kept()

    def get(self) -> Item | None:
        return self.items.pop(0) if self.items else None

    def held(self) -> list[Item]:
        return self.items


class CutPayloadMachine(QueueMachine):
    """Any threshold below any limit."""

    @initialize(threshold=st.integers(1, 8000), room=st.integers(1, 2000), last_hop=st.booleans())
    def start(self, threshold: int, room: int, last_hop: bool) -> None:
        config = {
            "threshold": {"bytes": threshold},
            "limit": {"bytes": threshold + room},
            "last_hop": last_hop,
        }
        self.real = Discipline("cut_payload", ffi.new("struct nd_cut_payload_config *", config))
        self.model = CutPayload(threshold, threshold + room, last_hop)


TestCutPayload = CutPayloadMachine.TestCase
