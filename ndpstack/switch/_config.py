"""What switches, ports and groups are made of. Names, not numbers, say what belongs together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

SWITCHES_MAX = 16
"""Of one worker."""

PORTS_MAX = 64
"""Of a switch."""

GROUPS_MAX = 256
"""Of a switch."""

MEMBERS_MAX = 32
"""Of a group."""

Backend = Literal["memory", "packet", "udp", "xdp"]
Mode = Literal["random", "round-robin", "flow", "path"]


@dataclass(frozen=True, kw_only=True)
class Opening:
    """How a port comes to its frames; a change of it means to close and open."""

    backend: Backend
    """Shared memory, AF_PACKET, UDP sockets or AF_XDP."""
    device: str
    """Interface; for memory the rendezvous name, for udp ADDRESS:PORT."""
    netns: str = ""
    """Network namespace of the interface, a name or a path; the process's own when empty."""
    mtu: int = 0
    """The interface's, or 1500 where there is none, when 0."""
    rx_frames: int = 0
    """Depth of the receive ring; the back end's own when 0."""
    tx_frames: int = 0
    """Most frames on their way out; the back end's own when 0."""
    listen: bool = False
    """memory: this end owns the name."""
    take: Literal["everything", "ours"] = "everything"
    """xdp and packet: all frames, or those of NDP and Homa alone; the kernel keeps the others."""
    xdp_mode: Literal["auto", "native", "generic"] = "auto"
    """xdp: in the driver, or in the kernel's receive path."""
    zero_copy: bool = False
    """xdp: ask the driver for it."""
    force: bool = False
    """xdp: take the interface even if the default route leads through it."""
    queue_first: int = 0
    """xdp: first NIC queue to use."""
    queues: int = 0
    """xdp: how many NIC queues to use; all from `queue_first` on when 0."""


@dataclass(frozen=True, kw_only=True)
class QueueConfig:
    """A discipline; `ndpstack.switch.queue` makes one from its presets."""

    discipline: str
    """droptail, ecn, ndp, cut_payload, strict, pfabric or fair."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Fields of its C config, tables for structs in it."""
    children: tuple[QueueConfig, ...] = ()
    """fair: the queue of NDP, and of all else."""
    quanta: tuple[int, ...] = ()
    """fair: bytes that each of them is served a round; their ratio is that of their shares."""


@dataclass(frozen=True, kw_only=True)
class PhantomConfig:
    """A phantom queue behind the port: marks as a slower link would, and holds nothing."""

    rate_bps: int
    """Drain rate."""
    threshold_bytes: int = 6000
    """Marks above this level."""
    quantum_ns: int = 0
    """Drains once in each such period, as hardware does; continuously when 0."""


@dataclass(frozen=True, kw_only=True)
class TrimConfig:
    """How a port trims."""

    size: int = 0
    """Bytes of the frame that stay; 0 keeps all headers and nothing else, which is the least."""
    dscp: int | None = None
    """Code point of trimmed frames; the wire's own when None: one in the fabric, another at the
    last hop."""
    pcp: int | None = None
    """PCP of trimmed frames with a VLAN tag; as it was when None."""
    last_hop: bool = False
    """Whether the port leads to a host: headers cut here say so."""


@dataclass(frozen=True, kw_only=True)
class FaultsConfig:
    """Faults injected into what arrives, by the switch's seed. Probabilities are 0 to 1."""

    loss: float = 0.0
    corrupt: float = 0.0
    """One bit is flipped."""
    duplicate: float = 0.0
    reorder: float = 0.0
    """Held back by a random share of `reorder_ns_max`."""
    delay_ns: int = 0
    """Added to every frame."""
    reorder_ns_max: int = 100_000


@dataclass(frozen=True, kw_only=True)
class PortConfig:
    """A port: where its frames come from, and the queue in front of its link."""

    name: str
    opening: Opening
    queue: QueueConfig
    rate_bps: int = 0
    """Of the link that the port stands for; as fast as the interface takes it when 0."""
    catch_up_ns: int = 200_000
    """Most time that the link makes up for after its thread was not scheduled."""
    trim: TrimConfig = TrimConfig()
    phantom: PhantomConfig | None = None
    faults: FaultsConfig = FaultsConfig()
    mac: str = ""
    """The router's address on this link; the device's when empty."""
    floods: bool = True
    """Whether it takes part in flooding; in a fabric of several paths, only those of a tree do."""
    enabled: bool = True
    """Whether it is led to and takes frames; else it keeps only its queue and counters."""


@dataclass(frozen=True, kw_only=True)
class GroupConfig:
    """Ports of equal cost (ECMP)."""

    name: str
    ports: tuple[str, ...]
    mode: Mode = "flow"
    """By packet at random or in turn, by a hash of the flow, or as the packet's label or source
    route says."""
    divisor: int = 1
    """path: the member is path / divisor modulo the number of members."""


@dataclass(frozen=True, kw_only=True)
class SwitchConfig:
    """A switch."""

    name: str
    """At most 15 characters."""
    packets: int = 4096
    """Packet buffers that all its ports share."""
    frame_bytes: int = 2048
    """Size of a buffer; longer frames are dropped."""
    addresses: int = 4096
    """Most Ethernet addresses, learned and configured."""
    routes: int = 0
    """Most routes; 0: it does not route. Frames to the port's own address are routed."""
    aging_ns: int = 300 * 10**9
    """A learned address is forgotten after this time without a frame."""
    learning: bool = True
    """Learn where addresses are and flood to the unknown; else know only configured ones."""
    wire: Mapping[str, object] = field(default_factory=dict)
    """Ports and code points of NDP and Homa, fields of `struct nd_frame_config`; others as by
    default."""
    seed: int = 1
    """Of its coins, hashes and injected faults."""


@dataclass(frozen=True, kw_only=True)
class WorkerConfig:
    """The thread that runs switches."""

    polling: Literal["adaptive", "spin"] = "adaptive"
    """Block when idle, or never (it needs a CPU of its own then)."""
    spin_ns: int = 50_000
    """adaptive: how long it polls after the last frame, at most: as long as that pays."""
    cpu: int = -1
    """CPU to run on; any when -1."""
