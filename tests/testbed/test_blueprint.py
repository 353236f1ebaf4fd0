"""From scenarios to plans: the same ports and paths as in the simulator."""

from __future__ import annotations

import pytest

from ndpstack.scenario import Scenario, parse_scenario
from ndpstack.testbed import TestbedError
from ndpstack.testbed._blueprint import Route, blueprint

PAPER = """
[topology]
kind = "leaf-spine"
leaves = 4
spines = 2
hosts-per-leaf = 2
rate = "100Mbit"
uplink-rate = "400Mbit"
[transport.ndp]
mtu = "1500B"
[[traffic]]
kind = "permutation"
size = "100KB"
"""


def paper(*overrides: str) -> Scenario:
    return parse_scenario(PAPER, overrides=overrides).scenario


def test_the_papers_testbed() -> None:
    """E-N08: 8 servers, six 4-port switches."""
    drawing = blueprint(paper())
    plan = drawing.plan
    assert [node.name for node in plan.hosts] == [f"h{i}" for i in range(8)]
    assert [node.name for node in plan.switches] == [
        *(f"edge{i}" for i in range(4)),
        "agg0",
        "agg1",
    ]
    assert all(len(plan.ports(node.name)) == 4 for node in plan.switches)
    assert all(link.mtu == 1500 for link in plan.links)
    assert drawing.paths == 2
    assert drawing.ports["edge0", "p0"].tier == "edge-down"
    assert drawing.ports["edge0", "p0"].rate_bps == 100_000_000
    assert drawing.ports["edge0", "p2"].rate_bps == 400_000_000


def test_routes_are_the_simulators() -> None:
    drawing = blueprint(paper())
    assert drawing.routes["edge0"]["h1"] == Route(("p1",), 1)
    assert drawing.routes["edge0"]["h2"] == Route(("p2", "p3"), 1)
    assert drawing.routes["agg1"]["h7"] == Route(("p3",), 1)


def test_ways_are_those_of_the_switches_between() -> None:
    """What a host is told goes away with the link that it needs, and nothing else."""
    drawing = blueprint(paper())
    assert len(drawing.ways) == 2 * 4 * 3
    (way,) = (w for w in drawing.ways if (w.path, w.sources[0], w.targets[0]) == (1, "h0", "h2"))
    assert (way.sources, way.targets) == (("h0", "h1"), ("h2", "h3"))
    assert set(way.ports) == {("edge0", "p3"), ("agg1", "p1"), ("edge1", "p3"), ("agg1", "p0")}


def test_path_ids_are_read_digit_by_digit() -> None:
    """R-NRT-01: in a FatTree the agg is the upper digit of a path id, the core the lower one."""
    drawing = blueprint(
        parse_scenario(
            PAPER.replace("leaves = 4\nspines = 2\nhosts-per-leaf = 2\n", "k = 4\n").replace(
                "leaf-spine", "fat-tree"
            )
        ).scenario
    )
    assert drawing.routes["edge0"]["h15"] == Route(("p2", "p3"), 2)
    assert drawing.routes["agg0"]["h15"] == Route(("p2", "p3"), 1)
    assert drawing.routes["edge0"]["h2"] == Route(("p2", "p3"), 1)


def test_a_fabric_too_large_for_one_machine_is_refused() -> None:
    with pytest.raises(TestbedError, match="use --on sim"):
        blueprint(paper("topology.leaves=200", "topology.spines=100"))


def test_broadcasts_follow_a_tree() -> None:
    drawing = blueprint(paper())
    on_tree = {port for port, leads_to in drawing.ports.items() if leads_to.on_tree}
    inner = [link for link in drawing.plan.links if not link.a.startswith("h")]
    kept = [link for link in inner if (link.a, link.a_port) in on_tree]
    # Six switches are joined by five cables, and both ends agree.
    assert len(kept) == 5
    assert kept == [link for link in inner if (link.b, link.b_port) in on_tree]
    assert all((f"edge{i}", f"p{j}") in on_tree for i in range(4) for j in range(2))
