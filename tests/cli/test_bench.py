"""`ndpstack bench`: who takes part, what is printed, and what is said of those that fail."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from timed import check_time

from ndpstack.bench import KINDS, Kind, processor
from ndpstack.bench._blocking import HomaInUdp
from ndpstack.bench._incast import Waits, beside_incast, incast_document, incast_table
from ndpstack.bench._kinds import INCAST_PEERS, NOT_BESIDE_INCAST, Entry
from ndpstack.bench._plot import incast_bars, write_plot
from ndpstack.bench._rounds import Figures
from ndpstack.bench._turn import Sample, Turn
from ndpstack.cli import main
from ndpstack.cli._exit import Exit
from ndpstack.testbed import why_unavailable

if TYPE_CHECKING:
    from pathlib import Path

Rows = dict[str, dict[str, object]]

ECHO_OF_UDP_MAX = 5
"""Our blocking echo may take so many times the kernel's UDP echo, on two CPUs."""


def bench(capfd: pytest.CaptureFixture[str], *words: str, code: int = Exit.OK) -> Rows:
    """Runs it on memory, briefly; returns the rows by contestant."""
    argv = ["bench", *words, "--on", "memory", "--rounds", "1", "--json"]
    assert main(argv) == code
    document = json.loads(capfd.readouterr().out)
    assert document["schema_version"] == 1
    assert document["environment"]["link"] == "ours: shared memory; the others: loopback"
    assert any("not the same link" in text for text in document["degraded"])
    return cast("Rows", document["contestants"])


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        ("latency", ["--count", "20"]),
        ("throughput", ["--count", "3", "--size", "100000"]),
        ("rpc", ["--count", "64"]),
    ],
)
def test_all_of_a_kind_finish(
    capfd: pytest.CaptureFixture[str], kind: str, numbers: list[str]
) -> None:
    """T6, T7: every row has its figures, and the environment stands above them."""
    rows = bench(capfd, kind, *numbers)
    assert list(rows) == [*KINDS[kind].ours, *KINDS[kind].peers]
    for name, row in rows.items():
        assert row["error"] == "", name
        rounds = cast("list[dict[str, float]]", row["rounds"])
        assert len(rounds) == 1
        for one in rounds:
            assert 0 < one["p50_us"] <= one["p99_us"]
            assert one["requests_per_s"] > 0
    for name in KINDS[kind].ours:
        assert rows[name]["mode"] == ("udp" if name == "homa-udp" else "memory")


def test_servers_over_udp_sockets_do_not_meet() -> None:
    """Whoever else measures, or has a port, on this machine."""
    ports: list[int] = []
    turn = Turn(
        kind="throughput",
        contestant="homa-udp",
        request_bytes=1,
        reply_bytes=1,
        count=1,
        outstanding=1,
        world="memory",
        link="",
        server="10.0.0.1",
        client="10.0.0.2",
        kernel="127.0.0.1",
        mtu=1500,
    )

    def ready(port: int) -> None:
        ports.append(port)
        if len(ports) == 1:
            HomaInUdp().serve(turn, ready)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        HomaInUdp().serve(turn, ready)
    assert len(set(ports)) == 2


def test_processors_of_one_name_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clouds call several generations by one name; family and model tell which was measured."""
    cpuinfo = tmp_path / "cpuinfo"
    monkeypatch.setattr("ndpstack.bench._environment.CPUINFO", cpuinfo)
    cpuinfo.write_text("model name\t: Some CPU\ncpu family\t: 25\nmodel\t: 1\n\nmodel\t: 9\n")
    assert processor() == "Some CPU (family 25, model 1)"
    cpuinfo.write_text("processor\t: 0\n")
    assert processor() == platform.machine()


def test_one_that_fails_is_named_with_its_end_and_its_words(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """T27: no bare timeout; the others have their figures all the same."""
    words = ("latency", "--count", "5", "--size", "100000", "--against", "udp,tcp")
    rows = bench(capfd, *words, code=Exit.FAILED)
    assert rows["udp"]["rounds"] == [None]
    assert rows["udp"]["error"] == "the client failed: OSError: [Errno 90] Message too long"
    assert rows["tcp"]["error"] == ""


def test_the_table_says_what_it_was_measured_on(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plot = tmp_path / "latency.svg"
    argv = ["bench", "latency", "--on", "memory", "--rounds", "1", "--count", "20"]
    assert main([*argv, "--against", "udp", "--plot", str(plot)]) == Exit.OK
    text = capfd.readouterr().out
    for part in ("machine:", "kernel:", "profile:   adaptive", "64 B there, 64 B back", "p50 [us]"):
        assert part in text
    assert text.index("our ports: memory") < text.index("64 B there")
    assert "UDP, blocking" in plot.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["latency", "--outstanding", "8"], "ndpstack bench rpc"),
        (["rpc", "--count", "1"], "--count 1: from 2"),
        (["throughput", "--size", "0"], "--size 0: from 1"),
        (["latency", "--on", "memory", "--mtu", "9000"], "leave out --on memory"),
        (["rpc", "--rounds", "0"], "--rounds 0: at least 1"),
        (["latency", "--plot", "x.nothing"], "--plot x.nothing: its name has to end in .svg"),
        (["incast", "--plot", "nowhere/x.svg"], "--plot nowhere/x.svg: there is no folder nowhere"),
        (["incast", "--plot", "/proc/x.svg"], "--plot /proc/x.svg: cannot write there"),
    ],
)  # fmt: skip
def test_mistakes_are_named(capfd: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    """Before anything is measured."""
    assert main(["bench", *words]) == Exit.USAGE
    text = capfd.readouterr()
    assert said in text.err
    assert "p50" not in text.out


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("latency", "carrier-pigeon", "'carrier-pigeon': there are udp, tcp, uvloop, zmq, grpc"),
        ("throughput", "udp", "'udp': there are tcp, uvloop, zmq, grpc"),
        ("incast", "carrier-pigeon", "'carrier-pigeon': there are tcp"),
        *(("incast", name, f"{name} cannot be measured here: ") for name in NOT_BESIDE_INCAST),
    ],
)
def test_who_is_no_peer_is_named(
    capsys: pytest.CaptureFixture[str], kind: str, name: str, said: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["bench", kind, "--against", f"tcp,{name}"])
    assert caught.value.code == Exit.USAGE
    assert f"argument --against: {said}" in capsys.readouterr().err


def test_every_peer_is_measured_beside_an_incast_or_has_a_reason() -> None:
    every = {name for kind in KINDS.values() for name in kind.peers}
    assert every == {*INCAST_PEERS, *NOT_BESIDE_INCAST}


def test_a_peer_that_is_named_twice_takes_part_once(capfd: pytest.CaptureFixture[str]) -> None:
    rows = bench(capfd, "latency", "--count", "2", "--against", "udp,udp")
    assert [len(cast("list[object]", row["rounds"])) for row in rows.values()] == [1] * 4


def test_no_tail_is_longer_than_the_longest() -> None:
    figures = Figures.of(Sample(1.0, [*map(float, range(1, 10)), 100.0]), 64)
    assert 9 < figures.p99_us <= 100


def test_a_measurement_outlives_a_plot_that_cannot_be_written(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["latency", "--on", "memory", "--rounds", "1", "--count", "2", "--against", "udp"]
    (tmp_path / "x.svg").mkdir()
    assert main(["bench", *words, "--plot", str(tmp_path / "x.svg")]) == Exit.USAGE
    text = capfd.readouterr()
    assert "UDP, blocking" in text.out
    assert "Is a directory" in text.err


def test_a_peer_that_is_not_installed_is_left_out_with_the_command() -> None:
    entry = Entry("Nothing", "_blocking:Udp", "nothing-at-all", "nothing_at_all")
    kind = Kind(
        summary="",
        ours={},
        peers={"nothing": entry, **KINDS["latency"].peers},
        request_bytes=1,
        reply_bytes=1,
        count=1,
    )
    names, notes = kind.choose(["nothing", "udp"])
    assert names == ["udp"]
    assert notes == ["nothing is left out: pip install nothing-at-all, or 'ndpstack[bench]'"]


def test_waits_without_an_answer_are_counted() -> None:
    waits = Waits.of("Homa", np.array([1.0, 2.0, np.nan, 3.0]))
    assert (waits.requests, waits.unanswered, waits.p50_ms, waits.max_ms) == (4, 1, 2.0, 3.0)
    lost = Waits.of("kernel TCP", np.array([np.nan]))
    rows = cast("list[dict[str, object]]", incast_document([waits, lost])["contestants"])
    assert rows[1]["p99_ms"] is None
    assert "unanswered" in incast_table([waits, lost])


def test_waits_are_drawn(tmp_path: Path) -> None:
    waits = Waits.of("Homa", np.array([1.0, 2.0, 3.0]))
    lost = Waits.of("kernel TCP", np.array([np.nan]))
    bars = incast_bars([waits, lost])
    assert [(bar.title, bar.value, bar.is_ours) for bar in bars] == [("Homa", 2.0, True)]
    write_plot(tmp_path / "x.svg", "waits", "ms", bars)
    assert "Homa" in (tmp_path / "x.svg").read_text()


NAMESPACES = pytest.mark.skipif(bool(why_unavailable()), reason=str(why_unavailable()))


@NAMESPACES
def test_on_one_veth_pair(capfd: pytest.CaptureFixture[str]) -> None:
    argv = ["bench", "latency", "--rounds", "1", "--count", "20", "--against", "udp", "--json"]
    assert main(argv) == Exit.OK
    document = json.loads(capfd.readouterr().out)
    assert document["environment"]["link"].startswith("one veth pair")
    rows = document["contestants"]
    assert rows["homa"]["mode"].startswith("xdp")
    assert all(row["error"] == "" for row in rows.values())


@NAMESPACES
def test_jumbo_frames_are_everybodys_and_said(capfd: pytest.CaptureFixture[str]) -> None:
    argv = ["bench", "throughput", "--rounds", "1", "--count", "3", "--against", "tcp", "--json"]
    assert main([*argv, "--mtu", "9000"]) == Exit.OK
    document = json.loads(capfd.readouterr().out)
    assert "MTU 9000" in document["environment"]["link"]
    rows = document["contestants"]
    assert "multi-buffer" in rows["homa"]["mode"]
    assert all(row["error"] == "" for row in rows.values())


@NAMESPACES
def test_an_mtu_that_no_link_has_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "latency", "--mtu", "0"]) == Exit.USAGE
    assert "MTU 0 B is not in 1280..9216 B" in capfd.readouterr().err


@NAMESPACES
@pytest.mark.timed
def test_the_default_profile_keeps_up_with_the_kernel(capfd: pytest.CaptureFixture[str]) -> None:
    """T13: nobody who leaves everything as it is gets a stack that dozes."""
    argv = ["bench", "latency", "--rounds", "3", "--count", "200", "--against", "udp", "--json"]
    assert main(argv) == Exit.OK
    document = json.loads(capfd.readouterr().out)
    assert document["environment"]["profile"].startswith("adaptive")
    middle = {
        name: sorted(one["p50_us"] for one in row["rounds"])[1]
        for name, row in document["contestants"].items()
    }
    check_time(middle["homa"], ECHO_OF_UDP_MAX * middle["udp"])


@NAMESPACES
def test_requests_beside_an_incast_are_answered() -> None:
    small = ["topology.hosts=6", "traffic.0.senders=4", "traffic.0.repeat=1"]
    small += ["traffic.1.source=5", "traffic.1.repeat=4"]
    told: list[str] = []
    waits = beside_incast(1, lambda _share, name: told.append(name), small)
    assert told == ["Homa", "kernel TCP"]
    assert [(each.requests, each.unanswered) for each in waits] == [(4, 0), (4, 0)]


SAYS_MUCH = """
import signal
from ndpstack.bench._worker import say
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
say("x" * 1_000_000)
"""
"""Signals come while it waits for a reader."""


def test_a_worker_says_all_though_signals_come() -> None:
    argv = [sys.executable, "-P", "-u", "-c", SAYS_MUCH]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        worker.stdout.read(1)
        time.sleep(0.2)
        assert worker.stdout.read() == b"x" * 999_999 + b"\n"
