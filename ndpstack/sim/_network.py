"""A scenario's topology as the core takes it, and the names of its nodes and ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ndpstack._core import ffi, lib
from ndpstack._errors import UserError
from ndpstack._reason import reason_of
from ndpstack.scenario._graph import load_graph
from ndpstack.scenario._schema import (
    BackToBack,
    Clos,
    FatTree,
    Graph,
    HullTree,
    LeafSpine,
    SingleSwitch,
    Topology,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ndpstack._core import CData, nd_topology, nd_topology_config

TIER_NAMES = ("nic", "edge-down", "edge-up", "agg-down", "agg-up", "core-down")
"""enum nd_tier in words."""


def topology_config(topology: Topology, keep: list[CData]) -> nd_topology_config:
    """The config struct; what it points to is added to keep."""
    config = ffi.new("struct nd_topology_config *")
    config.kind = lib.ND_TOPOLOGY_CLOS
    match topology:
        case BackToBack():
            config.kind = lib.ND_TOPOLOGY_BACK_TO_BACK
        case SingleSwitch():
            _shape(config, 1, 1, topology.hosts, 0, 0)
        case LeafSpine():
            _shape(config, 1, topology.leaves, topology.hosts_per_leaf, topology.spines, 0)
        case FatTree():
            half = topology.k // 2
            _shape(config, topology.k, half, half * topology.oversubscription, half, half)
        case Clos():
            _shape(
                config,
                topology.pods,
                topology.edges_per_pod,
                topology.hosts_per_edge,
                topology.aggs_per_pod,
                topology.uplinks_per_agg,
            )
        case HullTree():
            _shape(config, pods=8, edges=4, hosts=6, aggs=2, uplinks=4)
        case Graph():
            _graph(config, topology, keep)
    _cables(config, topology)
    return config


def _shape(
    config: nd_topology_config, pods: int, edges: int, hosts: int, aggs: int, uplinks: int
) -> None:
    config.pods, config.edges, config.hosts = pods, edges, hosts
    config.aggs, config.uplinks = aggs, uplinks


def _cables(config: nd_topology_config, topology: Topology) -> None:
    for level in range(lib.ND_LEVEL_COUNT):
        cable = config.cables[level]
        cable.rate_bps = topology.rate
        if level != lib.ND_LEVEL_EDGE and topology.uplink_rate is not None:
            cable.rate_bps = topology.uplink_rate
        cable.delay_ps = topology.delay
        config.latency_ps[level] = topology.switch_latency


def _graph(config: nd_topology_config, topology: Graph, keep: list[CData]) -> None:
    graph = load_graph(topology)
    edges = ffi.new("struct nd_topology_edge[]", len(graph.cables))
    for edge, cable in zip(edges, graph.cables, strict=True):
        edge.a, edge.b = cable.a, cable.b
        edge.cable.rate_bps, edge.cable.delay_ps = cable.rate, cable.delay
    keep.append(edges)
    config.kind = lib.ND_TOPOLOGY_GRAPH
    config.hosts, config.switches = graph.hosts, graph.switches
    config.edge_list, config.edge_count = edges, len(graph.cables)


class Network:
    """Nodes and ports of a topology by name."""

    def __init__(self, config: nd_topology_config) -> None:
        error = ffi.new("struct nd_error *")
        made = ffi.new("struct nd_topology *")
        if lib.nd_topology_init(made, config, error) < 0:
            raise UserError(f"topology: {reason_of(error)}")
        self._topology: nd_topology = ffi.gc(made, lib.nd_topology_free)
        self._is_graph = config.kind == lib.ND_TOPOLOGY_GRAPH
        self.hosts = made.hosts
        self.switches = made.switches
        self.ports = made.ports
        self.paths_max = made.paths_max

    def node(self, name: str) -> int:
        """Number of "host 3", "edge 0", "agg 5", "core 1" or, in a graph, "switch 2"."""
        kind, _, text = name.partition(" ")
        first, end = self._kinds().get(kind, (0, 0))
        number = first + int(text) if text.isdecimal() else end
        if not first <= number < end:
            known = ", ".join(
                f"{kind} 0..{end - first - 1}"
                for kind, (first, end) in self._kinds().items()
                if end > first
            )
            raise UserError(f"there is no node {name!r} in this topology; there are {known}")
        return number

    def name(self, node: int) -> str:
        """Name of a node."""
        for kind, (first, end) in self._kinds().items():
            if first <= node < end:
                return f"{kind} {node - first}"
        raise ValueError(f"no node {node}")

    def _kinds(self) -> dict[str, tuple[int, int]]:
        top = self._topology
        nodes = top.hosts + top.switches
        if self._is_graph:
            return {"host": (0, top.hosts), "switch": (top.hosts, nodes)}
        return {
            "host": (0, top.hosts),
            "edge": (top.hosts, min(top.agg_base, nodes)),
            "agg": (top.agg_base, min(top.core_base, nodes)),
            "core": (top.core_base, nodes),
        }

    def port(self, between: tuple[str, str]) -> int:
        """The port of the first node whose cable leads to the second."""
        first, second = (self.node(name) for name in between)
        start = lib.nd_topology_port_first(self._topology, first)
        for port in range(start, start + lib.nd_topology_port_count(self._topology, first)):
            if lib.nd_topology_peer(self._topology, port) == second:
                return port
        raise UserError(f"there is no cable between {between[0]!r} and {between[1]!r}")

    def cables(self) -> Iterator[tuple[int, int]]:
        """Both ports of every cable, each cable once."""
        for port in range(self.ports):
            other = lib.nd_topology_port_reverse(self._topology, port)
            if port < other:
                yield port, other

    def place(self, port: int) -> tuple[int, int]:
        """The node of a port, and its place among the ports of that node."""
        node = lib.nd_topology_port_node(self._topology, port)
        return node, port - lib.nd_topology_port_first(self._topology, node)

    def way(self, source: int, target: int, path: int) -> list[int]:
        """The ports by which a packet of this path id leaves, from one host to another."""
        ports = [source]
        while (node := lib.nd_topology_peer(self._topology, ports[-1])) != target:
            found, digit = self.hops(node, target, path)
            ports.append(found[digit])
        return ports

    def hops(self, node: int, target: int, path: int = 0) -> tuple[list[int], int]:
        """Equal-cost ports of a switch towards a host, and which of them a path id names."""
        hops = lib.nd_topology_hops(self._topology, node, target, path)
        found = range(hops.count)
        return [hops.ports[i] if hops.ports else hops.first + i for i in found], hops.digit

    def port_name(self, port: int) -> str:
        """Both ends of a port's cable, as in "edge 0 -> host 3"."""
        here = lib.nd_topology_port_node(self._topology, port)
        there = lib.nd_topology_peer(self._topology, port)
        return f"{self.name(here)} -> {self.name(there)}"

    def tier(self, port: int) -> str:
        """What a port leads to."""
        return TIER_NAMES[lib.nd_topology_tier(self._topology, port)]

    def rate(self, port: int) -> int:
        """Bits per second of a port's cable as built."""
        return lib.nd_topology_cable(self._topology, port).rate_bps
