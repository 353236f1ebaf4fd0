"""The simulator from Python: same run every time, arrays that cost nothing, honest endings."""

from __future__ import annotations

import dataclasses
import gc
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ndpstack._core import lib
from ndpstack._errors import UserError
from ndpstack.report._files import goodput_columns
from ndpstack.scenario import ScenarioFile, parse_scenario
from ndpstack.sim import Progress, Simulation, Status, completion_ps, summarise

if TYPE_CHECKING:
    from pathlib import Path

SMALL = """
seed = 3
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts-per-leaf = 4
delay = "0.2us"
[switch]
route = "random"
[switch.queue]
discipline = "strict"
[transport.homa]
mtu = "1500B"
[[traffic]]
kind = "permutation"
size = "100KB"
"""

HULL = """
[topology]
kind = "hull-tree"
[switch.queue]
discipline = "droptail"
limit = "250pkt"
[transport.homa]
[[traffic]]
kind = "flow"
source = 0
target = 191
size = "1B"
"""


def small(*overrides: str, extra: str = "") -> ScenarioFile:
    return parse_scenario(SMALL + extra, overrides=overrides)


def test_a_run_ends_with_all_flows_done_and_clean() -> None:
    simulation = Simulation(small())
    assert simulation.run() is Status.DONE
    assert simulation.unfinished == 0
    assert simulation.audit() is None
    assert set(simulation.rows["state"]) == {lib.ND_FLOW_DONE}
    assert np.all(simulation.rows["payload_bytes"] >= 100_000)


def test_hulls_tree() -> None:
    """R-FT-3: 192 hosts on 56 switches of 8 ports, eight ways between pods."""
    network = Simulation(parse_scenario(HULL)).plan.network
    assert (network.hosts, network.switches, network.ports) == (192, 56, 192 + 56 * 8)
    assert network.rate(0) == 10_000_000_000
    assert network.paths_max == 8


def test_two_runs_are_equal_to_the_last_bit() -> None:
    """E-X05, S-9: same scenario and seed, same trace and same results."""
    results = []
    for _ in range(2):
        simulation = Simulation(small())
        simulation.run()
        results.append(json.dumps(dataclasses.asdict(summarise(simulation))))
    assert results[0] == results[1]


def test_another_seed_is_another_run() -> None:
    hashes = set()
    for seed in (3, 4):
        simulation = Simulation(small(f"seed={seed}"))
        simulation.run()
        hashes.add(simulation.trace_hash)
    assert len(hashes) == 2


def test_slices_and_probes_do_not_change_a_run() -> None:
    whole = Simulation(small())
    whole.run()
    watched = Simulation(
        small(
            "probes.goodput=5us",
            "probes.queues=true",
            "probes.delays=true",
            "probes.timeline=1000",
            "probes.waste=true",
        )
    )
    for until in range(0, 400, 7):
        watched.run(until=f"{until}us")
    watched.run()
    assert watched.trace_hash == whole.trace_hash
    assert len(watched.timeline) == 1000
    assert f"{watched.timeline_lost:,} entries did not fit" in watched.conditions["timeline"]
    assert watched.depths["bytes_max"].max() > 0
    assert watched.goodput.sum() == watched.rows["payload_bytes"].sum()


def test_a_run_that_outlasts_its_goodput_bins_says_so() -> None:
    short = Simulation(small("probes.goodput=1us"))
    short.run(until="2ms")
    assert short.now_ps < 1000 * 10**6
    assert not short.conditions
    long = Simulation(small("probes.goodput=10ns"))
    long.run()
    assert "the last bin has all from 9.99us on" in long.conditions["goodput"]


LONELY = """
[topology]
kind = "back-to-back"
[transport.blast]
[[traffic]]
kind = "flow"
source = 0
target = 1
size = "936B"
"""


def test_the_table_of_goodput_has_what_arrives_last() -> None:
    """A packet of 1,000 B at 10 Gbit/s over 0.5 us: it arrives as the second bin begins."""
    simulation = Simulation(parse_scenario(LONELY, overrides=["probes.goodput=1.3us"]))
    simulation.run()
    assert simulation.now_ps == 1_300_000
    assert goodput_columns(simulation)["bytes"].sum() == 936


def test_a_capture_may_have_a_name_that_is_no_text(tmp_path: Path) -> None:
    path = f"{tmp_path}/\udcff.pcapng"
    capture = f'probes.capture={{between=["host 0", "host 1"], file="{path}"}}'
    Simulation(parse_scenario(LONELY, overrides=[capture])).run()
    assert (tmp_path / "\udcff.pcapng").exists()


@pytest.mark.parametrize("engine", ["ndp", "homa", "blast"])
def test_nothing_is_faster_than_the_best_possible_time(engine: str) -> None:
    """A message of no bytes is the smallest packet that there is."""
    text = LONELY.replace("blast", engine).replace("936B", "0B")
    simulation = Simulation(parse_scenario(text))
    simulation.run()
    assert simulation.rows["best_ps"][0] == simulation.rows["received_ps"][0]


def test_a_run_of_no_length_has_a_bin_of_goodput() -> None:
    simulation = Simulation(small("probes.goodput=1us", "duration=0s"))
    assert simulation.run() is Status.UNTIL
    assert simulation.goodput.sum() == 0


def test_time_does_not_run_backwards() -> None:
    simulation = Simulation(small())
    simulation.run(until="20us")
    assert simulation.run(until="10us") is Status.UNTIL
    assert simulation.now_ps == 20 * 10**6


@pytest.mark.parametrize("name", ["edge0", "h0", "edge", "edge -1", "edge 2", "", "spine 0"])
def test_a_node_that_is_not_there_is_named(name: str) -> None:
    capture = f'probes.capture.between=["{name}", "host 0"]'
    with pytest.raises(UserError, match=f"no node '{name}' .*host 0..7, edge 0..1"):
        Simulation(small(capture))


def test_a_scenario_ends_at_its_duration() -> None:
    simulation = Simulation(small("duration=10us"))
    assert simulation.run() is Status.UNTIL
    assert simulation.now_ps == 10**7
    result = summarise(simulation)
    assert result.finished == 0
    assert len(result.unfinished) == result.flows == 8


def test_a_flow_over_a_dead_cable_is_listed() -> None:
    cut = '[[link]]\nbetween = ["edge 0", "host 0"]\nstate = "down"\n'
    simulation = Simulation(small("duration=3ms", extra=cut))
    simulation.run()
    result = summarise(simulation)
    assert len(result.unfinished) == 2
    assert all(0 in (flow.source, flow.target) for flow in result.unfinished)
    assert result.network["lost_packets"] > 0


def test_arrays_outlive_the_simulation_and_are_read_only() -> None:
    simulation = Simulation(small())
    simulation.run()
    rows = simulation.rows
    done = rows["done_ps"].copy()
    del simulation
    gc.collect()
    assert np.array_equal(rows["done_ps"], done)
    with pytest.raises(ValueError, match="read-only"):
        rows["done_ps"][0] = 0


def test_progress_reports_the_way_to_the_end() -> None:
    seen: list[Progress] = []
    Simulation(small("duration=1ms")).run(progress=seen.append)
    assert seen[-1].unfinished == 0
    assert seen[-1].flows == 8
    assert seen[-1].until_ps == 10**9


def test_slowdown_of_a_lonely_message_is_near_one() -> None:
    scenario = SMALL.replace('kind = "permutation"', 'kind = "flow"\nsource = 0\ntarget = 7')
    simulation = Simulation(parse_scenario(scenario, overrides=["traffic.0.size=1000B"]))
    simulation.run()
    result = summarise(simulation)
    assert result.slowdown is not None
    assert result.slowdown.max == pytest.approx(1.0, abs=0.01)
    assert completion_ps(simulation.flows, simulation.rows)[0] == simulation.rows["best_ps"][0]


def test_background_flows_are_not_waited_for() -> None:
    background = '[[traffic]]\nkind = "permutation"\nsize = "endless"\n'
    simulation = Simulation(small(extra=background))
    assert simulation.run() is Status.DONE
    result = summarise(simulation)
    assert (result.flows, result.background) == (8, 8)


def test_replies_end_a_flow() -> None:
    simulation = Simulation(small("traffic.0.reply=20KB", "traffic.0.size=100B"))
    simulation.run()
    times = completion_ps(simulation.flows, simulation.rows)
    assert np.all(times == simulation.rows["done_ps"] - simulation.rows["start_ps"])
    assert times.min() > 16 * 10**6


def test_a_matrix_runs_step_by_step(tmp_path: Path) -> None:
    path = tmp_path / "ring.cm"
    path.write_text(
        "Nodes 4\nConnections 2\nTriggers 1\n"
        "0->1 id 1 start 0 size 65536 recv_done_trigger 1\n"
        "1->2 id 2 trigger 1 size 65536\ntrigger id 1 oneshot\n"
    )
    text = SMALL.replace(
        'kind = "permutation"\nsize = "100KB"', f'kind = "matrix"\nfile = "{path}"'
    )
    simulation = Simulation(parse_scenario(text))
    simulation.run()
    rows = simulation.rows
    assert rows["start_ps"][1] == rows["received_ps"][0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_trace_is_played(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "flows.csv"
    rows = "start_us,source,target,bytes\n0,0,1,1000\n2.5,3,4,2000\n"
    path.write_text(rows, encoding=encoding)
    text = SMALL.replace('kind = "permutation"\nsize = "100KB"', f'kind = "trace"\nfile = "{path}"')
    simulation = Simulation(parse_scenario(text))
    simulation.run()
    assert list(simulation.rows["start_ps"]) == [0, 2_500_000]
    assert list(simulation.flows["bytes"]) == [1000, 2000]


@pytest.mark.parametrize("cell", ["1e3", "1" * 200_000, "\0"], ids=["float", "long", "nul"])
def test_a_trace_that_is_no_table_of_numbers_is_refused(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "flows.csv"
    path.write_text(f"start_us,source,target,bytes\n0,0,1,{cell}\n")
    text = SMALL.replace('kind = "permutation"\nsize = "100KB"', f'kind = "trace"\nfile = "{path}"')
    with pytest.raises(UserError, match="not a table of numbers"):
        Simulation(parse_scenario(text))


def test_the_scheduler_keeps_long_and_short_flows_apart() -> None:
    """R-CS-1, R-CS-3: hosts with long flows run nothing else, and the run waits for short ones."""
    text = SMALL.replace(
        'kind = "permutation"',
        """kind = "scheduler"
        arrival-rate = "100K/s"
        flows = 200
        long-hosts = "25%"
        """,
    )
    simulation = Simulation(parse_scenario(text, overrides=["traffic.0.size=15KB"]))
    assert simulation.run() is Status.DONE
    flows = simulation.flows
    long = flows["background"] == 1
    assert np.count_nonzero(long) == 2
    assert not set(flows["source"][long]) & set(flows["source"][~long])
    assert np.all(flows["source"] != flows["target"])
    gaps = np.diff(flows["start_ps"][~long].astype(np.float64))
    assert gaps.mean() == pytest.approx(10**7, rel=0.2)


def test_an_open_loop_offers_its_load() -> None:
    """R-CS-5: arrivals of a Poisson process at a load of the link."""
    text = SMALL.replace(
        'kind = "permutation"\nsize = "100KB"',
        """kind = "open-loop"
        sizes = "w1"
        load = "40%"
        load-counts = "payload"
        until = "1ms"
        """,
    )
    flows = Simulation(parse_scenario(text)).flows
    offered = flows["bytes"].sum() * 8 / (8 * 10e9 * 0.001)
    assert offered == pytest.approx(0.40, rel=0.05)


def test_a_cable_that_does_not_exist_is_refused() -> None:
    cut = '[[link]]\nbetween = ["edge 0", "host 7"]\nstate = "down"\n'
    with pytest.raises(UserError, match="no cable between 'edge 0' and 'host 7'"):
        Simulation(small(extra=cut))


def test_a_setting_that_the_engine_refuses_is_named() -> None:
    with pytest.raises(UserError, match=r"transport.homa: levels must be 8, 4, 2 or 1"):
        Simulation(small("transport.homa.levels=3"))
    with pytest.raises(UserError, match=r"transport.homa.levels: 300 does not fit"):
        Simulation(small("transport.homa.levels=300"))


def test_a_shared_buffer_is_for_all_ports_of_a_switch() -> None:
    text = SMALL.replace('kind = "permutation"', 'kind = "incast"\nsenders = 7')
    shared = ["switch.shared-buffer=20KB", "switch.shared-alpha=0.5"]
    simulation = Simulation(parse_scenario(text, overrides=shared))
    simulation.run()
    assert simulation.counters["dropped_packets"] > 0
    assert simulation.unfinished == 0


def test_a_phantom_queue_drains_at_its_share_of_the_link() -> None:
    """R-PQ-1: it stands at the exit of each port and delays nothing."""
    plain = Simulation(small())
    plain.run()
    phantom = Simulation(small("switch.queue.phantom.drain=50%"))
    phantom.run()
    assert np.array_equal(plain.rows["received_ps"], phantom.rows["received_ps"])
    counters = summarise(phantom).phantoms["edge-down"]
    assert counters["passed_packets"] == summarise(phantom).queues["edge-down"]["dequeued_packets"]
    assert counters["unmarked_packets"] > counters["passed_packets"] // 2
    assert summarise(plain).phantoms == {}


def test_a_phantom_queue_is_not_for_cables_of_several_rates(tmp_path: Path) -> None:
    """Its rate was that of the first port."""
    (tmp_path / "two.graph").write_text(
        "hosts 2\nswitches 1\nhost 0 switch 0 100Gbit\nhost 1 switch 0\n"
    )
    text = LONELY.replace('"back-to-back"', '"graph"\nfile = "two.graph"')
    item = "switch.queue.phantom.drain=95%"
    with pytest.raises(UserError, match=r"queue\.phantom: edge-down ports have .* 10Gbit to 100G"):
        Simulation(parse_scenario(text, base=tmp_path, overrides=[item]))


SLOW = """
[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts-per-leaf = 8
rate = "2Mbit"
uplink-rate = "1Mbit"
[switch.queue]
discipline = "droptail"
limit = "100MB"
[transport.blast]
[[traffic]]
kind = "all-to-all"
size = "100KB"
[probes]
delays = true
"""


def test_waits_that_are_too_long_to_be_counted_do_not_become_short_ones() -> None:
    """Up to 51 s at the first switch, and some more at the second."""
    simulation = Simulation(parse_scenario(SLOW))
    simulation.run()
    assert np.count_nonzero(simulation.rows["wait_ns"] == 2**32 - 1) > 100
    assert simulation.conditions["delays"] == "waits longer than 4.29 s are shown as that"


def test_traffic_repeats_and_is_drawn_anew_each_time() -> None:
    """E-N08: an incast again and again, so that medians and tails can be told."""
    flows = Simulation(small("traffic.0.repeat=3", "traffic.0.every=5ms")).flows
    rounds = flows.reshape(3, 8)
    assert rounds["start_ps"].tolist() == [[start] * 8 for start in (0, 5 * 10**9, 10**10)]
    assert len({tuple(targets) for targets in rounds["target"].tolist()}) > 1
    assert set(map(tuple, rounds["source"].tolist())) == {tuple(range(8))}
    with pytest.raises(UserError, match="`repeat` needs the time from one to the next"):
        small("traffic.0.repeat=3")
    with pytest.raises(UserError, match="0 is not within 1 to"):
        small("traffic.0.repeat=0")


FAIR = """
duration = "4ms"
[topology]
kind = "single-switch"
hosts = 4
rate = "10Gbit"
[switch.queue]
discipline = "fair"
[transport.ndp]
preset = "paper"
[transport.blast]
[[traffic]]
transport = "ndp"
kind = "flow"
size = "endless"
source = 1
target = 0
[[traffic]]
transport = "blast"
kind = "flow"
size = "endless"
source = 2
target = 0
"""


@pytest.mark.parametrize(("share", "ndp"), [(None, 0.5), ("75%", 0.75), ("10%", 0.1)])
def test_ndp_has_its_share_beside_traffic_that_nothing_slows_down(
    share: str | None, ndp: float
) -> None:
    """R-NSW-14: two disciplines, each with its own packets, share a link by bytes."""
    overrides = [] if share is None else [f"switch.queue.ndp-share={share}"]
    simulation = Simulation(parse_scenario(FAIR, overrides=overrides))
    gc.collect()  # What the discipline points to must not be gone.
    simulation.run("1ms")
    before = simulation.rows["payload_bytes"].astype(np.float64)
    simulation.run()
    rates = (simulation.rows["payload_bytes"] - before) * 8 / 3e-3 / 10e9
    assert rates[0] == pytest.approx(ndp, abs=0.02)
    assert rates.sum() > 0.97
    assert simulation.audit() is None


def test_either_side_may_have_the_whole_link() -> None:
    """R-NSW-14: what one does not use, the other has."""
    for transport in ("ndp", "blast"):
        simulation = Simulation(
            parse_scenario(
                FAIR,
                overrides=[
                    f'traffic=[{{transport="{transport}", kind="flow", size="endless", source=1, '
                    "target=0}]",
                    'switch.queue.others={discipline="ecn", limit="20pkt"}',
                ],
            )
        )
        simulation.run()
        assert simulation.rows["payload_bytes"][0] * 8 / 4e-3 / 10e9 > 0.96
