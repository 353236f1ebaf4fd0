"""A discipline driven from Python, and what every model of one must answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from engine_rig import new_packet

from ndpstack._core import ffi, lib

if TYPE_CHECKING:
    from ndpstack._core import Struct, nd_packet, nd_rig_queue

HEADER_BYTES = 64
POOL_PACKETS = 256


@dataclass(frozen=True)
class Item:
    """One packet as disciplines see it; `number` tells packets apart."""

    number: int
    size: int
    kind: str = "data"
    """`data` can be trimmed, `control`, `header` (trimmed before), `other` (TCP and the like)."""
    ect: bool = False
    flood: bool = False
    priority: int = 0
    rank: int = 0
    flow: int = 0
    trimmed: bool = False
    bounced: bool = False
    marked: bool = False
    last_hop: bool = False

    @property
    def can_trim(self) -> bool:
        """Whether its payload may be cut."""
        return self.kind == "data" and not self.trimmed and not self.flood

    @property
    def is_header(self) -> bool:
        """Whether it belongs with the headers: nothing left to cut."""
        return self.kind == "control" or self.trimmed

    def cut(self, *, last_hop: bool = False) -> Item:
        """What is left of it without payload."""
        return replace(self, size=HEADER_BYTES, trimmed=True, last_hop=last_hop)

    def pack_into(self, packet: nd_packet) -> None:
        """Makes packet stand for it."""
        packet.source, packet.target = (2, 1) if self.bounced else (1, 2)
        packet.ndp.sequence = self.number
        packet.wire_bytes = self.size
        packet.header_bytes = self.size if self.kind == "other" else HEADER_BYTES
        packet.protocol = lib.ND_PROTO_OTHER if self.kind == "other" else lib.ND_PROTO_NDP
        packet.priority, packet.rank, packet.flow = self.priority, self.rank, self.flow
        packet.marks = (
            (lib.ND_MARK_TRIMMABLE if self.kind in ("data", "header") else 0)
            | (lib.ND_MARK_CONTROL if self.kind == "control" else 0)
            | (lib.ND_MARK_TRIMMED if self.trimmed else 0)
            | (lib.ND_MARK_BOUNCED if self.bounced else 0)
            | (lib.ND_MARK_FLOOD if self.flood else 0)
            | (lib.ND_MARK_ECT if self.ect else 0)
        )


@dataclass(frozen=True)
class Seen:
    """What can be told of a packet that left a discipline."""

    number: int
    size: int
    trimmed: bool
    marked: bool
    bounced: bool
    last_hop: bool

    @staticmethod
    def of_item(item: Item) -> Seen:
        """What the model expects."""
        return Seen(item.number, item.size, item.trimmed, item.marked, item.bounced, item.last_hop)

    @staticmethod
    def of_packet(packet: nd_packet) -> Seen:
        """What came out."""
        marks = packet.marks
        turned = (packet.source, packet.target) == (2, 1)
        assert turned == bool(marks & lib.ND_MARK_BOUNCED)
        return Seen(
            packet.ndp.sequence,
            packet.wire_bytes,
            bool(marks & lib.ND_MARK_TRIMMED),
            bool(marks & lib.ND_MARK_CE),
            bool(marks & lib.ND_MARK_BOUNCED),
            bool(marks & lib.ND_MARK_LAST_HOP),
        )


@dataclass
class Outcome:
    """What became of an arrival and of those that had to go for it."""

    verdict: str
    dropped: list[Item]
    returned: list[Item]

    @staticmethod
    def kept() -> Outcome:
        """Queued as it is."""
        return Outcome("kept", [], [])

    @staticmethod
    def lost(item: Item) -> Outcome:
        """Dropped itself."""
        return Outcome("dropped", [item], [])


@dataclass(frozen=True)
class Chance:
    """What the real discipline did where a coin decides."""

    cuts: int
    """How many packets it trimmed."""
    kept: bool
    """Whether the arrival stayed whole."""


class Model(Protocol):
    """A discipline in a few lines of Python."""

    def put(self, item: Item, chance: Chance) -> Outcome:
        """Offers a packet."""

    def get(self) -> Item | None:
        """The packet that leaves next."""

    def held(self) -> list[Item]:
        """All that is queued."""


VERDICTS = {
    lib.ND_KEPT: "kept",
    lib.ND_TRIMMED: "trimmed",
    lib.ND_DROPPED: "dropped",
    lib.ND_RETURNED: "returned",
}


TRIMMED = next(
    i
    for i in range(lib.nd_queue_counters_table.count)
    if ffi.string(lib.nd_queue_counters_table.texts[i].name) == b"trimmed_packets"
)


class Discipline:
    """The real one, with its pool."""

    def __init__(self, name: str, config: Struct, seed: int = 0) -> None:
        error = ffi.new("struct nd_error *")
        ops = lib.nd_queue_find(name.encode())
        rig = lib.nd_rig_queue_new(ops, config, POOL_PACKETS, seed, error)
        if not rig:
            raise ValueError(ffi.string(error.text).decode())
        self.rig: nd_rig_queue = ffi.gc(rig, lib.nd_rig_queue_free)
        self.config = config
        self.packet = new_packet()
        self.counters = lib.nd_rig_queue_counters(rig)

    def put(self, item: Item) -> str:
        """Offers a packet; its verdict."""
        item.pack_into(self.packet)
        result = lib.nd_rig_queue_enqueue(self.rig, self.packet, 0)
        if result < 0:
            raise OSError(-result, "the rig's pool is empty")
        return VERDICTS[result]

    def shed(self) -> tuple[list[Seen], list[Seen]]:
        """What the last put() dropped and returned."""
        dropped, returned = [], []
        while lib.nd_rig_queue_dropped(self.rig, self.packet):
            dropped.append(Seen.of_packet(self.packet))
        while lib.nd_rig_queue_returned(self.rig, self.packet):
            returned.append(Seen.of_packet(self.packet))
        return dropped, returned

    def get(self) -> Seen | None:
        """The packet that leaves next."""
        if not lib.nd_rig_queue_dequeue(self.rig, self.packet, 0):
            return None
        return Seen.of_packet(self.packet)

    def trimmed(self) -> int:
        """Packets trimmed so far."""
        return self.counters[TRIMMED]

    def depth(self) -> tuple[int, int]:
        """Packets and bytes queued."""
        return lib.nd_rig_queue_packets(self.rig), lib.nd_rig_queue_bytes(self.rig)

    def audit(self) -> None:
        """Raises when lists, limits or conservation are wrong."""
        wrong = lib.nd_rig_queue_audit(self.rig)
        assert not wrong, ffi.string(wrong).decode()
