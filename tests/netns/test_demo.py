"""The demo in its short form: numbers within their bounds, one page, nothing left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from ndpstack.cli import main
from ndpstack.cli._exit import Exit
from ndpstack.demo import Demo
from ndpstack.testbed import labs, leftovers, why_unavailable

if TYPE_CHECKING:
    from pathlib import Path

needs_root = pytest.mark.skipif(bool(why_unavailable()), reason=str(why_unavailable()))

DEMO = "from ndpstack.cli import main; raise SystemExit(main(['demo', '--short', '--out', {!r}]))"


def check_page(page: Path, *titles: str) -> None:
    text = page.read_text()
    assert not re.search(r"(src|href)=['\"]?(https?:|/)", text), "it must need nothing else"
    for title in ("(a), (c) Incast", "(b) Requests", "Topology", "edge0", "h7", *titles):
        assert title in text, title
    assert text.count("<svg") >= 3
    assert "ndpstack run servers-incast --on" in text, "the command that repeats a run"


def test_without_privilege_it_runs_over_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--short", "--on", "memory", "--json", "--out", str(tmp_path)]) == Exit.OK
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 1
    assert document["on"] == "memory"
    incast, requests = document["tables"].values()
    assert [row["reply [KB]"] for row in incast] == [10, 30, 100, 300, 1000]
    assert [row["requests"] for row in requests] == ["Homa"]
    check_page(tmp_path / "demo-report.html")
    assert os.getpid() not in {state.owner for state in labs().values()}


def test_a_folder_that_cannot_be_made_is_named_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*_: object) -> None:
        pytest.fail("it ran")

    monkeypatch.setattr(Demo, "run", run)
    assert main(["demo", "--on", "memory", "--out", "/dev/null"]) == Exit.USAGE
    assert "/dev/null: cannot be made" in capsys.readouterr().err


@needs_root
@pytest.mark.timeout(300)
def test_the_demo_on_real_packets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """E-N08, E-X04: beside kernel TCP through the same switches, and with a cable that breaks."""
    assert main(["demo", "--short", "--json", "--out", str(tmp_path)]) == Exit.OK
    document = json.loads(capsys.readouterr().out)
    assert document["on"] == "netns"
    incast, requests, failure = document["tables"].values()
    assert [row["reply [KB]"] for row in incast] == [10, 30, 100, 300, 1000]
    homa, tcp = requests
    assert homa["count"] == tcp["count"]
    assert homa["short p50"] < tcp["short p50"]
    assert failure[0]["lost"] == failure[0]["corrupted"] == 0
    check_page(tmp_path / "demo-report.html", "(d) A cable goes down", "kernel TCP")


@needs_root
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_it_ends_nothing_is_left(tmp_path: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", DEMO.format(str(tmp_path))],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not (mine := [n for n, state in labs().items() if state.owner == process.pid]):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        process.wait(60)
    finally:
        process.kill()
        process.wait()
    deadline = time.monotonic() + 20
    while mine[0] in labs() or mine[0] in leftovers():
        assert time.monotonic() < deadline
        time.sleep(0.05)
