"""From a scenario's topology to a plan and to how its switches forward.

Ports and routes are those of the simulator, so a path id means the same way in every world.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ndpstack.sim._network import Network, topology_config
from ndpstack.testbed._errors import TestbedError
from ndpstack.testbed._plan import NODES_MAX, Link, Node, Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ndpstack._core import CData
    from ndpstack.scenario import Scenario


LAST_HOP = "edge-down"
"""The tier of ports that lead to hosts."""


@dataclass(frozen=True)
class Route:
    """Where a switch sends frames for a host."""

    ports: tuple[str, ...]
    """Equal-cost interfaces."""
    divisor: int
    """The port of a path id is `path // divisor % len(ports)`."""


@dataclass(frozen=True)
class SwitchPort:
    """What a port of a switch leads to."""

    tier: str
    """As in a scenario's `switch.ports`: edge-down, edge-up, ..."""
    rate_bps: int
    number: int
    """Of the port in the simulator, for its counters."""
    on_tree: bool
    """Whether broadcasts go by it: they follow a tree, or they would circle for ever."""


@dataclass(frozen=True)
class Way:
    """Where a path id leads some hosts."""

    path: int
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    ports: tuple[tuple[str, str], ...]
    """Switch and interface of each port between switches that it passes, there and back."""


@dataclass(frozen=True)
class Blueprint:
    """A plan, and what its switches must know."""

    plan: Plan
    ports: Mapping[tuple[str, str], SwitchPort]
    """By switch and interface."""
    routes: Mapping[str, Mapping[str, Route]]
    """By switch and host."""
    paths: int
    """Most paths between two hosts."""
    ways: tuple[Way, ...]
    """Of hosts that have switches between their own."""


def node_name(words: str) -> str:
    """Name in a plan of a node as scenarios write it: "host 3" is h3, "edge 0" is edge0."""
    return words.replace("host ", "h").replace(" ", "")


def blueprint(scenario: Scenario) -> Blueprint:
    """Plan and forwarding of a scenario's topology.

    Raises:
        TestbedError: The topology is too large for one machine.
    """
    keep: list[CData] = []
    network = Network(topology_config(scenario.topology, keep))
    count = network.hosts + network.switches
    if count > NODES_MAX:
        raise TestbedError(f"{count:,} nodes are more than {NODES_MAX}; use --on sim")
    names = [node_name(network.name(node)) for node in range(count)]
    mtu = max(table.mtu for table in scenario.transport.values())
    plan = Plan(
        tuple(
            Node(name, "host" if i < network.hosts else "switch") for i, name in enumerate(names)
        ),
        tuple(_link(network, names, a, b, mtu) for a, b in network.cables()),
    )
    tree = _tree(network)
    ports = {
        (names[network.place(port)[0]], _interface(network, port)): SwitchPort(
            network.tier(port), network.rate(port), port, port in tree
        )
        for port in range(network.hosts, network.ports)
    }
    return Blueprint(
        plan,
        ports,
        {
            names[switch]: {
                names[host]: _route(network, switch, host) for host in range(network.hosts)
            }
            for switch in range(network.hosts, count)
        },
        network.paths_max,
        _ways(network, names, {port.number: at for at, port in ports.items()}),
    )


def _ways(network: Network, names: list[str], at: Mapping[int, tuple[str, str]]) -> tuple[Way, ...]:
    """Of hosts of each two switches: those of one switch go the same ways."""
    members: dict[int, list[int]] = {}
    for a, b in network.cables():
        if min(a, b) < network.hosts <= max(a, b):
            members.setdefault(network.place(max(a, b))[0], []).append(min(a, b))
    ways = []
    for sources, targets in itertools.permutations(members.values(), 2):
        for path in range(network.paths_max):
            there = network.way(sources[0], targets[0], path)
            back = network.way(targets[0], sources[0], path)
            inner = [p for p in there + back if p in at and network.tier(p) != LAST_HOP]
            who, whom = ([names[host] for host in hosts] for hosts in (sources, targets))
            ways.append(Way(path, tuple(who), tuple(whom), tuple(at[p] for p in inner)))
    return tuple(ways)


def _tree(network: Network) -> set[int]:
    """Ports, at both ends of their cables, of a tree that reaches all nodes."""
    reached = {network.place(0)[0]}
    cables = list(network.cables())
    tree: set[int] = set()
    while cables:
        found = next(
            (c for c in cables if len(reached & {network.place(port)[0] for port in c}) == 1), None
        )
        if found is None:
            break
        tree.update(found)
        reached.update(network.place(port)[0] for port in found)
    return tree


def _interface(network: Network, port: int) -> str:
    return f"p{network.place(port)[1]}"


def _link(network: Network, names: list[str], a: int, b: int, mtu: int) -> Link:
    return Link(
        names[network.place(a)[0]],
        names[network.place(b)[0]],
        _interface(network, a),
        _interface(network, b),
        mtu,
    )


def _route(network: Network, switch: int, host: int) -> Route:
    """The divisor is the first path id that leads another way than path 0."""
    ports, first = network.hops(switch, host)
    divisor = 1
    if len(ports) > 1:
        other = (
            p for p in range(1, network.paths_max) if network.hops(switch, host, p)[1] != first
        )
        divisor = next(other, 1)
    return Route(tuple(_interface(network, port) for port in ports), divisor)
