"""`ndpstack run`: tables, JSON, files, exit codes."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING

import pytest

from ndpstack.cli import main
from ndpstack.cli._exit import Exit
from ndpstack.cli._progress import line, share_done
from ndpstack.decode import read_capture
from ndpstack.scenario import load_scenario
from ndpstack.sim import Progress, Simulation, Status
from ndpstack.toml import Picoseconds

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
title = "eight hosts, everyone to one other"
[topology]
kind = "single-switch"
hosts = 8
[switch.queue]
discipline = "strict"
[transport.homa]
[[traffic]]
kind = "permutation"
size = "20KB"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "eight.toml"
    path.write_text(SCENARIO)
    return str(path)


def test_tables_name_their_units(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    """T7: every column has its unit."""
    assert main(["run", scenario]) == Exit.OK
    out = capsys.readouterr().out
    assert out.startswith("eight hosts, everyone to one other  (seed 1, 8 hosts, trace ")
    for words in ("completion time [us]", "mean [Gbit/s]", "trimmed [pkt]", "8 of 8 flows"):
        assert words in out


def test_json_is_the_same_for_the_same_seed(
    scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = []
    for seed in ("1", "1", "2"):
        assert main(["run", scenario, "--json", "--seed", seed]) == Exit.OK
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert (
        json.loads(outputs[0])["result"]["trace_hash"]
        != (json.loads(outputs[2])["result"]["trace_hash"])
    )
    assert json.loads(outputs[2])["command"] == f"ndpstack run {scenario} --set seed=2"


def test_unfinished_flows_are_listed_and_are_no_success(
    scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that cannot finish says so."""
    assert main(["run", scenario, "--set", "duration=3us"]) == Exit.UNFINISHED
    out = capsys.readouterr().out
    assert "Unfinished flows: 8" in out
    assert "0 of 8 flows ended by 3us" in out


def test_a_flow_whose_source_does_not_know_has_not_ended_and_is_complete(
    scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Simulation(load_scenario(scenario))
    run.run()
    received, done = int(run.rows["received_ps"].max()), int(run.rows["done_ps"].max())
    last = f"duration={(received + done) // 2}ps"
    assert main(["run", scenario, "--set", last]) == Exit.UNFINISHED
    out = capsys.readouterr().out
    assert "received" in out
    assert "of 8 flows ended by" in out
    assert re.search(r"^complete flows +count", out, re.MULTILINE)
    assert re.search(r"^completion time \[us\] +8 ", out, re.MULTILINE)


def test_background_flows_that_end_are_not_said_to_have_none(
    scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--set", "traffic.0.background=true", "--set", "duration=1ms"]
    assert main(["run", scenario, *words]) == Exit.OK
    assert "8 background flows ran until 1ms" in capsys.readouterr().out


def test_a_broken_invariant_is_something_found_wrong(
    scenario: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Simulation, "run", _break)
    monkeypatch.setattr(Simulation, "error", "queue 3: bytes are missing")
    assert main(["run", scenario]) == Exit.FAILED
    assert "sim: queue 3: bytes are missing" in capsys.readouterr().err


def _break(simulation: Simulation, *_arguments: object, **_options: object) -> Status:
    simulation.status = Status.BROKEN
    return simulation.status


def test_files_of_an_earlier_run_do_not_stay_among_those_of_the_next(
    scenario: str, tmp_path: Path
) -> None:
    words = ["run", scenario, "--out", str(tmp_path), "--json"]
    probes = ["probes.timeline=50", "probes.goodput=2us", "probes.queues=true"]
    (tmp_path / "notes.txt").touch()
    assert main([*words, *(word for probe in probes for word in ("--set", probe))]) == Exit.OK
    first = {path.name for path in tmp_path.iterdir()}
    assert main(words) == Exit.OK
    gone = first - {path.name for path in tmp_path.iterdir()}
    assert {name.split(".")[0] for name in gone} == {"timeline", "goodput", "ports"}


def test_files_are_written(scenario: str, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    sets = ["--set", "probes.timeline=50", "--set", "probes.goodput=2us"]
    assert main(["run", scenario, "--out", str(out), "--json", *sets]) == Exit.OK
    results = json.loads((out / "results.json").read_text())
    assert results["result"]["finished"] == 8
    with (out / "flows.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    assert all(float(row["fct_us"]) > 16 and row["state"] == "done" for row in rows)
    timeline = json.loads((out / "timeline.json").read_text())
    assert {event["ph"] for event in timeline["traceEvents"]} == {"X", "i", "M"}
    starts = [event["ts"] for event in timeline["traceEvents"] if "ts" in event]
    assert len(starts) == 50
    assert starts == sorted(starts)
    assert 1 < starts[-1] < results["result"]["time_ps"] / 1e6


def test_tables_of_ports_and_goodput(scenario: str, tmp_path: Path) -> None:
    """What the probes saw, a line for each port, and for each bin of each host."""
    out = tmp_path / "out"
    sets = ["--set", "probes.queues=true", "--set", "probes.goodput=2us"]
    assert main(["run", scenario, "--out", str(out), "--json", *sets]) == Exit.OK
    with (out / "ports.csv").open() as file:
        ports = list(csv.DictReader(file))
    assert [row["port"] for row in ports] == [f"edge 0 -> host {host}" for host in range(8)]
    assert {row["leads"] for row in ports} == {"edge-down"}
    assert all(int(row["enqueued_packets"]) > 2 for row in ports)
    assert all(float(row["mean_bytes"]) <= float(row["max_bytes"]) for row in ports)
    with (out / "goodput.csv").open() as file:
        bins = list(csv.DictReader(file))
    for host in range(8):
        mine = [row for row in bins if row["host"] == str(host)]
        assert sum(int(row["bytes"]) for row in mine) == 20_000
        assert [float(row["start_us"]) for row in mine] == [2.0 * i for i in range(len(mine))]


CAPTURE = """
[probes.capture]
between = ["edge 0", "host 0"]
"""


def test_a_capture_lies_in_the_output_folder(tmp_path: Path) -> None:
    path = tmp_path / "eight.toml"
    path.write_text(SCENARIO + CAPTURE)
    out = tmp_path / "new" / "out"
    assert main(["run", str(path), "--out", str(out), "--json"]) == Exit.OK
    packets = list(read_capture(out / "capture.pcapng"))
    with (out / "flows.csv").open() as file:
        arrived = sum(int(r["packets"]) for r in csv.DictReader(file) if r["target"] == "0")
    assert len(packets) > arrived > 0


def test_a_capture_of_real_links_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "eight.toml"
    path.write_text(SCENARIO + CAPTURE)
    assert main(["run", str(path), "--on", "memory"]) == Exit.USAGE
    assert "`probes.capture` is simulated only" in capsys.readouterr().err


def test_the_report_stands_alone_and_repeats(scenario: str, tmp_path: Path) -> None:
    texts = []
    for name in ("a", "b"):
        main(["run", scenario, "--out", str(tmp_path / name), "--set", "probes.goodput=2us"])
        texts.append((tmp_path / name / "report.html").read_text())
    assert texts[0] == texts[1]
    assert texts[0].count("<svg") == 3
    assert "everyone to one other" in texts[0]
    assert f"ndpstack run {scenario} --set probes.goodput=2us" in texts[0]
    assert "src=" not in texts[0].replace("xlink", "")
    assert "kind = &quot;permutation&quot;" in texts[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.toml"], "none.toml: cannot read this scenario"),
        (["homa-w4", "--set", "topology.k=4"], "topology.k: unknown key"),
        (["homa-w4", "--set", "nonsense"], "nonsense: write it like KEY=VALUE"),
        (["homa-w4", "--seed", "-1"], "seed: -1 is not within 0 to"),
        (["permutation", "--set", "hosts.nic-packets=-1"], "nic-packets: -1 is not within 1 to"),
        (["homa-w4", "--set", "topology.spines=4294967296"], "spines: 4294967296 is not within"),
    ],
)
def test_mistakes_are_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *words]) == Exit.USAGE
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_port_of_kernel_tcp_holds_packets(
    scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["run", scenario, "--on", "netns", "--kernel-tcp", "-5"])
    assert "--kernel-tcp: '-5' is no count above 0" in capsys.readouterr().err


def test_an_output_folder_that_cannot_be_made_is_named(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["run", scenario, "--out", str(tmp_path / "file")]) == Exit.USAGE
    assert "choose another folder with --out" in capsys.readouterr().err


def test_the_output_folder_is_made_before_anything_runs(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A long run must not end with nowhere to put its results."""
    (tmp_path / "file").write_text("")
    words = ["run", scenario, "--out", str(tmp_path / "file"), "--kernel-tcp"]
    assert main(words) == Exit.USAGE
    assert "cannot be made" in capsys.readouterr().err


def test_an_output_folder_without_files_is_named_before_anything_runs(
    scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", scenario, "--out", "/proc", "--kernel-tcp"]) == Exit.USAGE
    assert "/proc: cannot write there" in capsys.readouterr().err


def test_progress_counts_flows_or_time_whichever_is_further() -> None:
    progress = Progress(Picoseconds(5 * 10**9), Picoseconds(10**10), 100, 80, 10**6, 0.5)
    assert share_done(progress) == pytest.approx(0.5)
    assert line(progress) == (
        "[###############...............]  50%  5ms  20/100 flows  2.0 M events/s"
    )
