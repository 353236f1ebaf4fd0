"""What a scenario file may say: one frozen dataclass for each table.

Keys in the file are these names with dashes. The docstring under a field is its line in the
reference; its type decides how the value is read (see ndpstack/toml).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

from ndpstack._disciplines import Queue
from ndpstack.scenario._workload import Workload
from ndpstack.toml import (
    BitRate,
    Bytes,
    PartsPerMillion,
    PerSecond,
    Picoseconds,
    Range,
    Settings,
)

Count = Annotated[int, Range(0, 2**32 - 1)]
"""Numbers of things, and of one among them."""

Positive = Annotated[int, Range(1, 2**32 - 1)]
"""Numbers of things of which there must be one."""

Nodes = Annotated[int, Range(1, 2**16)]
"""Numbers of hosts, switches and what they come in."""

LINK_RATE = Range(10**6, 32 * 10**11)
"""Bits per second of a cable: 1 Mbit/s to 3.2 Tbit/s."""

LINK_DELAY = Range(0, 10**12)
"""Picoseconds of a delay in the network or in a host: up to a second."""

LinkRate = Annotated[BitRate, LINK_RATE]
LinkDelay = Annotated[Picoseconds, LINK_DELAY]

TIME_MAX = 10**18
"""Picoseconds that a run may last: eleven days."""

Time = Annotated[Picoseconds, Range(0, TIME_MAX)]
"""A moment of a run, or how long something in it takes."""

Seed = Annotated[int, Range(0, 2**63 - 1)]
"""What draws begin from."""

Endless = Literal["endless"]
"""The size of a flow that goes on until the run ends."""

Tier = Literal["edge-down", "edge-up", "agg-down", "agg-up", "core-down"]
"""What a switch port leads to: a host, up from an edge, down from an agg, ..."""


# ---- topology ----


@dataclass(frozen=True, kw_only=True)
class Topology:
    """Cables and switches; `kind` says how they are put together."""

    rate: LinkRate = BitRate(10_000_000_000)
    """Rate of the cables between hosts and switches."""
    uplink_rate: LinkRate | None = None
    """Rate of the cables between switches; as `rate` when left out."""
    delay: LinkDelay = Picoseconds(500_000)
    """Propagation delay of a cable, one way."""
    switch_latency: LinkDelay = Picoseconds(0)
    """From the last bit in until the packet is in its output queue."""


@dataclass(frozen=True, kw_only=True)
class BackToBack(Topology):
    """Two hosts and one cable."""


@dataclass(frozen=True, kw_only=True)
class SingleSwitch(Topology):
    """Hosts around one switch."""

    hosts: Nodes
    """Number of hosts."""


@dataclass(frozen=True, kw_only=True)
class LeafSpine(Topology):
    """Two levels of switches: every leaf is connected with every spine."""

    leaves: Nodes
    """Number of leaf (top-of-rack) switches; elsewhere in the file, and in labs, an `edge` each."""
    spines: Nodes
    """Number of spine switches; elsewhere an `agg` each."""
    hosts_per_leaf: Nodes
    """Hosts on each leaf."""


@dataclass(frozen=True, kw_only=True)
class FatTree(Topology):
    """A k-ary FatTree of three levels: k^3/4 hosts when it is not oversubscribed."""

    k: Nodes
    """Ports of a switch; even, 2 to 40."""
    oversubscription: Nodes = 1
    """Hosts on an edge switch for each of its uplinks."""


@dataclass(frozen=True, kw_only=True)
class Clos(Topology):
    """Any folded Clos of three levels, by its numbers."""

    pods: Nodes
    """Number of pods."""
    edges_per_pod: Nodes
    """Edge (top-of-rack) switches of a pod."""
    hosts_per_edge: Nodes
    """Hosts on each edge switch."""
    aggs_per_pod: Nodes
    """Aggregation switches of a pod, each connected with every edge switch of it."""
    uplinks_per_agg: Nodes
    """Cores that an aggregation switch is connected with; cores = aggs * uplinks."""


@dataclass(frozen=True, kw_only=True)
class HullTree(Topology):
    """HULL's data center: 192 hosts in 8 pods on 56 switches of 8 ports, 3:1 at the edge."""

    delay: LinkDelay = Picoseconds(200_000)
    """Propagation delay of a cable, one way."""


@dataclass(frozen=True, kw_only=True)
class Graph(Topology):
    """Any graph, from a file of cables."""

    file: Path
    """The file, relative to the scenario's: `hosts 4` and `switches 2` on a line each, then a line
    for each cable, `host 0 switch 1 10Gbit 500ns`; rate and delay may be left out, # begins a
    comment. Protocols and loads reckon with the rate of the hosts' cables if that is one, else
    with `rate`."""


@dataclass(frozen=True, kw_only=True)
class Htsim(Topology):
    """A fat tree described by an htsim .topo file, whose rates and delays are taken."""

    file: Path
    """The file, relative to the scenario's."""


TOPOLOGIES: Mapping[str, type[Topology]] = {
    "back-to-back": BackToBack,
    "single-switch": SingleSwitch,
    "leaf-spine": LeafSpine,
    "fat-tree": FatTree,
    "clos": Clos,
    "hull-tree": HullTree,
    "graph": Graph,
    "htsim": Htsim,
}


# ---- switches ----


@dataclass(frozen=True, kw_only=True)
class Switch:
    """What all switches do."""

    route: Literal["source", "random", "round-robin", "flow"] = "source"
    """Who chooses among equal paths: the sender, or the switch by packet or by flow."""
    queue: Queue = Queue()
    """Every output port, unless `ports` says otherwise."""
    ports: Mapping[Tier, Queue] = field(default_factory=dict)
    """Ports of one kind, by its name: edge-down (to hosts), edge-up, agg-down, agg-up, core-down;
    such a table replaces `queue`, it does not add to it."""
    shared_buffer: Annotated[Bytes, Range(1, 2**32 - 1)] | None = None
    """Buffer of a switch that its ports share; each has its own when left out."""
    shared_alpha: Annotated[float, Range(0, 64)] = 1.0
    """A queue may take this many times what is free of the shared buffer."""


# ---- hosts and transports ----


@dataclass(frozen=True, kw_only=True)
class Delay:
    """A delay in software: fixed, plus one drawn from a measured distribution."""

    fixed: LinkDelay = Picoseconds(0)
    """What every packet waits."""
    file: Path | None = None
    """Quantiles, one time a line, each equally likely."""


@dataclass(frozen=True, kw_only=True)
class Hosts:
    """What all hosts are."""

    nic_packets: Positive = 1
    """Full packets that a NIC holds unsent: 1 is the papers' ideal, 2 what real ones need."""
    receive_delay: Delay = Delay()
    """From the wire to the engine."""
    send_delay: Delay = Delay()
    """From the engine to the wire."""
    timer_delay: Delay = Delay()
    """From a deadline to the engine."""


@dataclass(frozen=True, kw_only=True)
class Transport:
    """A protocol that the hosts speak and its settings, which are keys of this table."""

    preset: str = "default"
    """Where the settings start from: default (what is on the wire) or paper."""
    mtu: Annotated[Bytes, Range(68, 65535)] = Bytes(9000)
    """Largest IP packet."""
    settings: Settings = field(default_factory=dict)
    """All other keys: fields of the engine's config."""


# ---- traffic ----


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Who sends how much to whom and when; `kind` says by which pattern."""

    transport: str | None = None
    """Protocol; may be left out where the scenario has only one."""
    start: Time = Picoseconds(0)
    """When it begins."""
    priority: Annotated[int, Range(0, 7)] = 0
    """0 to 7; higher is served first."""
    reply: Annotated[Bytes, Range(0, 2**32 - 1)] | None = None
    """The target answers with this many bytes, and a flow ends when they are there."""
    background: bool = False
    """The run does not wait for these flows."""
    repeat: Annotated[int, Range(1, 10**6)] = 1
    """Times that all of it happens, drawn anew each time."""
    every: Time | None = None
    """Time from one to the next."""
    seed: Seed | None = None
    """Seed of its draws; from the scenario's seed and its place when left out."""


@dataclass(frozen=True, kw_only=True)
class Permutation(Traffic):
    """Every host sends one flow and receives one."""

    size: Bytes | Endless
    """Bytes of a flow."""


@dataclass(frozen=True, kw_only=True)
class Random(Traffic):
    """Every host sends flows to hosts drawn uniformly."""

    size: Bytes | Endless
    """Bytes of a flow."""
    flows_per_host: Positive = 1
    """Flows that a host starts."""


@dataclass(frozen=True, kw_only=True)
class Incast(Traffic):
    """Hosts drawn at random send to one."""

    size: Bytes | Endless
    """Bytes of a flow."""
    senders: Count
    """Number of senders."""
    target: Count = 0
    """The host that they send to."""


@dataclass(frozen=True, kw_only=True)
class Outcast(Traffic):
    """One host sends to hosts drawn at random."""

    size: Bytes | Endless
    """Bytes of a flow."""
    receivers: Count
    """Number of receivers."""
    source: Count = 0
    """The host that sends."""


@dataclass(frozen=True, kw_only=True)
class AllToAll(Traffic):
    """Every host sends one flow to every other."""

    size: Bytes | Endless
    """Bytes of a flow."""


@dataclass(frozen=True, kw_only=True)
class OneFlow(Traffic):
    """A single flow."""

    size: Bytes | Endless
    """Bytes of the flow."""
    source: Count
    """The host that sends."""
    target: Count
    """The host that receives."""


@dataclass(frozen=True, kw_only=True)
class OpenLoop(Traffic):
    """Messages arrive as a Poisson process whatever became of the earlier ones."""

    sizes: Workload | Bytes
    """Distribution of sizes, or the one size."""
    size_max: Bytes | None = None
    """Longer messages are cut to this; the load is kept."""
    load: PartsPerMillion | None = None
    """Share of a host's link that its messages fill; or give `rate`."""
    rate: PerSecond | None = None
    """Messages a second and host; or give `load`."""
    load_counts: Literal["wire", "payload"] = "wire"
    """Whether headers and gaps are part of the load."""
    until: Time
    """Length of the time in which messages arrive."""
    flows_per_host: Count = 0
    """At most this many a host; 0: no limit."""
    sources: tuple[Count, Count] | None = None
    """First and last host that sends; all when left out."""
    targets: tuple[Count, Count] | None = None
    """First and last host that receives; all when left out."""


@dataclass(frozen=True, kw_only=True)
class ClosedLoop(Traffic):
    """Every host keeps flows going: the next of a chain starts when the last has ended."""

    sizes: Workload | Bytes
    """Distribution of sizes, or the one size."""
    connections: Positive = 1
    """Chains of a host that run side by side."""
    rounds: Positive = 1
    """Flows of a chain, one after the other, each to a newly drawn host."""
    think: LinkDelay = Picoseconds(0)
    """Mean of the exponential time between the end of one and the start of the next."""


@dataclass(frozen=True, kw_only=True)
class Scheduler(Traffic):
    """The central scheduler of the OMNeT++ model: short flows over a background of long ones."""

    matrix: Literal["permutation", "random"] = "permutation"
    """Whether a host sends to one fixed host or to any."""
    arrival_rate: PerSecond
    """Short flows a second in the whole network (Poisson)."""
    flows: Count
    """Number of short flows."""
    size: Workload | Bytes
    """Bytes of a short flow."""
    long_size: Bytes | Endless = "endless"
    """Bytes of a long flow."""
    long_hosts: PartsPerMillion = PartsPerMillion(0)
    """Share of the hosts that send long flows only."""


@dataclass(frozen=True, kw_only=True)
class Matrix(Traffic):
    """A connection matrix (.cm) with start times and triggers."""

    file: Path
    """The file, relative to the scenario's."""


@dataclass(frozen=True, kw_only=True)
class Trace(Traffic):
    """Flows from a CSV file with a header: start_us, source, target, bytes."""

    file: Path
    """The file, relative to the scenario's."""


TRAFFIC: Mapping[str, type[Traffic]] = {
    "permutation": Permutation,
    "random": Random,
    "incast": Incast,
    "outcast": Outcast,
    "all-to-all": AllToAll,
    "flow": OneFlow,
    "open-loop": OpenLoop,
    "closed-loop": ClosedLoop,
    "scheduler": Scheduler,
    "matrix": Matrix,
    "trace": Trace,
}


# ---- links and probes ----


@dataclass(frozen=True, kw_only=True)
class LinkChange:
    """A cable changes: at once, or during the run."""

    between: tuple[str, str]
    """The two ends: "host 3", "edge 0", "agg 5", "core 1", counted through the network."""
    at: Time = Picoseconds(0)
    """When."""
    rate: LinkRate | None = None
    """New rate."""
    delay: LinkDelay | None = None
    """New propagation delay."""
    state: Literal["up", "down"] | None = None
    """What is sent over a cable that is down is lost."""
    loss: Fraction | None = None
    """Probability that a packet is lost."""
    corruption: Fraction | None = None
    """Probability of up to 2^-16 that a byte is spoiled; such packets are dropped at the end."""
    both_ways: bool = True
    """Both directions, or only the one from the first end to the second."""


@dataclass(frozen=True, kw_only=True)
class Capture:
    """Every packet that one end of a cable sends, as a pcapng file."""

    between: tuple[str, str]
    """The end that sends, and the other end."""
    file: str = "capture.pcapng"
    """Its name in the output folder, or in the current one without `--out`."""


@dataclass(frozen=True, kw_only=True)
class Probes:
    """What is watched besides flows and counters. Watching never changes a run."""

    goodput: Time | None = None
    """Bin of the goodput series; off when left out. The last of 1,000, or of 100,000 with a
    `duration`, has the rest of a longer run."""
    goodput_of: Literal["hosts", "flows"] = "hosts"
    """A series for each host or for each flow."""
    queues: bool = False
    """Mean and largest depth of every port."""
    delays: bool = False
    """What the last packet of each flow waited for in queues."""
    waste: bool = False
    """Time that last hops were idle while their host had messages to come."""
    timeline: Count = 0
    """Entries kept of the packet timeline (for Perfetto); 0: off."""
    timeline_host: Count | None = None
    """Only packets from or to this host."""
    capture: Capture | None = None
    """A packet capture."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Memory of the simulator; derived from the number of hosts when left out."""

    packets: Count = 0
    """Packets in the network at once."""
    events: Count = 0
    """Events pending at once."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A whole experiment: what there is, what it does, what is watched."""

    title: str = ""
    """What it shows, in a line."""
    seed: Seed = 1
    """Everything that is drawn follows from it."""
    duration: Time | None = None
    """When the run ends; when all flows have ended if left out."""
    topology: Topology
    """Cables and switches."""
    switch: Switch = Switch()
    """What switches do."""
    hosts: Hosts = Hosts()
    """What hosts are."""
    transport: Mapping[str, Transport]
    """A table for each protocol: ndp, homa, blast."""
    traffic: tuple[Traffic, ...]
    """What is sent: one table for each pattern, all together."""
    link: tuple[LinkChange, ...] = ()
    """Cables that are not as the topology has them."""
    probes: Probes = Probes()
    """What is watched."""
    limits: Limits = Limits()
    """Memory of the simulator."""
    wire_check: bool = False
    """Encode, decode and compare every packet on its way."""
