"""One scenario on real stacks: memory, namespaces with AF_XDP, and the kernel's TCP beside them."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from four_hosts import FOUR_HOSTS

from ndpstack.agent import Replay
from ndpstack.cli import main
from ndpstack.cli._exit import Exit
from ndpstack.scenario import ScenarioFile, parse_scenario
from ndpstack.sim import Simulation, Status, summarise
from ndpstack.testbed import labs, why_unavailable

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = f"""
title = "an incast on four hosts"
{FOUR_HOSTS}[switch.queue]
discipline = "ndp"
[transport.ndp]
mtu = "1500B"
[[traffic]]
kind = "incast"
senders = 3
size = "30KB"
repeat = 3
every = "30ms"
"""

HOMA = SCENARIO.replace("[transport.ndp]", "[transport.homa]").replace('"ndp"', '"strict"')

needs_root = pytest.mark.skipif(bool(why_unavailable()), reason=str(why_unavailable()))
WORLDS = ["memory", pytest.param("netns", marks=needs_root)]


def scenario(*overrides: str, text: str = SCENARIO) -> ScenarioFile:
    return parse_scenario(text, overrides=overrides)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("text", [SCENARIO, HOMA], ids=["ndp", "homa"])
def test_a_world_runs_the_simulators_flows_and_fills_its_tables(world: str, text: str) -> None:
    file = scenario(text=text)
    replay, ideal = Replay(file, world), Simulation(file)
    assert replay.run() is Status.DONE, replay.error
    ideal.run()
    assert np.array_equal(replay.flows, ideal.flows)
    assert np.array_equal(replay.rows["best_ps"], ideal.rows["best_ps"])
    assert (replay.rows["payload_bytes"] >= 30_000).all()
    result, expected = summarise(replay), summarise(ideal)
    assert result.finished == expected.finished == 9
    assert result.queues.keys() == expected.queues.keys()
    assert result.queues["edge-down"].keys() == expected.queues["edge-down"].keys()
    assert result.queues["edge-down"]["dequeued_packets"] >= 9 * 21
    assert result.engines.keys() == expected.engines.keys()
    assert result.slowdown is not None
    # Nothing is faster than the shortest possible time of the simulator.
    assert result.slowdown.p50 > 1
    assert "flows started late by" in result.conditions


def test_flows_without_an_end_go_on_for_the_duration() -> None:
    """As in the simulator, where there are no others to wait for."""
    endless = scenario("traffic.0.size=endless", "traffic.0.repeat=1", "duration=50ms")
    for run in (Replay(endless, "memory"), Simulation(endless)):
        assert run.run() is Status.UNTIL
        assert run.now_ps >= 50 * 10**9


@pytest.mark.parametrize("world", WORLDS)
def test_requests_have_replies(world: str) -> None:
    for text in (SCENARIO, HOMA):
        replay = Replay(scenario("traffic.0.reply=5KB", text=text), world)
        assert replay.run() is Status.DONE, replay.error
        assert (replay.rows["done_ps"] > replay.rows["received_ps"]).all()


@needs_root
def test_kernel_tcp_carries_the_same_flows() -> None:
    replay = Replay(scenario("traffic.0.reply=5KB"), "netns", kernel_tcp=100)
    assert replay.run() is Status.DONE
    assert (replay.rows["payload_bytes"] == 30_000).all()
    names, table = replay.engine_counters("ndp")
    assert int(table[:, names.index("OutSegs")].sum()) > 9 * 25
    assert "cubic" in replay.conditions["kernel TCP"]


@pytest.mark.parametrize("world", WORLDS)
def test_a_link_that_goes_down_loses_no_message(world: str) -> None:
    """E-X04: what was on the cable is sent again another way."""
    down = scenario(
        "traffic.0.size=200KB",
        text=SCENARIO + '[[link]]\nbetween = ["edge 1", "agg 0"]\nat = "20ms"\nstate = "down"\n',
    )
    replay = Replay(down, world)
    assert replay.run() is Status.DONE, replay.error
    assert summarise(replay).finished == 9


def test_what_a_world_cannot_do_is_said_before_anything_is_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "four.toml"
    path.write_text(SCENARIO)
    assert main(["run", str(path), "--kernel-tcp"]) == Exit.USAGE
    assert "add --on netns" in capsys.readouterr().err
    path.write_text(SCENARIO + '[[link]]\nbetween = ["edge 1", "agg 0"]\nloss = "1%"\n')
    assert main(["run", str(path), "--on", "memory"]) == Exit.USAGE
    assert "other changes need --on sim" in capsys.readouterr().err
    for other in ("both-ways = false", 'rate = "1Mbit"'):
        change = f'[[link]]\nbetween = ["edge 1", "agg 0"]\nstate = "down"\n{other}\n'
        path.write_text(SCENARIO + change)
        assert main(["run", str(path), "--on", "memory"]) == Exit.USAGE
        assert "other changes need --on sim" in capsys.readouterr().err
    path.write_text(SCENARIO)
    shared = ["--set", "switch.shared-buffer=1MB"]
    assert main(["run", str(path), "--on", "memory", *shared]) == Exit.USAGE
    assert "`switch.shared-buffer` is simulated only" in capsys.readouterr().err
    path.write_text(SCENARIO.replace("ndp]", "blast]"))
    assert main(["run", str(path), "--on", "memory"]) == Exit.USAGE
    assert "'blast' is simulated only" in capsys.readouterr().err


def test_json_and_files_are_those_of_the_simulator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "four.toml"
    path.write_text(SCENARIO)
    out = tmp_path / "out"
    assert main(["run", str(path), "--on", "memory", "--json", "--out", str(out)]) == Exit.OK
    document = json.loads(capsys.readouterr().out)
    assert document["on"] == "memory"
    assert document["command"] == f"ndpstack run {path} --on memory"
    assert document["result"]["trace_hash"] is None
    assert {file.name for file in out.iterdir()} >= {"results.json", "report.html"}
    assert "on memory" in (out / "report.html").read_text()


def without_numbers(text: str) -> list[str]:
    """The tables that `ndpstack run` prints: headings, columns and rows, whatever they say."""
    lines = text.splitlines()
    tables = lines[lines.index("Completion") :]
    return [re.sub(r"[ -]+", " ", re.sub(r"\d[\d.,]*", "#", line)) for line in tables]


@needs_root
def test_one_scenario_fills_one_table_in_every_world(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same file, the same rows and columns, every message there."""
    path = tmp_path / "four.toml"
    path.write_text(SCENARIO)
    tables = {}
    for world in ("sim", "memory", "netns"):
        assert main(["run", str(path), "--on", world]) == Exit.OK
        text = capsys.readouterr().out
        assert "9 of 9 flows ended" in text
        tables[world] = without_numbers(text)
    assert len(tables["sim"]) > 12
    assert tables["memory"] == tables["sim"]
    assert tables["netns"] == tables["sim"]


@needs_root
def test_nothing_is_left_of_a_run() -> None:
    Replay(scenario("traffic.0.repeat=1"), "netns").run()
    assert os.getpid() not in {state.owner for state in labs().values()}
