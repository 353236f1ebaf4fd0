"""How a core is opened, and the same as the core takes it."""

from __future__ import annotations

import errno
import operator
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, get_args

from ndpstack import _core
from ndpstack._address import PORT_MAX, is_ipv4, pack
from ndpstack.errors import make_error

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

lib, ffi = _core.lib, _core.ffi

Backend = Literal["xdp", "packet", "udp", "memory"]
"""What carries frames: AF_XDP, AF_PACKET, UDP sockets, or shared memory."""
Protocol = Literal["ndp", "homa"]
Profile = Literal["adaptive", "spin", "throughput"]
XdpMode = Literal["auto", "native", "generic"]

BACKENDS: Final[Mapping[Backend, int]] = {
    "xdp": lib.ND_PORT_XDP,
    "packet": lib.ND_PORT_PACKET,
    "udp": lib.ND_PORT_UDP,
    "memory": lib.ND_PORT_MEMORY,
}
PROFILES: Final[Mapping[Profile, int]] = {
    "adaptive": lib.ND_STACK_ADAPTIVE,
    "spin": lib.ND_STACK_SPIN,
    "throughput": lib.ND_STACK_THROUGHPUT,
}
XDP_MODES: Final[Mapping[XdpMode, int]] = {
    "auto": lib.ND_XDP_AUTO,
    "native": lib.ND_XDP_NATIVE,
    "generic": lib.ND_XDP_GENERIC,
}

NUMBERS: Final[Mapping[str, tuple[int, int]]] = {
    "mtu": (0, 2**32 - 1),
    "vlan": (0, 2**16 - 1),
    "spin_ns": (0, 2**64 - 1),
    "cpu": (0, 2**31 - 2),
    "seed": (0, 2**64 - 1),
    "service_socket": (1, 2**31 - 1),
    "peers_max": (0, 2**32 - 1),
    "send_bytes": (0, 2**32 - 1),
    "receive_bytes": (0, 2**32 - 1),
    "link_rate_bps": (0, 2**64 - 1),
    "record_bytes": (0, 2**64 - 1),
}
"""What the core can be told at all, from least to most; it says itself what of that is too much."""


@dataclass(frozen=True, kw_only=True)
class StackConfig:
    """How a core is opened in this process. Zeros mean the core's defaults."""

    name: str
    """Interface (xdp, packet), own ADDRESS:PORT (udp), or a name that both ends know (memory)."""
    backend: Backend = "xdp"
    """xdp needs CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF, packet CAP_NET_RAW, the others nothing."""
    address: str | None = None
    """The host's own IP address; None: the interface's, as the kernel has it (xdp, packet)."""
    address6: str | None = None
    """A second one of the other family."""
    listen: bool = False
    """memory: this end owns the name, the other one connects to it."""
    protocols: tuple[Protocol, ...] = ("ndp", "homa")
    """Engines to run; udp: one."""
    mtu: int = 0
    """Bytes of an IP packet; 0: the interface's, or 1500."""
    netns: str | None = None
    """Network namespace of the interface, by name or path."""
    vlan: int = 0
    """Id of an 802.1Q tag on everything sent; 0: untagged."""
    profile: Profile = "adaptive"
    """How the core waits: spin a little then block, spin always, or block at once."""
    spin_ns: int = 0
    """adaptive: how long it spins after work; 0: 150 us."""
    cpu: int | None = None
    """The CPU that the core's thread is bound to."""
    seed: int = 0
    """Of all random choices; 0: from the system."""
    service: str | None = None
    """Name by which other processes attach to this core."""
    service_socket: int | None = None
    """Descriptor of a socket that listens for it already (socket activation)."""
    peers_max: int = 0
    """Addresses known at once; 0: 16384."""
    send_bytes: int = 0
    """Memory to send from; 0: 16 MiB. The longest message fits in it."""
    receive_bytes: int = 0
    """Memory for messages being received or held; 0: 32 MiB."""
    xdp_mode: XdpMode = "auto"
    """Where in the kernel the filter hangs: native on NICs, generic on software devices."""
    zero_copy: bool = False
    """xdp: ask the driver for it."""
    link_rate_bps: int = 0
    """Rate of our link: what windows and the spacing of pulls are made for, and never exceeded. 0:
    as the kernel says of the interface. Where it does not know (udp and memory have no interface,
    and what it says of a veth is made up), 10 Gb/s are assumed, and a Homa message alone may have
    more on its way than fits that."""
    switchd: str | None = None
    """Where a switchd serves hosts: a UNIX path, or ADDRESS:PORT. Code points and priorities, the
    link's rate unless it is given here, MTU and paths come from there, now and as they change."""
    host: str = ""
    """Our name in its configuration; found by our addresses when empty."""
    record: str | None = None
    """File in which all that the core is given is recorded, for `ndpstack replay`. An older one is
    kept as FILE.previous."""
    record_bytes: int = 0
    """Most bytes of a recording, taken from the disk at once; 0: 256 MiB."""
    neighbours: tuple[tuple[str, str], ...] = ()
    """IP and MAC addresses of hosts on the link. When some are given, they are all there are;
    otherwise xdp and packet stacks follow the kernel's routes and neighbours."""
    visible: bool = True
    """Whether `ndpstack ss` and `stat` of this user and of root see the stack, in its network
    namespace. A thread of the process answers them, and sleeps until then."""


def check(config: StackConfig) -> None:
    """Looks for what the core cannot be told.

    Raises:
        ValueError: A setting is none of its choices, out of all bounds, or ends within.
        TypeError: A number is none.
    """
    for name in ("name", "netns", "service", "record"):
        check_text(name, getattr(config, name))
    _check_choice("backend", config.backend, BACKENDS)
    _check_choice("profile", config.profile, PROFILES)
    _check_choice("xdp_mode", config.xdp_mode, XDP_MODES)
    for protocol in config.protocols:
        _check_choice("protocol", protocol, get_args(Protocol))
    if config.switchd is not None:
        _check_switchd(config.switchd)
    for name, (least, most) in NUMBERS.items():
        value = getattr(config, name)
        if value is not None:
            _check_number(name, value, least, most)


def _check_number(name: str, value: int, least: int, most: int) -> None:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} {value!r} is no whole number") from None
    if not least <= number <= most:
        raise ValueError(f"{name} {value} is not in {least}..{most}")


def check_text(name: str, text: str | None) -> None:
    """Looks for what the core would take for the end of a text.

    Raises:
        ValueError: There is one.
    """
    if text is not None and "\0" in os.fsdecode(text):
        raise ValueError(f"{name} {text!r} has a NUL in it")


def _check_choice(name: str, value: object, known: Collection[str]) -> None:
    if value not in known:
        raise ValueError(f"{name} {value!r} is none of {', '.join(known)}")


def _check_switchd(address: str) -> None:
    # Most cores have none: they do without its imports.
    from ndpstack.control import parse_address

    try:
        parse_address(address)
    except ValueError as error:
        raise ValueError(f"switchd {error}") from None


def fill(config: StackConfig, keep: list[object]) -> _core.nd_stack_config:
    """The core's form of a config that was checked; what it points to is added to keep.

    Raises:
        ValueError: An address is none, or two are of one family.
    """
    raw = ffi.new("struct nd_stack_config *")
    _fill_port(config, raw.ports[0], keep)
    raw.port_count = 1
    if config.backend == "udp":
        raw.frame = _frame_in_udp(config, keep)
    _fill_addresses(config, raw)
    raw.vlan, raw.link_bps = config.vlan, config.link_rate_bps
    raw.no_ndp, raw.no_homa = "ndp" not in config.protocols, "homa" not in config.protocols
    raw.peers_max, raw.profile, raw.spin_ns = (
        config.peers_max, PROFILES[config.profile], config.spin_ns,
    )  # fmt: skip
    raw.cpu = 0 if config.cpu is None else config.cpu + 1
    raw.seed = config.seed
    raw.channel.send_bytes, raw.channel.receive_bytes = config.send_bytes, config.receive_bytes
    if config.service is not None:
        raw.service = _string(config.service, keep)
        raw.service_socket = config.service_socket or 0
    if config.record is not None:
        raw.record, raw.record_bytes = _string(config.record, keep), config.record_bytes
    return raw


def _fill_addresses(config: StackConfig, raw: _core.nd_stack_config) -> None:
    texts = [text for text in (config.address, config.address6) if text]
    own = {is_ipv4(packed): packed for packed in map(pack, texts)}
    if len(own) < len(texts):
        raise ValueError(
            f"address {config.address} and address6 {config.address6} are of one family: "
            "a host has one of each at most"
        )
    for is_v4, packed in own.items():
        ffi.memmove(raw.address_v4 if is_v4 else raw.address_v6, packed, len(packed))


def _fill_port(config: StackConfig, port: _core.nd_port_config, keep: list[object]) -> None:
    frame = lib.nd_frame_config_default()
    port.backend = BACKENDS[config.backend]
    port.name = _string(config.name, keep)
    port.mtu = config.mtu
    port.memory.listen = config.listen
    port.xdp.mode = XDP_MODES[config.xdp_mode]
    port.xdp.zero_copy = config.zero_copy
    port.filter.homa = "homa" in config.protocols
    port.filter.udp_count = 2
    port.filter.udp_ports[0], port.filter.udp_ports[1] = frame.ndp_port, frame.homa_port
    if config.netns is not None:
        port.netns = _string(config.netns, keep)


def _frame_in_udp(config: StackConfig, keep: list[object]) -> _core.nd_frame_config:
    """Over a UDP socket everything is in UDP, and its port, which both ends share, is a protocol's.

    Raises:
        ValueError: It is to carry two protocols.
    """
    if len(config.protocols) != 1:
        raise ValueError(
            "backend udp carries one protocol on a port: give protocols=('ndp',) or ('homa',), "
            "and open a second stack on another port for the other"
        )
    frame = ffi.new("struct nd_frame_config *", lib.nd_frame_config_default())
    frame.homa_in_udp = True
    frame.homa_checksum = False  # UDP's, which the kernel sees to, covers the same bytes.
    port = config.name.rpartition(":")[2]
    if port.isdecimal() and 0 < int(port) <= PORT_MAX:  # Else the core says what is wrong.
        own = int(port)
        other = frame.ndp_port if own != frame.ndp_port else frame.homa_port
        homa = "homa" in config.protocols
        frame.ndp_port, frame.homa_port = (other, own) if homa else (own, other)
    keep.append(frame)
    return frame


def _string(text: str, keep: list[object]) -> _core.Pointer[bytes]:
    made = ffi.new("char[]", os.fsencode(text) + b"\0")
    keep.append(made)
    return made


def with_address(config: StackConfig) -> StackConfig:
    """The config with an own address, the interface's if there is none in it.

    Raises:
        ValueError: It has none, and there is no interface to ask for.
        NdpError: The interface has none.
    """
    if config.address is not None:
        return config
    if config.backend not in ("xdp", "packet"):
        raise ValueError(f"backend {config.backend} needs an address: give the host's own")
    from ndpstack._interface import own_addresses

    found = own_addresses(config.name, config.netns)
    if config.address6:
        given = is_ipv4(pack(config.address6))
        found = [each for each in found if is_ipv4(pack(each)) != given]
        if not found:  # None of the other family: that one is the only one.
            return replace(config, address=config.address6, address6=None)
    if not found:
        raise make_error(
            errno.EADDRNOTAVAIL,
            f"interface {config.name} has no address",
            remedy="Give it one, or give one to the stack.",
        )
    return replace(config, address=found[0])
