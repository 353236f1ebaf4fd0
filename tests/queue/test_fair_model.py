"""The fair discipline against two models and a surplus round robin (R-NSW-14)."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize
from ndp_queue_model import NdpQueue
from queue_machine import QueueMachine
from queue_rig import Chance, Discipline, Item, Outcome

from ndpstack._core import ffi, lib


class Fair:
    """NDP beside a drop-tail list for the rest."""

    def __init__(self, ndp: NdpQueue, other_packets: int, quanta: tuple[int, int]) -> None:
        self.ndp, self.other_packets, self.quanta = ndp, other_packets, quanta
        self.other: list[Item] = []
        self.credit = [quanta[0], 0]
        self.turn = 0

    def put(self, item: Item, chance: Chance) -> Outcome:
        if item.kind != "other":
            return self.ndp.put(item, chance)
        assert chance.cuts == 0
        if len(self.other) >= self.other_packets:
            return Outcome.lost(item)
        self.other.append(item)
        return Outcome.kept()

    def take(self) -> Item | None:
        if self.turn == 0:
            return self.ndp.get()
        return self.other.pop(0) if self.other else None

    def get(self) -> Item | None:
        while self.held():
            if self.credit[self.turn] > 0:
                item = self.take()
                if item:
                    self.credit[self.turn] -= item.size
                    return item
                self.credit[self.turn] = 0
            self.turn ^= 1
            self.credit[self.turn] += self.quanta[self.turn]
        return None

    def held(self) -> list[Item]:
        return self.ndp.held() + self.other


class FairMachine(QueueMachine):
    """Any quanta."""

    model: Fair

    @initialize(
        packets=st.integers(1, 6),
        others=st.integers(1, 9),
        quanta=st.tuples(st.integers(1024, 4000), st.integers(1024, 4000)),
    )
    def start(self, packets: int, others: int, quanta: tuple[int, int]) -> None:
        ndp = ffi.new(
            "struct nd_ndp_queue_config *",
            {
                "data": {"packets": packets},
                "headers": {"bytes": 640},
                "header_weight": 10,
                "data_weight": 1,
                "return_to_sender": True,
                "victim": 1,
            },
        )
        other = ffi.new("struct nd_droptail_config *", {"limit": {"packets": others}})
        config = ffi.new("struct nd_fair_config *")
        for i, (name, child) in enumerate([(b"ndp", ndp), (b"droptail", other)]):
            config.child[i].ops = lib.nd_queue_find(name)
            config.child[i].config = child
            config.child[i].quantum_bytes = quanta[i]
        config.child_of[lib.ND_PROTO_OTHER] = 1
        self.children = ndp, other
        self.real = Discipline("fair", config)
        self.model = Fair(NdpQueue(packets, 640, coin=False), others, quanta)


TestFair = FairMachine.TestCase
