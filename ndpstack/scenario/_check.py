"""What a scenario must get right beyond each single value."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING

from ndpstack._disciplines import discipline
from ndpstack.scenario._graph import load_graph, load_htsim
from ndpstack.scenario._matrix import load_matrix
from ndpstack.scenario._protocols import protocol
from ndpstack.scenario._schema import (
    BackToBack,
    Clos,
    ClosedLoop,
    FatTree,
    Graph,
    Htsim,
    HullTree,
    Incast,
    LeafSpine,
    LinkChange,
    Matrix,
    OneFlow,
    OpenLoop,
    Outcast,
    SingleSwitch,
)

if TYPE_CHECKING:
    from ndpstack.scenario._schema import Scenario, Topology, Traffic
    from ndpstack.toml import Place

ENGINES_MAX = 4
FAT_TREE_K_MAX = 40


def host_count(topology: Topology) -> int:
    """Number of hosts of a topology."""
    match topology:
        case BackToBack():
            return 2
        case SingleSwitch():
            return topology.hosts
        case LeafSpine():
            return topology.leaves * topology.hosts_per_leaf
        case FatTree():
            return topology.k**3 // 4 * topology.oversubscription
        case Clos():
            return topology.pods * topology.edges_per_pod * topology.hosts_per_edge
        case HullTree():
            return 192
        case Graph():
            return load_graph(topology).hosts
        case Htsim():
            return host_count(load_htsim(topology.file))
    raise TypeError(f"no host count for {type(topology).__name__}")


def check(scenario: Scenario, place: Place) -> None:
    """Refuses what cannot be run; names file, key, value and remedy."""
    _check_topology(scenario.topology, place / "topology")
    if not 1 <= len(scenario.transport) <= ENGINES_MAX:
        (place / "transport").fail(
            f"there must be one to {ENGINES_MAX} tables, like [transport.homa]"
        )
    for name, table in scenario.transport.items():
        here = place / "transport" / name
        protocol(name, here).check(table, here)
    discipline(scenario.switch.queue, place / "switch" / "queue")
    for tier, queue in scenario.switch.ports.items():
        discipline(queue, place / "switch" / "ports" / tier)
    hosts = host_count(scenario.topology)
    if not scenario.traffic:
        (place / "traffic").fail("there must be at least one, like [[traffic]]")
    for i, traffic in enumerate(scenario.traffic):
        _check_traffic(scenario, traffic, hosts, place / "traffic" / i)
    for i, link in enumerate(scenario.link):
        _check_link(link, place / "link" / i)


def _check_topology(topology: Topology, place: Place) -> None:
    for item in dataclasses.fields(topology):
        value = getattr(topology, item.name)
        if isinstance(value, int) and item.name not in ("delay", "switch_latency") and value < 1:
            (place / item.name.replace("_", "-")).fail(
                f"{value} is too small; it must be 1 or more"
            )
    if isinstance(topology, FatTree) and (topology.k % 2 or topology.k > FAT_TREE_K_MAX):
        (place / "k").fail(f"{topology.k}: it must be even and at most {FAT_TREE_K_MAX}")


def _check_traffic(scenario: Scenario, traffic: Traffic, hosts: int, place: Place) -> None:
    known = list(scenario.transport)
    if traffic.transport is None and len(known) > 1:
        place.fail(f"`transport` is missing: the scenario has {', '.join(known)}")
    if traffic.transport is not None and traffic.transport not in known:
        (place / "transport").fail(
            f"{traffic.transport!r} has no table; there are {', '.join(known)}"
        )
    if not 0 <= traffic.priority <= 7:
        (place / "priority").fail(f"{traffic.priority} does not lie within 0 to 7")
    if hosts < 2:
        place.fail("there is only one host in this topology")
    size = getattr(traffic, "size", None)
    endless = "endless" in (size, getattr(traffic, "long_size", None))
    if endless and scenario.duration is None and not _waits(scenario):
        place.fail(
            "endless flows need a `duration` for the run to end, or other flows that are "
            "not `background`"
        )
    _check_hosts(traffic, hosts, place)
    _check_rates(traffic, place)
    if isinstance(traffic, Matrix) and load_matrix(traffic.file).nodes > hosts:
        (place / "file").fail(
            f"it has {load_matrix(traffic.file).nodes} nodes, the topology has "
            f"{hosts} hosts; take a larger topology"
        )


def _waits(scenario: Scenario) -> bool:
    """Whether some flows end by themselves and are waited for."""
    return any(
        getattr(traffic, "size", None) != "endless" and not traffic.background
        for traffic in scenario.traffic
    )


def _check_hosts(traffic: Traffic, hosts: int, place: Place) -> None:
    def within(name: str, value: int) -> None:
        if not 0 <= value < hosts:
            (place / name).fail(f"there is no host {value}; they are 0 to {hosts - 1}")

    match traffic:
        case Incast():
            within("target", traffic.target)
            if not 1 <= traffic.senders < hosts:
                (place / "senders").fail(
                    f"{traffic.senders} of {hosts} hosts cannot send to one; "
                    f"it must lie within 1 to {hosts - 1}"
                )
        case Outcast():
            within("source", traffic.source)
            if not 1 <= traffic.receivers < hosts:
                (place / "receivers").fail(
                    f"one cannot send to {traffic.receivers} of {hosts} "
                    f"hosts; it must lie within 1 to {hosts - 1}"
                )
        case OneFlow():
            within("source", traffic.source)
            within("target", traffic.target)
            if traffic.source == traffic.target:
                (place / "target").fail("a host does not send to itself")
        case OpenLoop():
            for name in ("sources", "targets"):
                span = getattr(traffic, name)
                if span is not None:
                    within(name, span[0])
                    within(name, span[1])
                    if span[0] > span[1]:
                        (place / name).fail(f"{list(span)}: the first is above the last")


def _check_rates(traffic: Traffic, place: Place) -> None:
    if isinstance(traffic, OpenLoop):
        if (traffic.load is None) == (traffic.rate is None):
            place.fail("give `load` or `rate`, one of the two")
        if 0 in (traffic.load, traffic.rate):
            place.fail("nothing is sent at a load or rate of 0")
    if traffic.repeat < 1:
        (place / "repeat").fail(f"{traffic.repeat} times are none; it must be 1 or more")
    if traffic.repeat > 1 and not traffic.every:
        place.fail("`repeat` needs the time from one to the next in `every`")
    if isinstance(traffic, ClosedLoop) and min(traffic.connections, traffic.rounds) < 1:
        place.fail("`connections` and `rounds` must be 1 or more")


def _check_link(link: LinkChange, place: Place) -> None:
    changes = (link.rate, link.delay, link.state, link.loss, link.corruption)
    if all(change is None for change in changes):
        place.fail("nothing changes; give `rate`, `delay`, `state`, `loss` or `corruption`")
    for end, _ in itertools.groupby(link.between):
        kind, _, index = end.partition(" ")
        if kind not in ("host", "edge", "agg", "core", "switch") or not index.isdecimal():
            (place / "between").fail(
                f"{end!r} is no node; write 'host 3', 'edge 0', 'agg 5', "
                "'core 1' or, in a graph, 'switch 2'"
            )
