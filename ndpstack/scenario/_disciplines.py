"""The disciplines that a scenario can name: their C tables and presets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ndpstack._core import ffi, lib
from ndpstack.scenario._decode import Place, suggest
from ndpstack.scenario._settings import apply, check_names

if TYPE_CHECKING:
    from ndpstack._core import Struct, nd_queue_ops
    from ndpstack.scenario._schema import Queue

DEFAULT_PACKETS = 8
"""Data packets of an ndp queue when the scenario does not say."""

Preset = Callable[[int], "Struct"]
"""Wire bytes of a full packet -> config."""


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


def discipline(table: Queue, place: Place) -> Discipline:
    """The discipline that the table names; refuses unknown names, presets and settings."""
    known = list(DISCIPLINES)
    if table.discipline not in known:
        hint = suggest(table.discipline, known, "there are")
        (place / "discipline").fail(f"{table.discipline!r} is not one of them; {hint}")
    found = DISCIPLINES[table.discipline]
    if table.preset is not None and table.preset not in found.presets:
        hint = suggest(table.preset, list(found.presets), "there are")
        (place / "preset").fail(f"{table.preset!r} is not one of them; {hint}")
    check_names(found.struct, table.settings, ["discipline", "preset", "phantom"], place)
    return found
