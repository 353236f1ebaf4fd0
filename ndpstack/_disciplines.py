"""The disciplines that configurations can name: their tables, C structs and presets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated
from weakref import WeakKeyDictionary

from ndpstack._core import ffi, lib
from ndpstack.toml import (
    Bytes,
    PartsPerMillion,
    Picoseconds,
    Place,
    Range,
    Settings,
    suggest,
)
from ndpstack.toml.structs import apply, check_names

if TYPE_CHECKING:
    from ndpstack._core import Struct, nd_queue_ops

DEFAULT_PACKETS = 8
"""Data packets of an ndp queue when the scenario does not say."""

Preset = Callable[[int], "Struct"]
"""Wire bytes of a full packet -> config."""


@dataclass(frozen=True, kw_only=True)
class Phantom:
    """A phantom queue at the exit of a port: marks before the real queue builds."""

    drain: PartsPerMillion = PartsPerMillion(950_000)
    """Its rate as a share of the port's."""
    threshold: Annotated[Bytes, Range(0, 2**30 - 1)] = Bytes(1000)
    """Packets are marked while it is longer than this."""
    quantum: Picoseconds = Picoseconds(0)
    """Time between two decrements as in hardware; 0: continuous."""


@dataclass(frozen=True, kw_only=True)
class Queue:
    """The discipline of an output port and its settings, which are keys of this table."""

    discipline: str = "ndp"
    """droptail, ecn, ndp, cut-payload, strict, pfabric; or fair, for `ndp` and `others` side by
    side."""
    preset: str | None = None
    """Where the settings start from; for ndp: paper, netfpga or p4."""
    phantom: Phantom | None = None
    """Phantom queue behind it; none when left out."""
    ndp: Queue | None = None
    """fair only: the discipline of NDP packets; ndp when left out."""
    others: Queue | None = None
    """fair only: the discipline of all other packets; droptail when left out."""
    ndp_share: PartsPerMillion | None = None
    """fair only: the share of the link that NDP gets while both have packets; half when left
    out."""
    settings: Settings = field(default_factory=dict)
    """All other keys: fields of the discipline's config."""


@dataclass(frozen=True)
class Discipline:
    """A discipline."""

    ops: nd_queue_ops
    struct: str
    """Name of its config struct."""
    presets: Mapping[str, Preset]
    """Configs to start from, by name."""
    default: str
    """The preset where none is named."""

    def configure(
        self, table: Queue, packet_bytes: int, place: Place, *, last_hop: bool = False
    ) -> Struct:
        """The config that a scenario's table describes.

        Args:
            table: The scenario's table.
            packet_bytes: Wire bytes of a full packet.
            place: Where the table stands.
            last_hop: Whether the port leads to a host.
        """
        config = self.presets[table.preset or self.default](packet_bytes)
        apply(config, self.struct, table.settings, packet_bytes, place)
        if hasattr(config, "last_hop"):
            config.last_hop = last_hop
        why = ffi.new("char *[]", 1)
        if lib.nd_rig_discipline_check(self.ops, config, why) < 0:
            place.fail(ffi.string(why[0]).decode())
        return config


def _droptail(packet_bytes: int) -> Struct:
    config = ffi.new("struct nd_droptail_config *")
    config.limit.bytes = 100 * packet_bytes
    return config


def _ecn(packet_bytes: int) -> Struct:
    config = ffi.new("struct nd_ecn_config *")
    config.limit.bytes = 100 * packet_bytes
    config.threshold.bytes = 30 * packet_bytes
    return config


def _cut_payload(packet_bytes: int) -> Struct:
    config = ffi.new("struct nd_cut_payload_config *")
    config.threshold.packets = DEFAULT_PACKETS
    config.limit.bytes = 2 * DEFAULT_PACKETS * packet_bytes
    return config


def _strict(_packet_bytes: int) -> Struct:
    config = ffi.new("struct nd_strict_config *")
    config.levels = 8
    config.total.bytes = 1_000_000
    return config


def _pfabric(_packet_bytes: int) -> Struct:
    config = ffi.new("struct nd_pfabric_config *")
    config.limit.bytes = 36_864
    return config


def _ndp_paper(packet_bytes: int) -> Struct:
    config = lib.nd_ndp_queue_paper(DEFAULT_PACKETS, packet_bytes)
    return ffi.new("struct nd_ndp_queue_config *", config)


def _ndp_netfpga(_packet_bytes: int) -> Struct:
    return ffi.new("struct nd_ndp_queue_config *", lib.nd_ndp_queue_netfpga())


def _ndp_p4(_packet_bytes: int) -> Struct:
    return ffi.new("struct nd_ndp_queue_config *", lib.nd_ndp_queue_p4(DEFAULT_PACKETS))


DISCIPLINES: Mapping[str, Discipline] = {
    "droptail": Discipline(
        lib.nd_queue_find(b"droptail"), "nd_droptail_config", {"default": _droptail}, "default"
    ),
    "ecn": Discipline(lib.nd_queue_find(b"ecn"), "nd_ecn_config", {"default": _ecn}, "default"),
    "ndp": Discipline(
        lib.nd_queue_find(b"ndp"),
        "nd_ndp_queue_config",
        {
            "paper": _ndp_paper,
            "netfpga": _ndp_netfpga,
            "p4": _ndp_p4,
        },
        "paper",
    ),
    "cut-payload": Discipline(
        lib.nd_queue_find(b"cut_payload"),
        "nd_cut_payload_config",
        {"default": _cut_payload},
        "default",
    ),
    "strict": Discipline(
        lib.nd_queue_find(b"strict"), "nd_strict_config", {"default": _strict}, "default"
    ),
    "pfabric": Discipline(
        lib.nd_queue_find(b"pfabric"), "nd_pfabric_config", {"default": _pfabric}, "default"
    ),
}


FAIR = "fair"
FAIR_ROUND_BYTES = 64 * 1024
"""Served a round of a fair queue, both children together."""
FAIR_SHARE_MIN, FAIR_SHARE_MAX = 25_000, 975_000
"""Of a million, for NDP: with less, one full packet is more than a round's part."""

_CHILDREN: WeakKeyDictionary[Struct, tuple[Struct, Struct]] = WeakKeyDictionary()
"""What the config of a fair queue points to lives as long as that config."""


@dataclass(frozen=True)
class Fair:
    """Two disciplines side by side: NDP's packets, and all others (R-NSW-14)."""

    ndp: Discipline
    others: Discipline

    ops = lib.nd_queue_find(FAIR.encode())
    struct = "nd_fair_config"

    def configure(
        self, table: Queue, packet_bytes: int, place: Place, *, last_hop: bool = False
    ) -> Struct:
        """The config that a scenario's table describes; as of a single discipline."""
        config = ffi.new("struct nd_fair_config *")
        parts = fair_parts(table)
        made = tuple(
            found.configure(part, packet_bytes, place / key, last_hop=last_hop)
            for found, (key, part) in zip((self.ndp, self.others), parts.items(), strict=True)
        )
        share = FAIR_ROUND_BYTES * fair_share(table) // 10**6
        for child, found, inner, quantum in zip(
            config.child,
            (self.ndp, self.others),
            made,
            (share, FAIR_ROUND_BYTES - share),
            strict=True,
        ):
            child.ops, child.config, child.quantum_bytes = found.ops, inner, quantum
        for protocol in range(lib.ND_PROTO_COUNT):
            config.child_of[protocol] = protocol != lib.ND_PROTO_NDP
        _CHILDREN[config] = (made[0], made[1])
        return config


def fair_parts(table: Queue) -> dict[str, Queue]:
    """The two tables of a fair one, by their keys."""
    return {
        "ndp": table.ndp or Queue(),
        "others": table.others or Queue(discipline="droptail"),
    }


def fair_share(table: Queue) -> int:
    """NDP's share of the link, in millionths."""
    return 500_000 if table.ndp_share is None else table.ndp_share


def discipline(table: Queue, place: Place) -> Discipline | Fair:
    """The discipline that the table names; refuses unknown names, presets and settings."""
    if table.discipline == FAIR:
        return _fair(table, place)
    for name, value in (
        ("ndp", table.ndp),
        ("others", table.others),
        ("ndp-share", table.ndp_share),
    ):
        if value is not None:
            (place / name).fail('belongs to discipline = "fair"')
    return single(table, place)


def _fair(table: Queue, place: Place) -> Fair:
    if table.settings or table.preset is not None:
        place.fail("settings of fair stand in its `ndp` and `others`")
    if not FAIR_SHARE_MIN <= fair_share(table) <= FAIR_SHARE_MAX:
        (place / "ndp-share").fail("must be 2.5% to 97.5%")
    parts = fair_parts(table)
    for key, part in parts.items():
        if part.discipline == FAIR:
            (place / key).fail("fair within fair is not possible; name any other discipline")
        if part.phantom is not None:
            (place / key / "phantom").fail("belongs to the port: write it beside `discipline`")
    ndp, others = (single(part, place / key) for key, part in parts.items())
    return Fair(ndp, others)


def single(table: Queue, place: Place) -> Discipline:
    """A discipline that is not made of others."""
    known = list(DISCIPLINES)
    if table.discipline not in known:
        hint = suggest(table.discipline, [*known, FAIR], "there are")
        (place / "discipline").fail(f"{table.discipline!r} is not one of them; {hint}")
    found = DISCIPLINES[table.discipline]
    if table.preset is not None and table.preset not in found.presets:
        hint = suggest(table.preset, list(found.presets), "there are")
        (place / "preset").fail(f"{table.preset!r} is not one of them; {hint}")
    check_names(found.struct, table.settings, ["discipline", "preset", "phantom"], place)
    return found
