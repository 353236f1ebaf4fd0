"""Configs as C takes them."""

from __future__ import annotations

import contextlib
import ipaddress
from typing import TYPE_CHECKING

from ndpstack._core import ffi, lib
from ndpstack.switch._errors import SwitchError
from ndpstack.switch._values import choice_of, fill, number_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ndpstack._core import (
        nd_frame_config,
        nd_port_config,
        nd_switch_config,
        nd_switch_port_settings,
    )
    from ndpstack.switch._config import (
        FaultsConfig,
        GroupConfig,
        Opening,
        PortConfig,
        SwitchConfig,
        TrimConfig,
    )
    from ndpstack.switch._queues import Made

_BACKENDS = {
    "memory": lib.ND_PORT_MEMORY,
    "packet": lib.ND_PORT_PACKET,
    "udp": lib.ND_PORT_UDP,
    "xdp": lib.ND_PORT_XDP,
}
_XDP_MODES = {
    "auto": lib.ND_XDP_AUTO,
    "native": lib.ND_XDP_NATIVE,
    "generic": lib.ND_XDP_GENERIC,
}
_GROUP_MODES = {
    "random": lib.ND_ECMP_RANDOM,
    "round-robin": lib.ND_ECMP_ROUND_ROBIN,
    "flow": lib.ND_ECMP_FLOW,
    "path": lib.ND_ECMP_PATH,
}
_TAKES = {"everything": 1, "ours": 0}

# Members in C by names here.
_SWITCH_MEMBERS = {
    "packets": "packets_max",
    "frame_bytes": "frame_bytes_max",
    "addresses": "fdb_max",
    "routes": "routes_max",
    "aging_ns": "fdb_aging",
    "learning": "learning",
    "seed": "seed",
}
_OPENING_MEMBERS = {"mtu": "mtu", "rx_frames": "rx_frames", "tx_frames": "tx_frames"}
_XDP_MEMBERS = {
    "zero_copy": "zero_copy",
    "force": "force",
    "queue_first": "queue_first",
    "queues": "queue_count",
}
_PORT_MEMBERS = {"rate_bps": "rate_bps", "catch_up_ns": "catch_up"}
_PHANTOM_MEMBERS = {
    "rate_bps": "rate_bps",
    "threshold_bytes": "threshold_bytes",
    "quantum_ns": "quantum",
}
_FAULTS_MEMBERS = {"delay_ns": "delay_ns", "reorder_ns_max": "reorder_ns_max"}
_DSCP_MAX = 63
_PCP_MAX = 7


def mac_bytes(text: str) -> bytes:
    """An Ethernet address as bytes."""
    try:
        mac = bytes.fromhex(text.replace(":", ""))
    except ValueError:
        mac = b""
    if len(mac) != 6:
        raise SwitchError(f"{text!r} is no Ethernet address")
    return mac


def prefix_of(text: str) -> tuple[bytes, int]:
    """A prefix as 16 bytes and a length, IPv4 mapped into IPv6."""
    try:
        network = ipaddress.ip_network(text)
    except ValueError as error:
        raise SwitchError(f"{text!r} is no prefix: {error}") from error
    packed = network.network_address.packed
    if network.version == 6:
        return packed, network.prefixlen
    return bytes(10) + b"\xff\xff" + packed, 96 + network.prefixlen


def group_mode(config: GroupConfig) -> int:
    """A group's mode."""
    return choice_of(f"group {config.name}", "mode", config.mode, _GROUP_MODES)


def frame_config(config: SwitchConfig) -> nd_frame_config:
    """Code points and ports of the wire."""
    frame = ffi.new("struct nd_frame_config *", lib.nd_frame_config_default())
    for name, value in config.wire.items():
        try:
            setattr(frame, name, value)
        except (AttributeError, TypeError, OverflowError, IndexError) as error:
            where = f"switch {config.name}: wire: {name} = {value!r}"
            raise SwitchError(f"{where}: {error}") from error
    # What is damaged is the receiver's to find.
    frame.verify = 0
    return frame


@contextlib.contextmanager
def switch_config(config: SwitchConfig) -> Iterator[nd_switch_config]:
    """A switch's config, valid within the context."""
    name = text_of("switch", "name", config.name)
    made = ffi.new("struct nd_switch_config *")
    made.name, made.frame = name, frame_config(config)[0]
    fill(made, _SWITCH_MEMBERS, f"switch {config.name}", config)
    yield made
    del name


@contextlib.contextmanager
def opening_of(opening: Opening, switch: SwitchConfig) -> Iterator[nd_port_config]:
    """How a port is opened, valid within the context."""
    name = text_of("port", "device", opening.device)
    where = f"port {opening.device}"
    netns = text_of(where, "netns", opening.netns)
    made = ffi.new("struct nd_port_config *")
    made.backend, made.name = choice_of(where, "backend", opening.backend, _BACKENDS), name
    if opening.netns:
        made.netns = netns
    fill(made, _OPENING_MEMBERS, where, opening)
    fill(made.memory, {"listen": "listen"}, where, opening)
    if choice_of(where, "take", opening.take, _TAKES):
        made.filter.everything = True
    else:
        frame = frame_config(switch)
        made.filter.homa, made.filter.udp_count = True, 2
        made.filter.udp_ports[0:2] = [frame.ndp_port, frame.homa_port]
    made.xdp.mode = choice_of(where, "xdp_mode", opening.xdp_mode, _XDP_MODES)
    fill(made.xdp, _XDP_MEMBERS, where, opening)
    yield made
    del name, netns


def _share(where: str, name: str, value: float) -> int:
    if not 0 <= value <= 1:
        raise SwitchError(f"{where}: {name} = {value} is not a probability of 0 to 1")
    return min(round(value * 2**32), lib.ND_FAULTS_ALWAYS)


def _set_faults(made: nd_switch_port_settings, where: str, faults: FaultsConfig) -> None:
    made.faults.loss = _share(where, "loss", faults.loss)
    made.faults.corrupt = _share(where, "corrupt", faults.corrupt)
    made.faults.duplicate = _share(where, "duplicate", faults.duplicate)
    made.faults.reorder = _share(where, "reorder", faults.reorder)
    fill(made.faults, _FAULTS_MEMBERS, where, faults)


def _set_trim(
    made: nd_switch_port_settings, where: str, trim: TrimConfig, switch: SwitchConfig
) -> None:
    frame = frame_config(switch)
    dscp = frame.dscp_trimmed_last_hop if trim.last_hop else frame.dscp_trimmed
    if trim.dscp is not None:
        dscp = number_of(where, "dscp", trim.dscp, 0, _DSCP_MAX)
    pcp = lib.ND_FRAME_PCP_KEEP
    if trim.pcp is not None:
        pcp = number_of(where, "pcp", trim.pcp, 0, _PCP_MAX)
    fill(made.trim, {"size": "size"}, where, trim)
    made.trim.dscp, made.trim.pcp = dscp, pcp
    made.trim.location = lib.ND_NDP_TRIM_LAST_HOP if trim.last_hop else lib.ND_NDP_TRIM_FABRIC


def settings_of(
    config: PortConfig, switch: SwitchConfig, queue: Made | None
) -> nd_switch_port_settings:
    """A port's settings; they point to what `queue` holds. None: the queue stays as it is."""
    text_of("port", "name", config.name)  # Captures have it.
    where = f"port {config.name}"
    made = ffi.new("struct nd_switch_port_settings *")
    if queue is not None:
        made.discipline, made.discipline_config = queue.ops, queue.config
    fill(made, _PORT_MEMBERS, where, config)
    made.off_tree = not config.floods
    if config.mac:
        made.mac[0:6] = list(mac_bytes(config.mac))
    if config.phantom is not None:
        fill(made.phantom, _PHANTOM_MEMBERS, f"{where}: phantom", config.phantom)
    _set_trim(made, f"{where}: trim", config.trim, switch)
    _set_faults(made, f"{where}: faults", config.faults)
    return made
