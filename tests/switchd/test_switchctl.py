"""switchctl against a daemon: what it prints, its exit codes, its remedies."""

from __future__ import annotations

import dataclasses
import io
import json
import shlex
import sys
import threading
import time
from typing import TYPE_CHECKING, get_args, get_type_hints

import pytest

from ndpstack.switch import Address
from switchd.config import Daemon, Faults
from switchd.switchctl import EXIT_CODES, build_parser, main
from switchd.switchctl._main import NO_FAULTS, VIEWS, expand
from switchd.switchctl._output import FORMATS
from switchd.switchctl._top import sample, screen

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from running_daemon import RunningDaemon


class Tool:
    """switchctl for one daemon."""

    def __init__(self, daemon: RunningDaemon, capsys: pytest.CaptureFixture[str]) -> None:
        self._socket, self._capsys = str(daemon.folder / "control.sock"), capsys

    def __call__(self, *argv: str, code: int = 0) -> str:
        """What a command prints; stderr when it fails."""
        assert main(["--socket", self._socket, *argv]) == code
        out, err = self._capsys.readouterr()
        return err if code else out


@pytest.fixture
def tool(daemon: RunningDaemon, capsys: pytest.CaptureFixture[str]) -> Tool:
    return Tool(daemon, capsys)


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_in_every_form(tool: Tool, view: str) -> None:
    assert tool("show", view)
    document = json.loads(tool("-o", "json", "show", view))
    assert document["schema_version"] == 1
    assert view.replace("-", "_") in document
    for word in shlex.split(tool("-o", "keyvalue", "show", view)):
        assert word.startswith(f"{view}.")
        assert "=" in word


CHANGES = (
    ("set", "switch.tor0.port.h1.rate=5Gbit"),
    ("diff",),
    ("unset", "switch.tor0.port.h1.rate"),
    ("fault", "tor0/h1", "loss=1%"),
    ("fault", "tor0/h1", "off"),
    ("mirror", "tor0", "m0", "--source", "h1", "--file", "m0.pcapng"),
    ("mirror", "tor0", "m0", "--remove"),
    ("clear", "counters"),
    ("clear", "watermarks"),
    ("log", "switchd.control", "info"),
    ("save",),
    ("reload", "--dry-run"),
    ("reload",),
)
"""One of each command that changes something, in an order in which all of them can."""

ELSEWHERE = {"show", "capture", "events", "batch", "top", "doctor", "completion"}
"""Commands with tests of their own."""


@pytest.mark.parametrize("form", FORMATS)
def test_every_change_in_every_form(tool: Tool, form: str) -> None:
    for command in CHANGES:
        printed = tool("-o", form, *command)
        if form == "json":
            assert json.loads(printed)["schema_version"] == 1, command
        elif form == "keyvalue":
            assert all("=" in word for word in shlex.split(printed)), command


def test_no_command_is_without_a_test() -> None:
    (known,) = (set(a.choices) for a in build_parser()._actions if isinstance(a.choices, dict))
    assert {command[0] for command in CHANGES} | ELSEWHERE == known


def test_a_watch_shows_again_and_again_until_it_is_interrupted(
    tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = []

    def turn(seconds: float) -> None:
        turns.append(seconds)
        if len(turns) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("switchd.switchctl._main.time.sleep", turn)
    tool("--watch", "0.5", "-o", "json", "show", "ports", code=130)
    assert turns == [0.5] * 3


def test_tables_are_for_people(tool: Tool, daemon: RunningDaemon) -> None:
    daemon.plane.switches["tor0"].ports["h1"].counters["port"]["rx_frames"] = 1234567
    lines = tool("show", "ports", "--port", "h1").splitlines()
    assert lines[0].split()[:4] == ["switch", "port", "state", "backend"]
    assert "10Gbit" in lines[2]
    assert "1,234,567" in lines[2]
    assert len(lines) == 3
    assert "reason" not in lines[0], "a column in which nothing stands is left out"
    assert tool("show", "queues", "--switch", "tor1") == "none\n"
    assert "h1" in tool("show", "drops", "--switch", "tor0", "--port", "h1")


def test_changes_read_like_a_diff(tool: Tool) -> None:
    assert tool("reload", "--dry-run") == "nothing changes\n"
    text = tool("set", "--dry-run", "switch.tor0.port.h1.rate=5Gbit")
    assert text.splitlines() == [
        "change  port tor0/h1  (changes in place; sockets and counters stay)",
        "        rate_bps: 10000000000 -> 5000000000",
        "        phantom.rate_bps: 9500000000 -> 4750000000",
    ]
    tool("set", "switch.tor0.port.h1.rate=5Gbit")
    assert "# not saved (switchctl save):" in tool("show", "running-config")
    assert tool("save").startswith("written: ")
    assert "not saved" not in tool("show", "running-config")


def test_faults_come_and_go(tool: Tool, daemon: RunningDaemon) -> None:
    tool("fault", "tor0/h1", "loss=50%", "delay=5us")
    faults = daemon.plane.switches["tor0"].ports["h1"].plan.faults
    assert (faults.loss, faults.delay_ns) == (0.5, 5000)
    tool("fault", "tor0/h1", "off")
    assert daemon.plane.switches["tor0"].ports["h1"].plan.faults.loss == 0
    assert "like tor0/h1" in tool("fault", "h1", "off", code=2)
    assert "like loss=1%" in tool("fault", "tor0/h1", "loss", code=2)


def test_faults_are_those_that_are_given_whatever_the_file_says(
    tool: Tool, daemon: RunningDaemon
) -> None:
    text = daemon.path.read_text()
    added = 'profile = "homa"\nfaults = { loss = "1%", reorder_max = "7us" }'
    daemon.path.write_text(text.replace('profile = "homa"', added))
    tool("reload")
    tool("fault", "tor0/h2", "delay=5us", "reorder_max=9us")
    faults = daemon.plane.switches["tor0"].ports["h2"].plan.faults
    assert (faults.loss, faults.delay_ns, faults.reorder_ns_max) == (0, 5000, 9000)
    tool("fault", "tor0/h2", "off")
    faults = daemon.plane.switches["tor0"].ports["h2"].plan.faults
    assert (faults.loss, faults.delay_ns) == (0, 0)
    assert {*NO_FAULTS, "reorder_max"} == {field.name for field in dataclasses.fields(Faults)}


@pytest.mark.parametrize("port", ["tor0/h3", "tor1/h1"])
def test_a_fault_makes_no_port(tool: Tool, daemon: RunningDaemon, port: str) -> None:
    """A setting for a port that is not there takes the interface of its name."""
    assert "is no port; " in tool("fault", port, "off", code=2)
    assert [*daemon.plane.switches] == ["tor0"]
    assert [*daemon.plane.switches["tor0"].ports] == ["h1", "h2"]


def test_mirrors_come_and_go(tool: Tool, daemon: RunningDaemon, tmp_path: Path) -> None:
    file = tmp_path / "m.pcapng"
    limit = ("--limit", "256KiB")
    tool("mirror", "tor0", "m0", "--source", "h1", "h2", "--file", file.name, *limit)
    tap = daemon.plane.switches["tor0"].taps[0]
    assert (tap.ports, tap.snaplen) == (("h1", "h2"), 128)
    tap.blocks, tap.lost = [b"block", b"another"], 3
    deadline = time.monotonic() + 5
    while file.read_bytes() != b"<h1,h2>blockanother":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    mirror = json.loads(tool("-o", "json", "show", "mirrors"))["mirrors"][0]
    assert (mirror["bytes"], mirror["lost"], mirror["state"]) == (19, 3, "running")
    tap.blocks = [bytes(2**14)] * 17
    while json.loads(tool("-o", "json", "show", "mirrors"))["mirrors"][0]["state"] != "full":
        assert time.monotonic() < deadline
    assert file.stat().st_size == 19 + 15 * 2**14
    tool("mirror", "tor0", "m0", "--remove")
    assert tap.closed
    assert tool("show", "mirrors") == "none\n"
    assert "needs --source" in tool("mirror", "tor0", "m0", code=2)


def test_a_capture_is_pcapng(
    tool: Tool, daemon: RunningDaemon, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taps = daemon.plane.switches["tor0"].taps
    feeder = threading.Thread(target=feed, args=(daemon,))
    feeder.start()
    file = tmp_path / "c.pcapng"
    tool("capture", "tor0", "-w", str(file), "--seconds", "0.5")
    feeder.join()
    assert file.read_bytes() == b"<h1,h2>" + b"a" * 14
    assert taps[0].closed
    assert "pipe them" in tool_on_a_terminal(daemon, capsys)


def test_a_capture_that_is_refused_leaves_the_file_alone(tool: Tool, tmp_path: Path) -> None:
    file = tmp_path / "c.pcapng"
    file.write_bytes(b"evidence")
    assert "is no port" in tool("capture", "tor0", "h9", "-w", str(file), code=1)
    assert file.read_bytes() == b"evidence"


def test_a_file_that_cannot_be_written_ends_its_capture(
    tool: Tool, daemon: RunningDaemon, tmp_path: Path
) -> None:
    file = tmp_path / "c.pcapng"
    commands = tmp_path / "commands"
    capture = "capture tor0 {} -w {} --seconds 0.1\n"
    commands.write_text(capture.format("h1", tmp_path) + capture.format("h2", file))
    tool("batch", str(commands), code=2)
    assert file.read_bytes() == b"<h2>"
    assert [tap.closed for tap in daemon.plane.switches["tor0"].taps] == [True, True]


def feed(daemon: RunningDaemon) -> None:
    """Puts a frame into the first tap that there is."""
    taps = daemon.plane.switches["tor0"].taps
    deadline = time.monotonic() + 5
    while not taps and time.monotonic() < deadline:
        time.sleep(0.001)
    taps[0].blocks = [b"a" * 14]


def tool_on_a_terminal(daemon: RunningDaemon, capsys: pytest.CaptureFixture[str]) -> str:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    before, sys.stdout = sys.stdout, Terminal()
    try:
        assert (
            main(["--socket", str(daemon.folder / "control.sock"), "capture", "tor0", "-w", "-"])
            == 2
        )
    finally:
        sys.stdout = before
    return capsys.readouterr().err


def test_top_shows_rates(daemon: RunningDaemon) -> None:
    counters = daemon.plane.switches["tor0"].ports["h1"].counters
    with daemon.client() as client:
        before = sample(client)
        counters["port"]["tx_bytes"] += 1_000_000
        counters["queue"]["trimmed_packets"] += 500
        now = sample(client)
    text = screen(before, now)
    assert "audit ok" in text
    line = next(line for line in text.splitlines() if line.startswith("tor0    h1"))
    assert "bit" in line


def test_top_and_completion_name_what_is_missing(
    tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "needs a terminal" in tool("top", code=2)
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert "pip install 'ndpstack[cli]'" in tool("completion", "bash", code=2)


def test_exit_codes(tool: Tool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(EXIT_CODES) == {0, 1, 2, 3, 130}
    assert "did you mean 'rate'" in tool("set", "switch.tor0.port.h1.raet=1Gbit", code=1)
    assert tool("set", "rate", code=1).startswith("switchctl: rate: write it like KEY=VALUE")
    assert main(["--socket", str(tmp_path / "none.sock"), "show", "ports"]) == 3
    assert "start it: systemctl start switchd" in capsys.readouterr().err
    with pytest.raises(SystemExit) as caught:
        tool("show", "prots")
    assert caught.value.code == 2
    assert main([]) == 2


@pytest.mark.parametrize(
    "argv",
    [
        ("--watch", "-1", "show", "status"),
        ("--watch", "0", "show", "status"),
        ("--timeout", "nan", "show", "status"),
        ("top", "--seconds", "-1"),
        ("capture", "tor0", "-w", "none.pcapng", "--seconds", "0"),
        ("events", "--seconds", "-1"),
    ],
)
def test_times_that_are_none_are_named(argv: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2


def test_closed_standard_files_are_no_reason_to_fail(
    tool: Tool, daemon: RunningDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as closed:
        closed.setattr(sys, "stdout", None)
        for command in (["show", "ports"], ["show", "events"], ["completion", "bash"]):
            assert main(["--socket", str(daemon.folder / "control.sock"), *command]) == 0
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input is closed" in tool("batch", "-", code=2)


def test_an_address_without_a_port_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for address in ("127.0.0.1", "127.0.0.1:65536", f"127.0.0.1:{'9' * 5000}"):
        assert main(["--socket", address, "show", "status"]) == 3
        assert "neither a path nor ADDRESS:PORT" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ("capture", "tor0", "-w", "-", "--snaplen", "9" * 20),
        ("set", "switch.\udcff=1"),  # As Python has an argument with a byte of no text.
    ],
)
def test_what_cannot_be_sent_is_refused(tool: Tool, command: tuple[str, ...]) -> None:
    """It ended in a traceback."""
    assert "numbers have 64 bits, texts are UTF-8" in tool(*command, code=2)


def test_rows_of_one_port(tool: Tool) -> None:
    for name in ("h1", "tor0/h1"):
        assert [row["port"] for row in document(tool, "show", "port", name)] == ["h1"]
    assert len(document(tool, "show", "ports", "tor0")) == 2
    assert document(tool, "show", "ports", "tor1/h1") == []


@pytest.mark.parametrize("name", ["h2", "tor0/h2", "tor0"])
def test_every_view_knows_its_ports(tool: Tool, daemon: RunningDaemon, name: str) -> None:
    """One that did not said "none" of a port that it had rows of."""
    daemon.plane.switches["tor0"].entries = [Address("02:00:00:00:00:01", 0, "h2", True, 0)]
    tool("set", "host.b.port=tor0/h2")
    tool("mirror", "tor0", "m0", "--source", "h1", "h2", "--file", "m0.pcapng")
    daemon.daemon.manager.events.add("link", "tor0/h2", "down")
    tool("set", "switch.tor0.port.h2.rate=5Gbit")
    assert "b" in [row["host"] for row in document(tool, "show", "hosts", name)]
    assert [row["id"] for row in document(tool, "show", "paths", name)] == [1]
    assert [row["mirror"] for row in document(tool, "show", "mirrors", name)] == ["m0"]
    assert [row["to"] for row in document(tool, "show", "fdb", name)] == ["h2"]
    events = [row["what"] for row in document(tool, "show", "events", name)]
    assert {"tor0/h2", "port tor0/h2"} <= {*events}
    assert "daemon" not in events
    for view in ("hosts", "paths", "mirrors", "fdb", "events"):
        assert document(tool, "show", view, "h9") == []


def test_only_what_counted_something(tool: Tool, daemon: RunningDaemon) -> None:
    views = ("ports", "trim", "ecn", "phantom", "drops", "counters")
    assert [document(tool, "show", view, "--nonzero") for view in views] == [[]] * len(views)
    counters = daemon.plane.switches["tor0"].ports["h1"].counters
    counters["port"]["rx_frames"] = 1
    assert [row["port"] for row in document(tool, "show", "ports", "--nonzero")] == ["h1"]


def document(tool: Tool, *argv: str) -> list[dict[str, object]]:
    """The rows of an answer."""
    shown = json.loads(tool("-o", "json", *argv))
    return next(value for key, value in shown.items() if key != "schema_version")


def test_a_diff_is_a_reload_that_does_not_happen(tool: Tool, daemon: RunningDaemon) -> None:
    daemon.path.write_text(daemon.path.read_text().replace("10Gbit", "1Gbit"))
    assert "rate_bps: 10000000000 -> 1000000000" in tool("diff")
    assert daemon.plane.switches["tor0"].ports["h1"].plan.rate_bps == 10**10


def test_events_are_kept_and_told(tool: Tool, daemon: RunningDaemon) -> None:
    with daemon.client() as client:
        assert client.call("events") == client.call("show.events")
        daemon.daemon.manager.link_changed("", "nobody", up=False)
        client.call("set", items=["switch.tor0.port.h1.rate=5Gbit"])
        told: list[Mapping[str, object]] = []
        while not told:
            told += [message.params for message in client.notifications(5)]
    assert (told[0]["kind"], told[0]["what"]) == ("config", "port tor0/h1")
    assert "5000000000" in str(told[0]["text"])
    lines = tool("-o", "json", "events", "--seconds", "0").splitlines()
    assert [json.loads(line)["what"] for line in lines] == ["daemon", "port tor0/h1"]
    assert "config  port tor0/h1  change" in tool("events", "--seconds", "0")
    assert "started: 1 switch with 2 ports" in tool("show", "events")


def test_a_batch_runs_line_by_line(tool: Tool, daemon: RunningDaemon, tmp_path: Path) -> None:
    path = tmp_path / "commands"
    path.write_text("""
# what a line begins with abbreviates, as on the command line
set switch.tor0.port.h1.rate=5Gbit   # and comments may follow
set switch.tor0.port.h1.raet=5Gbit
sh version
""")
    assert "line 4: " in tool("batch", str(path), code=1)
    assert daemon.plane.switches["tor0"].ports["h1"].plan.rate_bps == 5 * 10**9
    path.write_text("show version\nfrobnicate\nshow status\n")
    tool("batch", "-e", str(path), code=2)
    path.write_text("top\n")
    assert "no command for a batch" in tool("batch", str(path), code=2)
    path.write_text("show version\nshow status\n")
    assert "uptime" in tool("batch", str(path))
    assert "cannot be read" in tool("batch", str(tmp_path / "none"), code=2)


def test_the_doctor_looks_at_the_daemon_and_its_ports(
    tool: Tool, daemon: RunningDaemon, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def findings(code: int) -> dict[str, dict[str, object]]:
        socket = str(daemon.folder / "control.sock")
        assert main(["--socket", socket, "-o", "json", "doctor"]) in (code, 1)
        shown = json.loads(capsys.readouterr().out)["findings"]
        return {item["check"]: item for item in shown}

    found = findings(0)
    assert found["audit"]["status"] == "ok"
    assert found["port tor0/h1"]["status"] == "ok"
    port = daemon.plane.switches["tor0"].ports["h2"]
    port.state, port.reason = "down", "no peer"
    tool("set", "switch.tor0.port.h1.rate=5Gbit")
    found = findings(1)
    assert (found["port tor0/h2"]["status"], found["port tor0/h2"]["text"]) == (
        "fail",
        "down: no peer",
    )
    assert found["daemon"]["remedy"] == "switchctl save"
    assert main(["--socket", str(daemon.folder / "control.sock"), "-o", "keyvalue", "doctor"]) == 1
    lines = shlex.split(capsys.readouterr().out)
    assert {"findings.0.check=kernel", "findings.0.interface="} <= {*lines}
    assert all(line.startswith("findings.") for line in lines)
    assert main(["--socket", str(tmp_path / "none.sock"), "doctor"]) == 1
    assert "start it: systemctl start switchd\n" in capsys.readouterr().out


def test_words_may_be_abbreviated() -> None:
    assert expand(["sh", "po"]) == ["show", "ports"]
    assert expand(["--socket", "s", "-o", "json", "rel"]) == [
        "--socket",
        "s",
        "-o",
        "json",
        "reload",
    ]
    assert expand(["s", "p"]) == ["s", "p"], "not unique: argparse refuses it"
    assert expand(["sh", "p"]) == ["show", "p"]


def test_levels_and_clearing(tool: Tool) -> None:
    for level in get_args(get_type_hints(Daemon)["log"]):
        assert level in tool("log", "switchd.control", level), "as the file takes it"
    assert tool("clear") == ""
    assert tool("clear", "watermarks") == ""
    tool("log", "switchd.control", "info")


def test_a_level_outlives_changes_of_other_things(tool: Tool) -> None:
    tool("log", "error")
    tool("set", "switch.tor0.port.h1.rate=5Gbit")
    tool("reload")
    assert document(tool, "show", "log")[0] == {"logger": "switchd", "level": "error"}
    tool("set", "daemon.log=warning")
    assert document(tool, "show", "log")[0] == {"logger": "switchd", "level": "warning"}


def test_every_command_has_help() -> None:
    for action in build_parser()._actions:
        if isinstance(action.choices, dict):
            for name, parser in action.choices.items():
                assert parser.description, name


def test_completion_scripts_know_commands(tool: Tool) -> None:
    assert "running-config" in tool("completion", "bash")
