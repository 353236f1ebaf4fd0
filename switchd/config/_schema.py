"""What the configuration may say: one frozen dataclass for each table.

Keys in the file are these names with dashes (underscores are taken too, for those who come from
SONiC's tables). The docstring under a field is its line in the reference; its type decides how the
value is read (see _forms.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal, NewType

from ndpstack._logs import Level
from ndpstack.toml import (
    BitRate,
    Bytes,
    Limit,
    PartsPerMillion,
    Picoseconds,
    Range,
    Settings,
)

MacAddress = NewType("MacAddress", str)
"""An Ethernet address in lower case with colons."""
Prefix = NewType("Prefix", str)
"""An IPv4 or IPv6 prefix in its shortest form."""
Address = NewType("Address", str)
"""An IPv4 or IPv6 address in its shortest form."""
PortPath = NewType("PortPath", str)
"""A port of a switch, "switch/port"."""


FileName = NewType("FileName", str)
"""A name without a folder."""


Dscp = Annotated[int, Range(0, 63)]
Class = Annotated[int, Range(0, 7)]
Action = Literal["trim", "drop"]


# ---- the daemon ----


@dataclass(frozen=True, kw_only=True)
class Daemon:
    """The process: its sockets, logs and threads."""

    control: Path = Path("/run/ndpstack/switchd.sock")
    """UNIX socket of the control API; a relative path starts at the configuration file."""
    control_group: str = "ndpstack"
    """Group whose members may connect, next to root and the daemon's user; without such a group
    the socket is its owner's alone, the user that switchd was started as."""
    clients_max: Annotated[int, Range(1, 1024)] = 64
    """Control clients at a time; more are refused and counted."""
    client_cpu: Annotated[PartsPerMillion, Range(1_000, 1_000_000)] = PartsPerMillion(250_000)
    """Share of a CPU that one client's calls may take; it is slowed down beyond that."""
    hosts: str = ""
    """Where hosts are told their paths: a UNIX socket's path or ADDRESS:PORT of a loopback or
    management address; not at all when empty."""
    metrics: str = "127.0.0.1:9121"
    """ADDRESS:PORT of the Prometheus exporter; none when empty."""
    captures: Path = Path("/var/lib/ndpstack")
    """Folder that mirrors write into."""
    log: Level = "info"
    """Least level that is logged; `switchctl log` changes it live."""
    log_format: Literal["text", "json"] = "text"
    """One line of text, or one JSON object a line."""
    user: str = ""
    """User to become once the sockets for clients and hosts are open, before ports are; the one it
    was started as when empty."""
    polling: Literal["adaptive", "spin"] = "adaptive"
    """Whether the data path blocks when idle, or never (it needs a CPU of its own then)."""
    spin: Picoseconds = Picoseconds(50_000_000)
    """How long an adaptive data path polls after the last frame, at most: as long as that pays."""
    cpu: Annotated[int, Range(-1, 4095)] = -1
    """CPU of the data path, -1 for any; switchd does not start on one that it may not run on."""
    priority: Annotated[int, Range(0, 99)] = 0
    """Real-time priority (SCHED_RR) of the data path's thread; that of an ordinary one when 0."""


# ---- queues ----


@dataclass(frozen=True, kw_only=True)
class Ecn:
    """Marking by queue length, for the ecn discipline."""

    threshold: Limit = field(default=Limit(packets=30))
    """A packet that finds more than this queued, itself included, is marked."""


@dataclass(frozen=True, kw_only=True)
class Phantom:
    """A phantom queue behind the port: marks as a slower link would, and holds nothing."""

    rate: BitRate | None = None
    """Drain rate; 95 % of the port's rate when left out."""
    threshold: Bytes = Bytes(6000)
    """Marks above this level."""
    quantum: Picoseconds = Picoseconds(0)
    """Drains once in each such period, as hardware does; continuously when 0."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A discipline and its settings under a name of yours; ports name it as `profile`."""

    discipline: str
    """droptail, ecn, ndp, cut-payload, strict, pfabric; or fair, for `ndp` and `others` side by
    side."""
    preset: str | None = None
    """Where the settings start from; for ndp: paper, netfpga or p4."""
    packet_discard_action: Action = "trim"
    """What becomes of data that finds an ndp queue full."""
    ndp: Profile | None = None
    """fair only: the discipline of NDP packets."""
    others: Profile | None = None
    """fair only: the discipline of all other packets, Homa and the kernel's."""
    ndp_share: Annotated[PartsPerMillion, Range(25_000, 975_000)] = PartsPerMillion(500_000)
    """fair only: the share of the link that NDP gets while both have packets."""
    settings: Settings = field(default_factory=dict)
    """All other keys: fields of the discipline's config."""


@dataclass(frozen=True, kw_only=True)
class Trim:
    """How frames are trimmed, in the terms of SAI and SONiC (SWITCH_TRIMMING|GLOBAL)."""

    size: Annotated[Bytes, Range(0, 9216)] = Bytes(0)
    """Bytes of the frame that stay; 0 keeps all headers and nothing else, which is the least."""
    dscp_value: Dscp | Literal["from-tc"] | None = None
    """Code point of trimmed frames; "from-tc" looks `tc-value` up in the egress port's
    `tc-to-dscp`, so that a receiver sees where it was trimmed. When left out, the wire's own pair:
    one in the fabric, another at the last hop."""
    tc_value: Class = 6
    """Traffic class of trimmed frames, for "from-tc"."""
    queue_index: Class | Literal["dynamic"] = "dynamic"
    """PCP that trimmed frames with a VLAN tag get; "dynamic" leaves it. Here they always wait in
    the header queue."""


# ---- ports ----


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Faults that the port injects into what arrives, for tests."""

    loss: Fraction = Fraction(0)
    """Probability that a frame is lost."""
    corrupt: Fraction = Fraction(0)
    """Probability that one bit of it is flipped."""
    duplicate: Fraction = Fraction(0)
    """Probability that it arrives twice."""
    reorder: Fraction = Fraction(0)
    """Probability that it is held back by a random share of `reorder-max`."""
    delay: Picoseconds = Picoseconds(0)
    """Added to every frame."""
    reorder_max: Annotated[Picoseconds, Range(0, 4_290_000_000_000)] = Picoseconds(100_000_000)
    """Longest time that a frame is held back."""


@dataclass(frozen=True, kw_only=True)
class Port:
    """A port of a switch: where its frames come from, and the queue in front of its link."""

    backend: Literal["xdp", "packet", "udp", "memory"] = "xdp"
    """AF_XDP, AF_PACKET, UDP sockets or shared memory."""
    device: str = ""
    """Interface; for udp ADDRESS:PORT, for memory the rendezvous name. The port's name when
    empty."""
    netns: str = ""
    """Network namespace of the interface, a name or a path; the daemon's own when empty."""
    enabled: bool = True
    """Whether frames may leave by it; a disabled port keeps its queue and counters."""
    role: Literal["host", "fabric"] = "host"
    """What is at the other end; a frame that is trimmed towards a host says so."""
    rate: BitRate = BitRate(0)
    """Rate of the link that the port stands for; as fast as the interface takes it when 0."""
    catch_up: Picoseconds = Picoseconds(200_000_000)
    """Most time that the link makes up for after the data path was not scheduled."""
    mtu: Annotated[Bytes, Range(0, 9216)] = Bytes(0)
    """Of the port, 68 at least; the interface's, or 1500 where there is none, when 0."""
    profile: str = ""
    """Its discipline: ndp, homa, pfabric, ecn, droptail, mixed, or a `[profile]` of yours; the
    switch's when empty."""
    buffers: Limit | None = None
    """Limit of the queue (ndp: of the data queue), in place of the profile's."""
    header_buffers: Limit | None = None
    """ndp only: limit of the header queue, in place of the profile's."""
    packet_discard_action: Action | None = None
    """ndp only: trim or drop what does not fit, in place of the profile's."""
    ecn: Ecn | None = None
    """ecn only: marking, in place of the profile's."""
    phantom: Phantom | None = None
    """A phantom queue behind the port; none when left out."""
    mac: MacAddress | None = None
    """Address of the router on this link, for `forwarding = "fib"`; the device's when left out."""
    floods: bool = True
    """Whether it takes part in flooding; in a fabric of several paths, only ports of a spanning
    tree may."""
    tc_to_dscp: Mapping[Class, Dscp] = field(default_factory=dict)
    """Code points by traffic class, for `trim.dscp-value = "from-tc"`."""
    listen: bool = False
    """memory only: this end owns the rendezvous name."""
    xdp_mode: Literal["auto", "native", "generic"] = "auto"
    """xdp only: in the driver, or in the kernel's receive path."""
    zero_copy: bool = False
    """xdp only: ask the driver for it."""
    force: bool = False
    """xdp only: take the interface even if the default route leads through it."""
    queue_first: Annotated[int, Range(0, 255)] = 0
    """xdp only: first NIC queue to use."""
    queues: Annotated[int, Range(0, 16)] = 0
    """xdp only: how many NIC queues to use; all from `queue-first` on when 0."""
    rx_frames: Annotated[int, Range(0, 65536)] = 0
    """Depth of the receive ring; the back end's own when 0."""
    tx_frames: Annotated[int, Range(0, 65536)] = 0
    """Most frames on their way out; the back end's own when 0."""
    faults: Faults | None = None
    """Faults to inject; none when left out."""


# ---- forwarding ----


@dataclass(frozen=True, kw_only=True)
class Group:
    """Ports of equal cost (ECMP)."""

    ports: tuple[str, ...]
    """Its members, ports of the same switch."""
    mode: Literal["random", "round-robin", "flow", "path"] = "flow"
    """By packet at random or in turn, by a hash of the flow, or as the packet's label or source
    route says."""
    divisor: Annotated[int, Range(1, 2**31)] = 1
    """path only: the member is path / divisor modulo the number of members."""


@dataclass(frozen=True, kw_only=True)
class StaticAddress:
    """A configured Ethernet address; it never ages and never moves."""

    mac: MacAddress
    """The address."""
    to: str
    """Port or group of the same switch."""


@dataclass(frozen=True, kw_only=True)
class Route:
    """A configured prefix, for `forwarding = "fib"`; it goes over the kernel's."""

    prefix: Prefix
    """The prefix."""
    to: str
    """Port or group of the same switch."""
    hops: Mapping[str, MacAddress] = field(default_factory=dict)
    """Ethernet address of the next hop by port; a frame that leaves by another port is dropped."""


@dataclass(frozen=True, kw_only=True)
class Mirror:
    """Copies of frames, written to a file that wireshark reads (pcapng)."""

    source: tuple[str, ...]
    """Ports of the same switch, one at least."""
    direction: Literal["rx", "tx", "both"] = "both"
    """Frames that arrive, that leave, or all."""
    file: FileName
    """Name of the file in `daemon.captures`; it is replaced."""
    snaplen: Annotated[Bytes, Range(14, 9238)] = Bytes(128)
    """Bytes of each frame that are kept."""
    limit: Bytes = Bytes(64 * 2**20)
    """Size of the file at which mirroring stops."""


@dataclass(frozen=True, kw_only=True)
class Switch:
    """A switch: ports that forward to one another."""

    forwarding: Literal["learned", "static", "fib"] = "learned"
    """Learn where addresses are and flood to the unknown; know only `address`; or, in addition,
    route frames to its own addresses as the kernel's FIB of `netns` does."""
    netns: str = ""
    """fib only: namespace whose routes are followed; the daemon's own when empty."""
    profile: str = "ndp"
    """Discipline of ports that name none."""
    packets: Annotated[int, Range(64, 4_194_304)] = 4096
    """Packet buffers that all its ports share."""
    frame: Annotated[Bytes, Range(256, 9238)] = Bytes(2048)
    """Size of a buffer; longer frames are dropped."""
    addresses: Annotated[int, Range(16, 1_048_576)] = 4096
    """Most Ethernet addresses, learned and configured."""
    routes: Annotated[int, Range(16, 1_048_576)] = 4096
    """fib only: most routes, configured and the kernel's; neighbours take one each."""
    aging: Picoseconds = Picoseconds(300 * 10**12)
    """A learned address is forgotten after this time without a frame."""
    seed: int = 1
    """Of its coins, hashes and injected faults."""
    trim: Trim = Trim()
    """How its ports trim."""
    wire: Settings = field(default_factory=dict)
    """UDP ports and code points of NDP and Homa."""
    port: Mapping[str, Port] = field(default_factory=dict)
    """Its ports by name."""
    group: Mapping[str, Group] = field(default_factory=dict)
    """Its ECMP groups by name."""
    address: tuple[StaticAddress, ...] = ()
    """Its configured addresses."""
    route: tuple[Route, ...] = ()
    """Its configured routes."""
    mirror: Mapping[str, Mirror] = field(default_factory=dict)
    """Its mirrors by name."""


# ---- what hosts are told ----


@dataclass(frozen=True, kw_only=True)
class FabricPath:
    """A path through the fabric, as hosts are told it."""

    id: Annotated[int, Range(0, 65535)]
    """Its number in packets and counters; the same one may lead different hosts different ways."""
    encoding: Literal["source-port", "address", "label", "source-route"] = "label"
    """How a sender chooses it."""
    value: int | Address
    """The UDP source port, the destination address, the label or the source route; numbers have 16
    bits."""
    to: tuple[Prefix, ...] = ()
    """Destinations that it leads to; all when empty."""
    hosts: tuple[str, ...] = ()
    """Hosts that are told it; all when empty."""
    via: tuple[PortPath, ...] = ()
    """Ports that it passes; while one of them is down, hosts do not get it."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """A host that asks for its paths."""

    port: PortPath
    """The switch port that leads to it: its link rate and MTU come from there."""
    address: tuple[Address, ...] = ()
    """Its addresses; a host that is named by address only is found by them."""


@dataclass(frozen=True, kw_only=True)
class Priorities:
    """How hosts use priorities."""

    levels: Annotated[int, Range(1, 8)] = 8
    """Levels that switches serve strictly: 8, 4, 2 or 1; with fewer, adjacent ones of the 8 are
    one."""
    cutoffs: tuple[Bytes, ...] = ()
    """Homa: largest unscheduled message of each level from the highest down; measured by each
    receiver when empty."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """The file."""

    daemon: Daemon = Daemon()
    """The process."""
    profile: Mapping[str, Profile] = field(default_factory=dict)
    """Disciplines of yours by name."""
    switch: Mapping[str, Switch] = field(default_factory=dict)
    """The switches by name."""
    path: tuple[FabricPath, ...] = ()
    """Paths that hosts are told."""
    host: Mapping[str, Host] = field(default_factory=dict)
    """Hosts by name."""
    priorities: Priorities = Priorities()
    """How hosts use priorities."""
