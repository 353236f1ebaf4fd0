"""The daemon as a process: systemd, rights, logs."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pwd
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from other_user import as_nobody

from ndpstack import _logs
from ndpstack._systemd import notify, watchdog_seconds
from switchd._baselines import since
from switchd._main import main
from switchd._process import KEPT, permitted, require_library
from switchd._sockets import Access, listening
from switchd._start import prepare
from switchd._threads import in_thread
from switchd.config import Config
from switchd.config import Daemon as DaemonSettings

if TYPE_CHECKING:
    from pathlib import Path

    from running_daemon import RunningDaemon


@pytest.mark.parametrize("abstract", [False, True])
def test_systemd_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, abstract: bool) -> None:
    name = f"\0ndpstack-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    assert not notify("READY=1")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(name)
        monkeypatch.setenv("NOTIFY_SOCKET", name.replace("\0", "@"))
        assert notify("READY=1", "STATUS=fine")
        assert sock.recv(100) == b"READY=1\nSTATUS=fine"
    if not abstract:
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
        assert not notify("READY=1")


def test_that_systemd_does_not_listen_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[tuple[object, ...]] = []
    monkeypatch.setattr("ndpstack._systemd.log.warning", lambda *words: said.append(words))
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    for _ in range(2):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.bind(str(tmp_path / "notify"))
            assert notify("WATCHDOG=1")
        assert not any(notify("WATCHDOG=1") for _ in range(3))
        (tmp_path / "notify").unlink()
    assert len(said) == 2


def test_the_watchdog_is_fed_if_it_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "10000000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    assert watchdog_seconds() == 10
    monkeypatch.setenv("WATCHDOG_PID", "1")
    assert watchdog_seconds() is None
    monkeypatch.setenv("WATCHDOG_USEC", "x")
    assert watchdog_seconds() is None


DROP = """
import os, sys, threading
from switchd._process import drop_privileges, permitted
drop_privileges(sys.argv[1], namespaces=sys.argv[2] == "yes")
found = []
thread = threading.Thread(target=lambda: found.append(permitted()))
thread.start(); thread.join()
assert found == [permitted()], "later threads have no more"
print(os.geteuid(), permitted())
"""


@pytest.mark.parametrize(("user", "namespaces"), [("", "no"), ("nobody", "no"), ("", "yes")])
def test_only_the_capabilities_that_are_needed_are_kept(user: str, namespaces: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("dropping privileges needs some: run as root")
    done = subprocess.run(
        [sys.executable, "-c", DROP, user, namespaces], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    uid, mask = map(int, done.stdout.split())
    wanted = {*KEPT, 21} if namespaces == "yes" else set(KEPT)
    assert {bit for bit in range(64) if mask >> bit & 1} == {
        bit for bit in wanted if permitted() >> bit & 1
    }
    assert (uid != 0) == bool(user)


def test_a_user_that_is_not_there_is_named() -> None:
    if os.geteuid() != 0:
        pytest.skip("becoming a user needs root")
    done = subprocess.run(
        [sys.executable, "-c", DROP, "nosuchuser", "no"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "create it: useradd -r nosuchuser" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a folder away needs root")
def test_a_library_that_the_user_may_not_read_is_named(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("becoming a user needs root")
    library = tmp_path / "os.py"
    library.touch(0o600)
    assert f"'nobody' may not read {library}, and the daemon imports from there" in as_nobody(
        lambda: require_library("nobody", [os.devnull, str(library)])
    )
    assert as_nobody(lambda: require_library("nobody", [os.devnull])) == "None"


def test_only_a_folder_that_is_made_is_given_to_the_user(tmp_path: Path) -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    for name, owner in (("there", 0), ("new", nobody)):
        folder = tmp_path / name
        if not owner:
            folder.mkdir()
        daemon = DaemonSettings(control=folder / "control.sock", user="nobody")
        prepare(Config(daemon=daemon))
        assert folder.stat().st_uid == owner


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming a user needs root")
def test_an_end_leaves_a_socket_where_the_user_may_not_write(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    try:
        with listening(str(path), Access()):
            os.seteuid(pwd.getpwnam("nobody").pw_uid)
    finally:
        os.seteuid(0)
    assert path.is_socket()
    with listening(str(path), Access()):
        pass
    assert not path.exists()


def record(
    message: str, level: int = logging.INFO, created: float | None = None
) -> logging.LogRecord:
    made = logging.LogRecord("switchd.x", level, "f", 1, message, None, None)
    if created is not None:
        made.created = created
    return made


@pytest.mark.parametrize("closed", [False, True])
def test_a_daemon_is_tethered_to_what_has_an_end(
    closed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open(os.devnull) as file:
        monkeypatch.setattr(sys, "stdin", None if closed else file)
        with pytest.raises(SystemExit) as caught:
            main(["--tethered"])
    assert caught.value.code == 2
    assert "standard input is no pipe or terminal" in capsys.readouterr().err


def test_ctrl_c_at_the_start_is_no_mistake(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(_: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("switchd._main.load", interrupt)
    assert main([]) == 130
    assert capsys.readouterr().err == "switchd: interrupted\n"


def test_lines_carry_priorities_for_the_journal() -> None:
    text = _logs.TextFormatter(journal=True).format(record("a\nb", logging.ERROR))
    assert text == "<3>switchd.x: a | b"
    assert "INFO a" in _logs.TextFormatter(journal=False).format(record("a"))
    entry = json.loads(_logs.JsonFormatter().format(record("a")))
    assert (entry["level"], entry["logger"], entry["message"]) == ("info", "switchd.x", "a")


def test_a_message_that_repeats_is_held_back() -> None:
    limit = _logs.RateLimit()
    passed = [limit.filter(record("again", created=1.0)) for _ in range(100)]
    assert sum(passed) == _logs.BURST
    assert limit.filter(record("another", created=1.0))
    late = record("again", created=10.0)
    assert limit.filter(late)
    assert late.getMessage() == "again (and 80 more like it)"


def test_messages_that_differ_are_not_remembered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some are made of what others say, such as a kernel's errors."""
    monkeypatch.setattr(_logs, "MESSAGES_MAX", 3)
    limit = _logs.RateLimit()
    for number in range(100):
        limit.filter(record("again", created=1.0))
        assert limit.filter(record(f"another {number}", created=1.0)), "new"
    assert len(limit._seen) == 3
    assert not limit.filter(record("again", created=1.0)), "heard all the time, and held back"


def test_a_pipe_that_nobody_reads_stops_nobody() -> None:
    """A host service hung that way, after hours, when its starter did not read its log."""
    here, there = os.pipe()
    logger = logging.Logger("switchd.x", logging.INFO)
    with os.fdopen(there, "w") as stream:
        handler = _logs.NeverWaiting(stream)
        logger.addHandler(handler)
        while not handler.lost:
            logger.info("x" * 1000)
        logger.info("lost, too")
        read = os.read(here, 1 << 20)
        assert set(read.splitlines()) == {b"x" * 1000}
        logger.info("room")
        assert os.read(here, 1000) == b"room (after 2 lines that had no room)\n"
    os.close(here)
    logger.info("a stream that is closed has no say either")


def test_counters_never_go_back() -> None:
    now = {"port": {"rx": 5, "tx": 1}, "queue": {"in": 9}}
    assert since(now, {"port": {"rx": 3, "tx": 1}, "queue": {"in": 2}}) == {
        "port": {"rx": 2, "tx": 0},
        "queue": {"in": 7},
    }
    assert since(now, {"port": {"rx": 3, "tx": 2}}) == now, "opened again: all of the group"


def test_the_watchdog_notices_a_data_path_that_hangs(
    stopped: RunningDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchd.daemon.HANG_SECONDS", 0.05)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        sock.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "30000")
        monkeypatch.delenv("WATCHDOG_PID", raising=False)
        stopped.start()
        told = sock.recv(200) + sock.recv(200)
        assert b"READY=1" in told
        assert b"WATCHDOG=1" in told
        # The fake's heart stands still from the start on: soon nobody feeds the dog.
        deadline = time.monotonic() + 5
        quiet = 0
        sock.settimeout(0.2)
        while not quiet and time.monotonic() < deadline:
            try:
                sock.recv(200)
            except TimeoutError:
                quiet = 1
        assert quiet
        stopped.plane.rounds += 1
        sock.settimeout(5)
        assert b"WATCHDOG=1" in sock.recv(200)


def test_work_in_a_thread_is_waited_for() -> None:
    """Also by those who cancel it: what it works on is closed afterwards."""
    going, ended = threading.Event(), threading.Event()

    def work() -> None:
        going.set()
        time.sleep(0.05)
        ended.set()

    async def cancel() -> None:
        task = asyncio.create_task(in_thread(work))
        await asyncio.to_thread(going.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()

    asyncio.run(cancel())


def test_systemd_hears_of_the_end_of_a_reload_that_fails_unforeseen(
    stopped: RunningDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        sock.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        stopped.start()
        assert b"READY=1" in sock.recv(200)
        stopped.path.write_text(stopped.path.read_text().replace("10Gbit", "1Gbit"))
        stopped.plane.failure, stopped.plane.fail_at = RuntimeError, 0
        stopped.on_loop(stopped.daemon.request_reload)
        assert sock.recv(200).startswith(b"RELOADING=1")
        assert b"READY=1" in sock.recv(200)
        assert stopped.plane.switches["tor0"].ports["h1"].plan.rate_bps == 10**10
    last = stopped.daemon.manager.events.last()[-1]
    assert "not reloaded: RuntimeError" in last.text


def test_sighup_reloads(
    stopped: RunningDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        sock.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        stopped.start()
        assert b"READY=1" in sock.recv(200)
        stopped.path.write_text(stopped.path.read_text().replace("10Gbit", "1Gbit"))
        stopped.on_loop(stopped.daemon.request_reload)
        assert sock.recv(200).startswith(b"RELOADING=1\nMONOTONIC_USEC=")
        assert b"READY=1" in sock.recv(200)
        assert stopped.plane.switches["tor0"].ports["h1"].plan.rate_bps == 10**9
        stopped.path.write_text("nonsense")
        stopped.on_loop(stopped.daemon.request_reload)
        assert sock.recv(200).startswith(b"RELOADING=1")
        assert b"READY=1" in sock.recv(200), "the old configuration stays"
        assert stopped.plane.switches["tor0"].ports["h1"].plan.rate_bps == 10**9
