"""The engines that a scenario can name: their C tables, presets, and sizes on the wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ndpstack._core import ffi, lib
from ndpstack.toml import Place, dashed, suggest
from ndpstack.toml.structs import apply, check_names

if TYPE_CHECKING:
    from ndpstack._core import (
        Struct,
        nd_blast_config,
        nd_homa_config,
        nd_ndp_config,
        nd_transport_ops,
    )
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


@dataclass(frozen=True, order=True)
class Demand:
    """What a run asks of a host: its limits are sized for it."""

    sources: int
    """Flows that it starts."""
    targets: int
    """Flows that it is the target of."""

    def rounded(self) -> Demand:
        """Up to powers of two, so that hosts fall into few classes."""
        return Demand(_power_of_two(self.sources), _power_of_two(self.targets))


def _power_of_two(value: int) -> int:
    return 1 << max(0, value - 1).bit_length()


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
    fitted: Callable[[Struct, Demand, frozenset[str]], Struct] | None = None
    """A copy with the limits that the scenario has not set sized for a host; None: as it is."""
    paths: Callable[[Struct, int], None] | None = None
    """Tells the engine the number of paths between two hosts; None: it knows of no paths."""

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


HOMA_LEVELS = 8


def _level(table: Transport, name: str, default: int) -> int:
    """What the preset is made for; a setting that is none of it is refused when it is applied."""
    value = table.settings.get(name, default)
    return value if isinstance(value, int) and 0 <= value <= HOMA_LEVELS else default


def _homa_default(link_bps: int, table: Transport) -> Struct:
    return ffi.new("struct nd_homa_config *", lib.nd_homa_config_default(link_bps, table.mtu))


def _homa_paper(_link_bps: int, table: Transport) -> Struct:
    unscheduled = _level(table, "unscheduled_levels", 1)
    scheduled = _level(table, "scheduled_levels", HOMA_LEVELS - unscheduled)
    config = lib.nd_homa_config_paper(unscheduled, scheduled)
    return ffi.new("struct nd_homa_config *", config)


def _homa_sizes(config: Struct) -> WireSizes:
    homa: nd_homa_config = config  # type: ignore[assignment]
    return WireSizes(
        homa.mss_bytes, homa.data_header_bytes, homa.control_bytes, homa.message_bytes_max
    )


NDP_MESSAGES_IN_FLIGHT = 4
"""Messages that a flow longer than the longest message has on its way at once."""

NDP_PAPER_PAYLOAD_BYTES = 9000
NDP_PAPER_HEADER_BYTES = 64


def _ndp_default(link_bps: int, table: Transport) -> Struct:
    return ffi.new("struct nd_ndp_config *", lib.nd_ndp_config_default(link_bps, table.mtu))


def _ndp_paper(link_bps: int, table: Transport) -> Struct:
    """The authors' simulations: 9,000 bytes of payload, and a header of 64."""
    config = _ndp_default(link_bps, table)
    ndp: nd_ndp_config = config  # type: ignore[assignment]
    ndp.mss_bytes = NDP_PAPER_PAYLOAD_BYTES
    ndp.data_header_bytes = ndp.control_bytes = NDP_PAPER_HEADER_BYTES
    return config


def _ndp_sizes(config: Struct) -> WireSizes:
    ndp: nd_ndp_config = config  # type: ignore[assignment]
    return WireSizes(
        ndp.mss_bytes, ndp.data_header_bytes, ndp.data_header_bytes, ndp.message_bytes_max
    )


def _ndp_fitted(config: Struct, demand: Demand, kept: frozenset[str]) -> Struct:
    ndp: nd_ndp_config = config  # type: ignore[assignment]
    copy = ffi.new("struct nd_ndp_config *", ndp[0])
    flows = demand.sources + demand.targets
    messages = max(64, NDP_MESSAGES_IN_FLIGHT * flows)
    limits = {
        "connections_max": flows + 1,
        "listen_backlog": demand.targets,
        "time_wait_max": flows,
        "peers_max": flows + 1,
        "path_sets_max": min(flows + 1, 64),
        "sending_max": min(flows + 1, 1024),
        "messages_max": min(messages, 65535),
        "connection_messages_max": 64,
        "receive_messages_max": messages,
        "control_max": min(4096, max(512, 8 * flows)),
        "listeners_max": 1,
    }
    for name, value in limits.items():
        if name not in kept:
            setattr(copy, name, value)
    return copy


NDP_PATHS_MAX = 2**16 - 2
"""Paths that the engine can tell apart; a graph may have more."""


def _ndp_paths(config: Struct, paths: int) -> None:
    ndp: nd_ndp_config = config  # type: ignore[assignment]
    paths = min(paths, NDP_PATHS_MAX)
    ndp.paths = paths
    ndp.paths_max = max(ndp.paths_max, paths)


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
    return WireSizes(blast.payload_bytes_max, blast.header_bytes, blast.header_bytes, 1 << 30)


PROTOCOLS: Mapping[str, Protocol] = {
    "ndp": Protocol(
        lib.nd_rig_transport_find(b"ndp"),
        "nd_ndp_config",
        {"default": _ndp_default, "paper": _ndp_paper},
        _ndp_sizes,
        _ndp_fitted,
        _ndp_paths,
    ),
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
