"""What a scenario must get right beyond each single value."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from ndpstack._disciplines import discipline
from ndpstack.scenario._graph import load_graph
from ndpstack.scenario._matrix import load_matrix
from ndpstack.scenario._protocols import protocol
from ndpstack.scenario._schema import (
    TIME_MAX,
    BackToBack,
    Clos,
    FatTree,
    Graph,
    HullTree,
    Incast,
    LeafSpine,
    LinkChange,
    Matrix,
    OneFlow,
    OpenLoop,
    Outcast,
    Scheduler,
    SingleSwitch,
)
from ndpstack.toml import format_time

if TYPE_CHECKING:
    from ndpstack.scenario._schema import Scenario, Topology, Traffic
    from ndpstack.toml import Place

ENGINES_MAX = 4

FREQUENCY_MIN, FREQUENCY_MAX = 1e-3, 1e12
"""Events a second: one in a thousand seconds, and one every picosecond."""

CORRUPTION_MAX = Fraction(1, 2**16)
"""Probability that a byte is spoiled: hardly a full packet arrives whole at more than this."""

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
    if scenario.probes.timeline_host is not None:
        _check_host(scenario.probes.timeline_host, hosts, place / "probes" / "timeline-host")


def _check_topology(topology: Topology, place: Place) -> None:
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


def _check_host(number: int, hosts: int, place: Place) -> None:
    if number >= hosts:
        place.fail(f"there is no host {number}; they are 0 to {hosts - 1}")


def _check_hosts(traffic: Traffic, hosts: int, place: Place) -> None:
    def within(name: str, value: int) -> None:
        _check_host(value, hosts, place / name)

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
            _check_targets(traffic, place / "targets")


def _check_targets(traffic: OpenLoop, place: Place) -> None:
    """Every source needs a target that is another host."""
    if traffic.targets is None or traffic.targets[0] != traffic.targets[1]:
        return
    only = traffic.targets[0]
    if traffic.sources is None or traffic.sources[0] <= only <= traffic.sources[1]:
        place.fail(f"host {only} is the only target and sends, too; it cannot send to itself")


def _check_rates(traffic: Traffic, place: Place) -> None:
    if isinstance(traffic, OpenLoop):
        if (traffic.load is None) == (traffic.rate is None):
            place.fail("give `load` or `rate`, one of the two")
        if traffic.load == 0:
            place.fail("nothing is sent at a load of 0")
        if traffic.rate is not None:
            _check_frequency(traffic.rate, place / "rate")
    if isinstance(traffic, Scheduler):
        _check_frequency(traffic.arrival_rate, place / "arrival-rate")
    if traffic.repeat > 1 and not traffic.every:
        place.fail("`repeat` needs the time from one to the next in `every`")
    last = traffic.start + (traffic.repeat - 1) * (traffic.every or 0)
    if last > TIME_MAX:
        (place / "repeat").fail(
            f"the last of {traffic.repeat} starts at {format_time(last)}; no run lasts longer "
            f"than {format_time(TIME_MAX)}"
        )


def _check_frequency(per_second: float, place: Place) -> None:
    if not FREQUENCY_MIN <= per_second <= FREQUENCY_MAX:
        place.fail(
            f"{per_second:g}/s does not lie within {FREQUENCY_MIN:g}/s to {FREQUENCY_MAX:g}/s"
        )


def _check_link(link: LinkChange, place: Place) -> None:
    changes = (link.rate, link.delay, link.state, link.loss, link.corruption)
    if all(change is None for change in changes):
        place.fail("nothing changes; give `rate`, `delay`, `state`, `loss` or `corruption`")
    if link.corruption is not None and link.corruption > CORRUPTION_MAX:
        (place / "corruption").fail(
            f"{float(link.corruption):g} is the probability that a byte is spoiled, and above "
            f"{float(CORRUPTION_MAX):.3g}; to lose packets give `loss`"
        )
    for end in link.between:
        kind, _, index = end.partition(" ")
        if kind not in ("host", "edge", "agg", "core", "switch") or not index.isdecimal():
            (place / "between").fail(
                f"{end!r} is no node; write 'host 3', 'edge 0', 'agg 5', "
                "'core 1' or, in a graph, 'switch 2'"
            )
