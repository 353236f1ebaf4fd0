"""Connection matrices and custom graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ndpstack._errors import UserError
from ndpstack.scenario import host_count, parse_scenario
from ndpstack.scenario._graph import GraphCable, load_graph, load_htsim
from ndpstack.scenario._matrix import NO_TRIGGER, load_matrix
from ndpstack.scenario._schema import Graph
from ndpstack.sim import Simulation, Status

if TYPE_CHECKING:
    from pathlib import Path

RING = """Nodes 4
Connections 3
Triggers 2
0->1 id 1 start 0 size 65536 send_done_trigger 1
1->2 id 2 trigger 1 size 65536 recv_done_trigger 2
2->3 id 3 trigger 2 start 500 size 1000 prio 3
trigger id 1 oneshot
trigger id 2 barrier count 2
"""

GRAPH = """# two racks
hosts 4
switches 2
host 0  switch 0
host 1  switch 0
host 2  switch 1  1Gbit
host 3  switch 1
switch 0  switch 1  40Gbit  2us
"""

HTSIM = """# 3 tiers
Nodes 128
Tiers 3
Podsize 16
Tier 0
Downlink_speed_Gbps 100
Radix_Up 4
Radix_Down 4
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Up 4
Radix_Down 4
Tier 2
Downlink_speed_Gbps 100
Radix_Down 8
"""


def test_a_matrix_keeps_its_triggers(tmp_path: Path) -> None:
    """E-X03: collectives are chains of triggers, on send-done or receive-done."""
    path = tmp_path / "ring.cm"
    path.write_text(RING)
    matrix = load_matrix(path)
    first, second, third = matrix.connections
    assert matrix.triggers == (1, 2)
    assert (first.starts_on, first.on_sent, first.on_received) == (NO_TRIGGER, 0, NO_TRIGGER)
    assert (second.starts_on, second.on_received) == (0, 1)
    assert (third.starts_on, third.start_ps, third.size, third.priority) == (1, 500, 1000, 3)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Connections 3", "Connections 4", "announces 4 connections and has 3"),
        ("0->1", "0->4", "does not lie within 4 nodes"),
        ("size 1000", "", "`size BYTES` is missing"),
        ("trigger 2 start", "trigger 9 start", "trigger 9 is not declared"),
        ("prio 3", "prio", "not a list of `key number`"),
        ("size 1000", "size x", "'x' is not a whole number"),
        ("size 1000", "size 1e999", "'1e999' is not a whole number"),
        ("size 1000", "size 1e30", "1e30 does not lie within 0 to"),
        ("0->1", "-1->1", "-1 does not lie within 0 to"),
        ("prio 3", "prio 8", "prio 8 does not lie within 0 to 7"),
        ("count 2", "count 4294967296", "count 4294967296 does not lie within"),
        ("id 1 oneshot", "id 1 multishot", "not a list of `key number`"),
    ],
)
def test_a_matrix_with_a_mistake_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "bad.cm"
    path.write_text(RING.replace(old, new))
    with pytest.raises(UserError, match=message):
        load_matrix(path)


def test_a_graph_has_cables_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "racks.graph"
    path.write_text(GRAPH)
    graph = load_graph(Graph(file=path))
    assert (graph.hosts, graph.switches) == (4, 2)
    assert graph.cables[2] == GraphCable(2, 5, 10**9, 500_000)
    assert graph.cables[4] == GraphCable(4, 5, 40 * 10**9, 2_000_000)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("host 3", "host 4", "there is no node `host 4`"),
        ("switches 2\n", "", "neither `hosts N`"),
        ("1Gbit", "1Gb", "no unit of a rate"),
        ("1Gbit", "1bit", "1 bit/s is not within 1000000 to"),
        ("2us", "2s", "2000000000000 ps is not within 0 to"),
        ("hosts 4", "hosts 4294967296", "not a whole number of up to"),
    ],
)
def test_a_graph_with_a_mistake_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "bad.graph"
    path.write_text(GRAPH.replace(old, new))
    with pytest.raises(UserError, match=message):
        load_graph(Graph(file=path))


def test_an_htsim_topology_becomes_a_clos(tmp_path: Path) -> None:
    path = tmp_path / "128.topo"
    path.write_text(HTSIM)
    clos = load_htsim(path)
    assert host_count(clos) == 128
    assert (clos.pods, clos.edges_per_pod, clos.aggs_per_pod, clos.uplinks_per_agg) == (8, 4, 4, 4)
    assert clos.rate == 100 * 10**9
    assert clos.delay == 10**6


def test_engines_take_the_rate_of_an_htsim_file(tmp_path: Path) -> None:
    (tmp_path / "128.topo").write_text(HTSIM)
    scenario = """
[topology]
kind = "htsim"
file = "128.topo"
[transport.ndp]
[[traffic]]
kind = "permutation"
size = "9KB"
"""
    plan = Simulation(parse_scenario(scenario, base=tmp_path)).plan
    settings = plan.settings()["ndp"]
    assert isinstance(settings, dict)
    assert settings["link_bps"] == plan.network.rate(0) == 100 * 10**9


LINE = """
[topology]
kind = "graph"
file = "some.graph"
[transport.ndp]
[[traffic]]
kind = "flow"
source = 0
target = 1
size = "1KB"
"""


def on_graph(folder: Path, cables: str, *overrides: str) -> Simulation:
    (folder / "some.graph").write_text(cables)
    return Simulation(parse_scenario(LINE, base=folder, overrides=overrides))


def test_engines_and_loads_take_the_rate_of_the_hosts_of_a_graph(tmp_path: Path) -> None:
    fast = "hosts 2\nswitches 1\nhost 0 switch 0 100Gbit\nhost 1 switch 0 100Gbit\n"
    load = 'traffic.0={kind="open-loop", sizes="10KB", load="50%", until="100us"}'
    by_file = on_graph(tmp_path, fast, load).plan
    told = on_graph(tmp_path, fast, load, "topology.rate=100Gbit").plan
    settings = by_file.settings()["ndp"]
    assert isinstance(settings, dict)
    assert settings["link_bps"] == 100 * 10**9
    assert by_file.traffic.flows.tolist() == told.traffic.flows.tolist()


def test_hosts_of_many_rates_are_told_that_of_the_topology(tmp_path: Path) -> None:
    mixed = "hosts 2\nswitches 1\nhost 0 switch 0 100Gbit\nhost 1 switch 0\n"
    settings = on_graph(tmp_path, mixed, "topology.rate=40Gbit").plan.settings()["ndp"]
    assert isinstance(settings, dict)
    assert settings["link_bps"] == 40 * 10**9


def test_slowdown_counts_every_hop_of_a_long_way(tmp_path: Path) -> None:
    chain = "".join(f"switch {i} switch {i + 1}\n" for i in range(99))
    simulation = on_graph(
        tmp_path, f"hosts 2\nswitches 100\nhost 0 switch 0\nhost 1 switch 99\n{chain}"
    )
    simulation.run()
    assert simulation.rows["best_ps"][0] == simulation.rows["received_ps"][0]


def test_ndp_runs_where_there_are_more_paths_than_it_can_tell_apart(tmp_path: Path) -> None:
    """17 diamonds in a row are 2^17 shortest paths."""
    cables = "hosts 2\nswitches 52\nhost 0 switch 0\nhost 1 switch 51\nswitch 0 switch 1\n"
    for i in range(1, 50, 3):
        cables += "".join(f"switch {i} switch {i + j}\n" for j in (1, 2))
        cables += "".join(f"switch {i + j} switch {i + 3}\n" for j in (1, 2) if i + 3 < 52)
    simulation = on_graph(tmp_path, cables + "switch 50 switch 51\n")
    assert simulation.run() is Status.DONE


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Tiers 3", "Tiers 7", "2 or 3 tiers"),
        ("Tier 1\n", "Tier 4\n", "2 or 3 tiers, with a `Tier` each"),
        ("Tier 2\nDownlink_speed_Gbps 100", "Tier 2\nDownlink_speed_Gbps 400", "is 100, 400"),
        ("Tier 1\n", "Tier 1\nDownlink_Latency_ns 2000\n", "is 1000, 2000: it must be the same"),
    ],
)
def test_an_htsim_file_that_the_builders_cannot_follow_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "128.topo"
    path.write_text(HTSIM.replace(old, new))
    with pytest.raises(UserError, match=message):
        load_htsim(path)


def test_a_barrier_that_never_opens_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ring.cm"
    path.write_text(RING.replace("count 2", "count 0"))
    with pytest.raises(UserError, match=r"ring\.cm:8: a barrier of count 0"):
        load_matrix(path)


@pytest.mark.parametrize("key", ["Nodes 128", "Podsize 16", "Radix_Down 4"])
def test_an_htsim_file_of_nothing_is_refused(tmp_path: Path, key: str) -> None:
    path = tmp_path / "0.topo"
    path.write_text(HTSIM.replace(key, f"{key.split()[0]} 0"))
    with pytest.raises(UserError, match="do not divide evenly"):
        load_htsim(path)
