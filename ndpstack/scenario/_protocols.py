"""The engines that a scenario can name: their C tables, presets, and sizes on the wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ndpstack._core import ffi, lib
from ndpstack.scenario._decode import Place, dashed, suggest
from ndpstack.scenario._settings import apply, check_names

if TYPE_CHECKING:
    from ndpstack._core import Struct, nd_blast_config, nd_homa_config, nd_transport_ops
    from ndpstack.scenario._schema import Transport

ETHERNET_BYTES = 38
"""Preamble, header, checksum and gap of an Ethernet frame."""


@dataclass(frozen=True)
class WireSizes:
    """How an engine cuts messages into packets."""

    payload_bytes_max: int
    """Message bytes in a full data packet."""
    overhead_bytes: int
    """What a data packet takes on the wire beside them."""
    wire_bytes_min: int
    """Least bytes of a data packet on the wire."""
    message_bytes_max: int
    """Longer flows are sent as several messages."""

    @property
    def packet_bytes(self) -> int:
        """A full data packet on the wire."""
        return self.payload_bytes_max + self.overhead_bytes


@dataclass(frozen=True)
class Configured:
    """An engine's config, ready for the core. The struct lives as long as this does."""

    ops: nd_transport_ops
    struct: str
    config: Struct
    sizes: WireSizes


Preset = Callable[[int, "Transport"], "Struct"]


@dataclass(frozen=True)
class Protocol:
    """An engine."""

    ops: nd_transport_ops
    struct: str
    """Name of its config struct."""
    presets: Mapping[str, Preset]
    """Configs to start from, by name: (link rate, table) -> struct."""
    sizes: Callable[[Struct], WireSizes]
    """Reads the sizes out of a config."""

    def configure(self, table: Transport, link_bps: int, place: Place) -> Configured:
        """The config that a scenario's table describes."""
        config = self.presets[table.preset](link_bps, table)
        apply(config, self.struct, table.settings, self.sizes(config).packet_bytes, place)
        why = ffi.new("char *[]", 1)
        if lib.nd_rig_transport_check(self.ops, config, why) < 0:
            place.fail(ffi.string(why[0]).decode())
        return Configured(self.ops, self.struct, config, self.sizes(config))

    def check(self, table: Transport, place: Place) -> None:
        """Refuses unknown presets and settings."""
        if table.preset not in self.presets:
            hint = suggest(table.preset, list(self.presets), "there are")
            (place / "preset").fail(f"{table.preset!r} is not one of them; {hint}")
        check_names(self.struct, table.settings, ["preset", "mtu"], place)


def _level(table: Transport, name: str, default: int) -> int:
    value = table.settings.get(name, default)
    return value if isinstance(value, int) else default


def _homa_default(link_bps: int, table: Transport) -> Struct:
    return ffi.new("struct nd_homa_config *", lib.nd_homa_config_default(link_bps, table.mtu))


def _homa_paper(_link_bps: int, table: Transport) -> Struct:
    unscheduled = _level(table, "unscheduled_levels", 1)
    scheduled = _level(table, "scheduled_levels", 8 - unscheduled)
    config = lib.nd_homa_config_paper(unscheduled, scheduled)
    return ffi.new("struct nd_homa_config *", config)


def _homa_sizes(config: Struct) -> WireSizes:
    homa: nd_homa_config = config  # type: ignore[assignment]
    return WireSizes(
        homa.mss_bytes, homa.data_header_bytes, homa.control_bytes, homa.message_bytes_max
    )


def _blast_default(_link_bps: int, table: Transport) -> Struct:
    config = ffi.new("struct nd_blast_config *")
    config.header_bytes = 64
    config.payload_bytes_max = table.mtu - config.header_bytes
    config.connections_max = 4096
    config.paths = 1
    config.trimmable = 1
    return config


def _blast_sizes(config: Struct) -> WireSizes:
    blast: nd_blast_config = config  # type: ignore[assignment]
    return WireSizes(blast.payload_bytes_max, blast.header_bytes, blast.header_bytes + 1, 1 << 30)


PROTOCOLS: Mapping[str, Protocol] = {
    "homa": Protocol(
        lib.nd_rig_transport_find(b"homa"),
        "nd_homa_config",
        {"default": _homa_default, "paper": _homa_paper},
        _homa_sizes,
    ),
    "blast": Protocol(
        lib.nd_rig_transport_find(b"blast"),
        "nd_blast_config",
        {"default": _blast_default},
        _blast_sizes,
    ),
}


def protocol(name: str, place: Place) -> Protocol:
    """The engine of that name."""
    if name not in PROTOCOLS:
        place.fail(f"no such protocol; {suggest(dashed(name), list(PROTOCOLS), 'there are')}")
    return PROTOCOLS[name]
