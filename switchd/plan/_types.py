"""What the data path is to be: plain numbers, nothing left to look up or to convert.

Two plans of a port that are equal mean that nothing about the port changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Values = Mapping[str, object]
"""Fields of a C config struct: numbers, booleans, and such tables for structs in it."""


@dataclass(frozen=True)
class QueuePlan:
    """A discipline and its config."""

    discipline: str
    """Its name in C: droptail, ecn, ndp, cut_payload, strict, pfabric or fair."""
    settings: Values = field(default_factory=dict)
    """Its config."""
    children: tuple[QueuePlan, ...] = ()
    """fair: of NDP, of all else."""
    quanta: tuple[int, ...] = ()
    """fair: bytes that each child is served a round."""


@dataclass(frozen=True)
class PhantomPlan:
    """A phantom queue."""

    rate_bps: int
    threshold_bytes: int
    quantum_ns: int


@dataclass(frozen=True)
class TrimPlan:
    """How a port trims."""

    size: int
    dscp: int
    pcp: int | None
    last_hop: bool


@dataclass(frozen=True)
class FaultsPlan:
    """Faults on arrival; probabilities are of 2^32."""

    loss: int = 0
    corrupt: int = 0
    duplicate: int = 0
    reorder: int = 0
    delay_ns: int = 0
    reorder_ns_max: int = 0


@dataclass(frozen=True)
class Opening:
    """What a port is opened with; a change of it means to close and open."""

    backend: Literal["xdp", "packet", "udp", "memory"]
    device: str
    netns: str
    mtu: int
    rx_frames: int
    tx_frames: int
    listen: bool
    xdp_mode: Literal["auto", "native", "generic"]
    zero_copy: bool
    force: bool
    queue_first: int
    queues: int


@dataclass(frozen=True)
class PortPlan:
    """A port."""

    name: str
    opening: Opening
    queue: QueuePlan
    rate_bps: int
    catch_up_ns: int
    trim: TrimPlan
    phantom: PhantomPlan | None
    faults: FaultsPlan
    mac: str
    """Of the router on this link; the device's when empty."""
    floods: bool
    enabled: bool


@dataclass(frozen=True)
class GroupPlan:
    """Ports of equal cost."""

    name: str
    mode: Literal["random", "round-robin", "flow", "path"]
    ports: tuple[str, ...]
    divisor: int


@dataclass(frozen=True)
class RoutePlan:
    """Where a prefix leads."""

    to: str
    """Port or group."""
    hops: Mapping[str, str] = field(default_factory=dict)
    """Port -> Ethernet address of the next hop there."""


@dataclass(frozen=True)
class BasePlan:
    """What a switch is made with; a change of it means to make it anew."""

    name: str
    packets_max: int
    frame_bytes_max: int
    addresses_max: int
    routes_max: int
    aging_ns: int
    forwarding: Literal["learned", "static", "fib"]
    netns: str
    wire: Values
    seed: int


@dataclass(frozen=True)
class Forwarding:
    """Where frames go: names of ports and groups."""

    groups: tuple[GroupPlan, ...] = ()
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Ethernet address -> port or group."""
    routes: Mapping[str, RoutePlan] = field(default_factory=dict)
    """By prefix."""


@dataclass(frozen=True)
class SwitchPlan:
    """A switch."""

    base: BasePlan
    ports: Mapping[str, PortPlan]
    forwarding: Forwarding


Plan = Mapping[str, SwitchPlan]
"""All switches by name."""
