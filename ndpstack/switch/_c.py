"""Configs as C takes them."""

from __future__ import annotations

import contextlib
import ipaddress
from typing import TYPE_CHECKING

from ndpstack._core import ffi, lib
from ndpstack.switch._errors import SwitchError

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
    return _GROUP_MODES[config.mode]


def frame_config(config: SwitchConfig) -> nd_frame_config:
    """Code points and ports of the wire."""
    frame = ffi.new("struct nd_frame_config *", lib.nd_frame_config_default())
    try:
        for name, value in config.wire.items():
            setattr(frame, name, value)
    except (AttributeError, TypeError, OverflowError) as error:
        raise SwitchError(f"switch {config.name}: wire: {error}") from error
    # What is damaged is the receiver's to find.
    frame.verify = 0
    return frame


@contextlib.contextmanager
def switch_config(config: SwitchConfig) -> Iterator[nd_switch_config]:
    """A switch's config, valid within the context."""
    name = ffi.new("char[]", config.name.encode())
    made = ffi.new("struct nd_switch_config *")
    made.name, made.packets_max = name, config.packets
    made.frame_bytes_max, made.fdb_max = config.frame_bytes, config.addresses
    made.routes_max = config.routes
    made.fdb_aging, made.learning = config.aging_ns, config.learning
    made.frame, made.seed = frame_config(config)[0], config.seed
    yield made
    del name


@contextlib.contextmanager
def opening_of(opening: Opening, switch: SwitchConfig) -> Iterator[nd_port_config]:
    """How a port is opened, valid within the context."""
    name = ffi.new("char[]", opening.device.encode())
    netns = ffi.new("char[]", opening.netns.encode())
    made = ffi.new("struct nd_port_config *")
    made.backend, made.name = _BACKENDS[opening.backend], name
    if opening.netns:
        made.netns = netns
    made.mtu, made.rx_frames, made.tx_frames = opening.mtu, opening.rx_frames, opening.tx_frames
    made.memory.listen = opening.listen
    if opening.take == "everything":
        made.filter.everything = True
    else:
        frame = frame_config(switch)
        made.filter.homa, made.filter.udp_count = True, 2
        made.filter.udp_ports[0:2] = [frame.ndp_port, frame.homa_port]
    made.xdp.mode, made.xdp.zero_copy = _XDP_MODES[opening.xdp_mode], opening.zero_copy
    made.xdp.force = opening.force
    made.xdp.queue_first, made.xdp.queue_count = opening.queue_first, opening.queues
    yield made
    del name, netns


def _share(name: str, value: float) -> int:
    if not 0 <= value <= 1:
        raise SwitchError(f"faults: {name} = {value} is not a probability of 0 to 1")
    return min(round(value * 2**32), lib.ND_FAULTS_ALWAYS)


def _set_faults(made: nd_switch_port_settings, faults: FaultsConfig) -> None:
    made.faults.loss = _share("loss", faults.loss)
    made.faults.corrupt = _share("corrupt", faults.corrupt)
    made.faults.duplicate = _share("duplicate", faults.duplicate)
    made.faults.reorder = _share("reorder", faults.reorder)
    made.faults.delay_ns = faults.delay_ns
    made.faults.reorder_ns_max = faults.reorder_ns_max


def settings_of(
    config: PortConfig, switch: SwitchConfig, queue: Made | None
) -> nd_switch_port_settings:
    """A port's settings; they point to what `queue` holds. None: the queue stays as it is."""
    made = ffi.new("struct nd_switch_port_settings *")
    if queue is not None:
        made.discipline, made.discipline_config = queue.ops, queue.config
    made.rate_bps, made.catch_up = config.rate_bps, config.catch_up_ns
    made.off_tree = not config.floods
    if config.mac:
        made.mac[0:6] = list(mac_bytes(config.mac))
    if config.phantom is not None:
        made.phantom.rate_bps = config.phantom.rate_bps
        made.phantom.threshold_bytes = config.phantom.threshold_bytes
        made.phantom.quantum = config.phantom.quantum_ns
    trim, frame = config.trim, frame_config(switch)
    own = frame.dscp_trimmed_last_hop if trim.last_hop else frame.dscp_trimmed
    made.trim.size = trim.size
    made.trim.dscp = own if trim.dscp is None else trim.dscp
    made.trim.pcp = lib.ND_FRAME_PCP_KEEP if trim.pcp is None else trim.pcp
    made.trim.location = lib.ND_NDP_TRIM_LAST_HOP if trim.last_hop else lib.ND_NDP_TRIM_FABRIC
    _set_faults(made, config.faults)
    return made
