"""Every discipline against a model in a few lines of Python, under any sequence of operations.

R-NSW-01, R-NSW-03, R-NSW-04, R-NSW-05, R-NSW-06, R-NSW-07, R-NSW-08, R-NSW-09, R-NSW-10,
R-PFS-2, R-PFS-3
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest
from engine_rig import new_packet
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from ndpstack._core import ffi, lib

if TYPE_CHECKING:
    from ndpstack._core import Struct, nd_packet

HEADER = 64
FULL = 1500
KEPT, TRIMMED, DROPPED, RETURNED = (
    lib.ND_KEPT,
    lib.ND_TRIMMED,
    lib.ND_DROPPED,
    lib.ND_RETURNED,
)


@dataclass(frozen=True)
class Arrival:
    """A packet as the model sees it."""

    ident: int
    wire: int
    marks: int
    priority: int
    flow: int
    rank: int

    def cut(self) -> Arrival:
        """Its header."""
        return replace(self, wire=HEADER, marks=self.marks | lib.ND_MARK_TRIMMED)

    def can_cut(self) -> bool:
        """Whether a switch may cut it."""
        whole = lib.ND_MARK_TRIMMABLE
        return self.marks & (whole | lib.ND_MARK_TRIMMED | lib.ND_MARK_FLOOD) == whole


@dataclass
class Outcome:
    """What an arrival leads to."""

    verdict: int
    dropped: list[int] = field(default_factory=list)
    returned: list[int] = field(default_factory=list)


def admits(limit: tuple[int, int], queue: list[Arrival], packet: Arrival) -> bool:
    """Whether a queue of these packets takes one more; 0 is no limit of that kind."""
    size, packets = limit
    total = sum(queued.wire for queued in queue) + packet.wire
    return (not size or total <= size) and (not packets or len(queue) < packets)


class Model:
    """What a discipline does, one packet after the other."""

    def enqueue(self, packet: Arrival, *, kept: bool) -> Outcome:
        """The outcome; kept tells how a coin fell, where there is one."""
        raise NotImplementedError

    def dequeue(self) -> Arrival | None:
        """The packet that is served."""
        raise NotImplementedError


class Droptail(Model):
    """First in, first out, up to a limit."""

    limit = (6000, 5)

    def __init__(self) -> None:
        self.queue: list[Arrival] = []

    def config(self) -> Struct:
        """The same for the discipline."""
        config = ffi.new("struct nd_droptail_config *")
        config.limit.bytes, config.limit.packets = self.limit
        return config

    def enqueue(self, packet: Arrival, *, kept: bool) -> Outcome:  # noqa: ARG002
        """Kept while it fits."""
        if not admits(self.limit, self.queue, packet):
            return Outcome(DROPPED, [packet.ident])
        self.queue.append(packet)
        return Outcome(KEPT)

    def dequeue(self) -> Arrival | None:
        """The oldest."""
        return self.queue.pop(0) if self.queue else None


class Ecn(Droptail):
    """Marks what leaves the queue above its threshold."""

    threshold = 2

    def config(self) -> Struct:
        """The same for the discipline."""
        config = ffi.new("struct nd_ecn_config *")
        config.limit.bytes, config.limit.packets = self.limit
        config.threshold.packets = self.threshold
        return config

    def enqueue(self, packet: Arrival, *, kept: bool) -> Outcome:
        """Instant threshold, the arrival included; only who understands ECN is marked."""
        outcome = super().enqueue(packet, kept=kept)
        if outcome.verdict == KEPT and len(self.queue) > self.threshold:
            mark = lib.ND_MARK_CE if packet.marks & lib.ND_MARK_ECT else 0
            self.queue[-1] = replace(packet, marks=packet.marks | mark)
        return outcome


class CutPayload(Droptail):
    """One FIFO; beyond the threshold payload is cut."""

    threshold = (0, 3)

    def config(self) -> Struct:
        """The same for the discipline."""
        config = ffi.new("struct nd_cut_payload_config *")
        config.threshold.packets = self.threshold[1]
        config.limit.bytes, config.limit.packets = self.limit
        return config

    def enqueue(self, packet: Arrival, *, kept: bool) -> Outcome:
        """Headers stay in order with the rest."""
        cut = packet.can_cut() and not admits(self.threshold, self.queue, packet)
        outcome = super().enqueue(packet.cut() if cut else packet, kept=kept)
        return Outcome(TRIMMED) if cut and outcome.verdict == KEPT else outcome


class Strict(Model):
    """A FIFO for each level, the highest first."""

    levels, level, total = 4, (0, 2), (6000, 0)

    def __init__(self) -> None:
        self.queues: list[list[Arrival]] = [[] for _ in range(self.levels)]

    def config(self) -> Struct:
        """The same for the discipline."""
        config = ffi.new("struct nd_strict_config *")
        config.levels = self.levels
        config.level.packets, config.total.bytes = self.level[1], self.total[0]
        return config

    def enqueue(self, packet: Arrival, *, kept: bool) -> Outcome:  # noqa: ARG002
        """Its level and all levels together must have room."""
        queue = self.queues[packet.priority * self.levels // 8]
        everything = [queued for level in self.queues for queued in level]
        if not admits(self.level, queue, packet) or not admits(self.total, everything, packet):
            return Outcome(DROPPED, [packet.ident])
        queue.append(packet)
        return Outcome(KEPT)

    def dequeue(self) -> Arrival | None:
        """The oldest of the highest level."""
        waiting = [queue for queue in self.queues if queue]
        return waiting[-1].pop(0) if waiting else None


class Ndp(Model):
    """The paper's switch: data and headers apart, by weight, cut or returned but rarely lost."""

    data_limit, header_limit, weights = (0, 3), (5 * HEADER, 0), (2, 1)
    coin, return_to_sender = True, True

    def __init__(self) -> None:
        self.data: list[Arrival] = []
        self.headers: list[Arrival] = []
        self.turn = 0

    def config(self) -> Struct:
        """The same for the discipline."""
        config = ffi.new("struct nd_ndp_queue_config *")
        config.data.packets, config.headers.bytes = self.data_limit[1], self.header_limit[0]
        config.header_weight, config.data_weight = self.weights
        config.return_to_sender = self.return_to_sender
        config.victim = 0 if self.coin else 1
        return config

    def enqueue(self, packet: Arrival, *, kept: bool) -> Outcome:
        """Classified by its marks; a full data queue cuts the arrival or its tail."""
        if packet.marks & (lib.ND_MARK_CONTROL | lib.ND_MARK_TRIMMED):
            return self.push_header(packet)
        if admits(self.data_limit, self.data, packet):
            self.data.append(packet)
            return Outcome(KEPT)
        if not packet.can_cut():
            return Outcome(DROPPED, [packet.ident])
        if kept and self.coin and self.data[-1].can_cut():
            victim = self.data.pop()
            self.data.append(packet)
            outcome = self.push_header(victim.cut())
            return replace(outcome, verdict=KEPT)
        outcome = self.push_header(packet.cut())
        return replace(outcome, verdict=TRIMMED) if outcome.verdict == KEPT else outcome

    def push_header(self, packet: Arrival) -> Outcome:
        """Returned to its sender once, when that is on; else lost."""
        if admits(self.header_limit, self.headers, packet):
            self.headers.append(packet)
            return Outcome(KEPT)
        turned = lib.ND_MARK_TRIMMED | lib.ND_MARK_BOUNCED | lib.ND_MARK_FLOOD
        if self.return_to_sender and packet.marks & turned == lib.ND_MARK_TRIMMED:
            return Outcome(RETURNED, returned=[packet.ident])
        return Outcome(DROPPED, [packet.ident])

    def dequeue(self) -> Arrival | None:
        """So many headers, then so many data packets, while both wait."""
        if not self.headers or not self.data:
            self.turn = 0
            queue = self.headers or self.data
            return queue.pop(0) if queue else None
        first = self.turn < self.weights[0]
        self.turn = (self.turn + 1) % sum(self.weights)
        return (self.headers if first else self.data).pop(0)


class NdpArrivalDrop(Ndp):
    """As the NetFPGA switch: only the arrival is cut, and headers that do not fit are lost."""

    coin, return_to_sender = False, False


class PFabric(Model):
    """The most urgent flow's oldest packet leaves; the least urgent packet is lost."""

    limit = (6000, 6)
    flow_bits = 2

    def __init__(self) -> None:
        self.queue: list[Arrival] = []

    def config(self) -> Struct:
        """The same for the discipline."""
        config = ffi.new("struct nd_pfabric_config *")
        config.limit.bytes, config.limit.packets = self.limit
        config.flow_bits = self.flow_bits
        return config

    def enqueue(self, packet: Arrival, *, kept: bool) -> Outcome:  # noqa: ARG002
        """The largest rank goes, the arrival before queued ones of its rank, then the newest."""
        outcome = Outcome(KEPT)
        while not admits(self.limit, self.queue, packet):
            worst = max(range(len(self.queue)), key=lambda i: (self.queue[i].rank, i))
            if self.queue[worst].rank <= packet.rank:
                return Outcome(DROPPED, [*outcome.dropped, packet.ident])
            outcome.dropped.append(self.queue.pop(worst).ident)
        self.queue.append(packet)
        return outcome

    def dequeue(self) -> Arrival | None:
        """The oldest packet of the flow that has the smallest rank."""
        if not self.queue:
            return None
        best = min(self.queue, key=lambda packet: packet.rank)
        mask = (1 << self.flow_bits) - 1
        served = next(p for p in self.queue if p.flow & mask == best.flow & mask)
        self.queue.remove(served)
        return served


DATA = lib.ND_MARK_TRIMMABLE
KINDS = st.sampled_from(
    [
        DATA,
        DATA | lib.ND_MARK_ECT,
        lib.ND_MARK_ECT,
        lib.ND_MARK_CONTROL,
        DATA | lib.ND_MARK_TRIMMED,
        DATA | lib.ND_MARK_TRIMMED | lib.ND_MARK_BOUNCED,
        DATA | lib.ND_MARK_FLOOD,
    ]
)


class Machine(RuleBasedStateMachine):
    """Holds a discipline against its model."""

    discipline: str
    model_type: type[Droptail | Strict | Ndp | PFabric]

    def __init__(self) -> None:
        super().__init__()
        self.model = self.model_type()
        error = ffi.new("struct nd_error *")
        self.config = self.model.config()
        ops = lib.nd_queue_find(self.discipline.encode())
        rig = lib.nd_rig_queue_new(ops, self.config, 64, 1, error)
        assert rig, ffi.string(error.text)
        self.rig = ffi.gc(rig, lib.nd_rig_queue_free)
        self.packet = new_packet()
        self.count = 0

    @rule(
        marks=KINDS,
        priority=st.integers(0, 7),
        flow=st.integers(0, 9),
        rank=st.integers(0, 4),
        size=st.sampled_from([FULL, FULL, 700]),
    )
    def enqueue(self, marks: int, priority: int, flow: int, rank: int, size: int) -> None:
        """One packet arrives."""
        short = marks & (lib.ND_MARK_CONTROL | lib.ND_MARK_TRIMMED)
        arrival = Arrival(self.count, HEADER if short else size, marks, priority, flow, rank)
        self.count += 1
        verdict = lib.nd_rig_queue_enqueue(self.rig, self.fill(arrival), 0)
        expected = self.model.enqueue(arrival, kept=verdict == KEPT)
        assert verdict == expected.verdict
        assert sorted(self.shed(returned=False)) == sorted(expected.dropped)
        assert sorted(self.shed(returned=True)) == sorted(expected.returned)

    @rule(count=st.integers(1, 4))
    def dequeue(self, count: int) -> None:
        """The port sends."""
        for _ in range(count):
            expected = self.model.dequeue()
            there = lib.nd_rig_queue_dequeue(self.rig, self.packet, 0)
            assert there == (expected is not None)
            if expected is not None:
                marks = self.packet.marks & ~lib.ND_MARK_LAST_HOP
                served = (self.packet.path, self.packet.wire_bytes, marks)
                assert served == (expected.ident, expected.wire, expected.marks)

    @invariant()
    def sound(self) -> None:
        """The discipline's own audit, conservation included."""
        wrong = lib.nd_rig_queue_audit(self.rig)
        assert not wrong, ffi.string(wrong)

    def fill(self, arrival: Arrival) -> nd_packet:
        """The packet for the discipline."""
        packet = new_packet()
        packet.protocol = lib.ND_PROTO_NDP
        packet.wire_bytes, packet.header_bytes = arrival.wire, HEADER
        packet.marks, packet.priority = arrival.marks, arrival.priority
        packet.flow, packet.rank, packet.path = arrival.flow, arrival.rank, arrival.ident
        packet.source, packet.target = 1, 2
        return packet

    def shed(self, *, returned: bool) -> list[int]:
        """Packets that the last arrival cost."""
        take = lib.nd_rig_queue_returned if returned else lib.nd_rig_queue_dropped
        idents = []
        while take(self.rig, self.packet):
            idents.append(self.packet.path)
            if returned:
                assert (self.packet.source, self.packet.target) == (2, 1)
                assert self.packet.marks & lib.ND_MARK_BOUNCED
        return idents


@pytest.mark.parametrize(
    ("discipline", "model"),
    [
        ("droptail", Droptail),
        ("ecn", Ecn),
        ("cut_payload", CutPayload),
        ("strict", Strict),
        ("ndp", Ndp),
        ("ndp", NdpArrivalDrop),
        ("pfabric", PFabric),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_a_discipline_does_what_its_model_says(discipline: str, model: type[Model]) -> None:
    machine = type(model.__name__, (Machine,), {"discipline": discipline, "model_type": model})
    run_state_machine_as_test(machine, settings=settings())
