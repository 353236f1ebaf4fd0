"""`ndpstack lab`: up, in use, down, and what is said when it cannot be."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from four_hosts import FOUR_HOSTS

from ndpstack._priority import REFUSED, real_time
from ndpstack.cli import main
from ndpstack.cli._exit import Exit
from ndpstack.control import Client
from ndpstack.testbed import Lab, labs, leftovers, namespace_of, why_unavailable
from ndpstack.testbed._state import STATE_DIRECTORY
from switchd.switchctl import main as switchctl

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(bool(why_unavailable()), reason=str(why_unavailable()))

NDPSTACK = ["-P", "-c", "from ndpstack.cli import main; raise SystemExit(main())"]
"""What Python is told to run as the command."""

SCENARIO = f"""
{FOUR_HOSTS}[switch.queue]
discipline = "droptail"
[transport.ndp]
mtu = "1500B"
[[traffic]]
kind = "permutation"
size = "30KB"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "four.toml"
    path.write_text(SCENARIO)
    return str(path)


@pytest.fixture
def name() -> Iterator[str]:
    """A name for a lab, which is down afterwards."""
    drawn = secrets.token_hex(3)
    yield drawn
    if drawn in labs():
        main(["lab", "down", drawn])


def test_hosts_of_a_lab_reach_each_other_through_its_switches(
    scenario: str, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", "up", scenario, "--name", name, "--detach"]) == Exit.OK
    assert f"ndpstack lab exec {name} h0" in capfd.readouterr().out
    assert main(["lab", "exec", name, "h0", "--", "ping", "-c2", "-w20", "10.111.0.4"]) == 0
    assert main(["lab", "exec", name, "h3", "ping", "-c1", "-w20", "fd6e:6470::1"]) == 0
    assert main(["lab", "exec", name, "h9", "true"]) == Exit.USAGE
    assert "there are h0, h1, h2, h3, edge0" in capfd.readouterr().err
    assert main(["lab", "up", scenario, "--name", name]) == Exit.USAGE
    assert f"ndpstack lab down {name}" in capfd.readouterr().err
    assert main(["lab", "status", "--json"]) == Exit.OK
    status = json.loads(capfd.readouterr().out)
    assert status["schema_version"] == 1
    assert status["labs"][name]["alive"]
    state = labs()[name]
    assert main(["lab", "down", name]) == Exit.OK
    assert "8 namespaces removed" in capfd.readouterr().out
    assert name not in labs()
    assert not state.alive


def test_the_switches_of_a_lab_are_a_switchd(
    scenario: str, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", "up", scenario, "--name", name, "--detach"]) == Exit.OK
    control = labs()[name].control
    assert f"switchctl --socket {control} show ports" in capfd.readouterr().out
    assert main(["lab", "status"]) == Exit.OK
    assert control in capfd.readouterr().out
    assert switchctl(["--socket", control, "-o", "json", "show", "ports"]) == 0
    ports = json.loads(capfd.readouterr().out)["ports"]
    assert {row["switch"] for row in ports} == {"edge0", "edge1", "agg0", "agg1"}
    assert {row["state"] for row in ports} == {"up"}
    # A cable that is pulled takes its ports out of use, and comes back.
    for state in ("down", "up"):
        argv = ["nsenter", f"--net=/run/netns/{namespace_of(name, 'edge0')}", "ip", "link", "set"]
        subprocess.run([*argv, "p2", state], check=True)
        with Client(control) as client:
            while port_states(client)["edge0", "p2"] != state:
                time.sleep(0.01)
    assert main(["lab", "down", name]) == Exit.OK
    assert not Path(control).exists()


def port_states(client: Client) -> dict[tuple[str, str], str]:
    shown = cast("list[dict[str, str]]", client.call("show.ports"))
    return {(row["switch"], row["port"]): row["state"] for row in shown}


def daemon_of(control: str) -> int:
    """The process that listens there."""
    with Client(control) as client:
        return cast("dict[str, int]", client.call("show.status"))["pid"]


def wait_for_end(pid: int) -> None:
    while Path(f"/proc/{pid}").exists():
        time.sleep(0.01)


def test_its_switchd_ends_with_its_owner(scenario: str, name: str) -> None:
    assert main(["lab", "up", scenario, "--name", name, "--detach"]) == Exit.OK
    daemon = daemon_of(labs()[name].control)
    with real_time() as words:
        allowed = words != REFUSED
    tasks = Path(f"/proc/{daemon}/task").iterdir()
    classes = [os.sched_getscheduler(int(task.name)) for task in tasks]
    assert classes.count(os.SCHED_RR) == allowed, "the data path's thread, and no other"
    os.kill(labs()[name].owner, signal.SIGKILL)
    wait_for_end(daemon)
    assert name in leftovers()


def test_a_lab_ends_with_its_switchd(scenario: str, name: str) -> None:
    assert main(["lab", "up", scenario, "--name", name, "--detach"]) == Exit.OK
    state = labs()[name]
    os.kill(daemon_of(state.control), signal.SIGKILL)
    while state.alive:
        time.sleep(0.01)
    assert name not in labs()
    assert name not in leftovers()
    log = STATE_DIRECTORY / f"{name}.log"
    assert "switchd ended by itself with -9" in log.read_text()
    log.unlink()


def test_what_kill_9_left_is_shown_and_removed(
    scenario: str, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", "up", scenario, "--name", name, "--detach", "--bare"]) == Exit.OK
    os.kill(labs()[name].owner, signal.SIGKILL)
    while labs()[name].alive:
        time.sleep(0.01)
    assert name in leftovers()
    assert main(["lab", "status"]) == Exit.OK
    assert "left over" in capfd.readouterr().out
    assert main(["lab", "down", name]) == Exit.OK
    assert name not in leftovers()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_takes_it_down(scenario: str, name: str, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, *NDPSTACK, "lab", "up", scenario, "--name", name, "--bare"],
        stdout=subprocess.DEVNULL,
    )
    try:
        while not (name in labs() and labs()[name].ready):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        assert process.wait(20) == Exit.OK
    finally:
        process.kill()
        process.wait()
    assert name not in labs()
    assert name not in leftovers()


@pytest.mark.parametrize("capability", ["sys_admin", "net_admin"])
def test_root_that_may_not_make_namespaces_is_told_what_it_lacks(
    scenario: str, capability: str
) -> None:
    """As in a container, whose root lacks what no other root does."""
    without = ["setpriv", "--bounding-set", f"-{capability}", "--inh-caps", f"-{capability}"]
    done = subprocess.run(
        [*without, sys.executable, *NDPSTACK, "lab", "up", scenario],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == Exit.USAGE
    assert f"need CAP_{capability.upper()}, which root does not have here" in done.stderr
    assert "docker run --privileged" in done.stderr


def test_a_lab_that_is_too_large_is_refused_before_it_is_built(
    name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def build(_: Lab) -> None:
        pytest.fail("it was built")

    monkeypatch.setattr(Lab, "up", build)
    assert main(["lab", "up", "incast", "--name", name]) == Exit.USAGE
    assert "80 switches are more than the 16 that one switchd runs" in capfd.readouterr().err


def test_names_that_cannot_be_are_refused(
    scenario: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", "up", scenario, "--name", "too-long-a-name"]) == Exit.USAGE
    assert "1 to 6 lower-case letters and digits" in capfd.readouterr().err
    kept = tmp_path / "kept.log"
    kept.write_text("mine")
    outside = os.path.relpath(kept.with_suffix(""), STATE_DIRECTORY)
    assert main(["lab", "up", scenario, "--detach", "--name", outside]) == Exit.USAGE
    assert "1 to 6 lower-case letters and digits" in capfd.readouterr().err
    assert kept.read_text() == "mine"
    assert main(["lab", "down", "nosuch"]) == Exit.USAGE
    assert "there is no lab 'nosuch'" in capfd.readouterr().err


def test_labs_are_taken_down_all_or_none(
    scenario: str, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", "up", scenario, "--name", name, "--detach", "--bare"]) == Exit.OK
    assert main(["lab", "down", name, "nosuch"]) == Exit.USAGE
    assert "there is no lab 'nosuch'" in capfd.readouterr().err
    assert labs()[name].alive
    assert main(["lab", "down", name, name]) == Exit.OK
    assert capfd.readouterr().out == f"lab {name}: 8 namespaces removed\n"
    assert not list(STATE_DIRECTORY.glob(f"{name}*"))


def test_of_two_who_want_a_name_one_has_it(
    scenario: str, name: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other is told so, and leaves the log of the first alone."""
    up = ["lab", "up", scenario, "--name", name, "--detach", "--bare"]
    assert main(up) == Exit.OK
    log = STATE_DIRECTORY / f"{name}.log"
    said = log.read_text()
    capfd.readouterr()
    with monkeypatch.context() as early:
        early.setattr("ndpstack.cli._lab.labs", dict)  # As they are before the first begins.
        assert main(up) == Exit.USAGE
    assert capfd.readouterr().err.startswith(f"ndpstack: lab {name} is up already")
    assert log.read_text() == said


def test_who_stops_waiting_for_a_lab_in_the_background_has_none(
    scenario: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not hear of Ctrl-C itself: it would come up all the same."""
    pause = time.sleep

    def tell_once_it_is_being_built(_seconds: float) -> None:
        if name in labs():
            raise KeyboardInterrupt
        pause(0.01)

    with monkeypatch.context() as waiting:
        waiting.setattr("ndpstack.cli._lab.labs", dict)  # It is never ready.
        waiting.setattr("ndpstack.cli._lab.time.sleep", tell_once_it_is_being_built)
        up = ["lab", "up", scenario, "--name", name, "--detach", "--bare"]
        assert main(up) == Exit.INTERRUPTED
    assert name not in labs()
    assert name not in leftovers()
    assert not list(STATE_DIRECTORY.glob(f"{name}*"))


HEARS_A_SIGNAL = """\
import signal, sys
number = int(sys.argv[1])
signal.pthread_sigmask(signal.SIG_BLOCK, [number])
print("begun", flush=True)
signal.sigwait([number])
print("heard", flush=True)
sys.exit(41 if sys.stdin.read() == "" else 1)
"""
"""Goes on until its input ends, as a shell does; bash may hear a signal only after its `read`."""


@pytest.mark.parametrize(
    ("number", "to_group"), [(signal.SIGINT, True), (signal.SIGTERM, False), (signal.SIGHUP, False)]
)
def test_signals_are_for_the_command_in_a_node(
    scenario: str, name: str, number: signal.Signals, to_group: bool
) -> None:
    """As from a terminal, or from a script that knows of no other process: it may tidy up."""
    assert main(["lab", "up", scenario, "--name", name, "--detach", "--bare"]) == Exit.OK
    command = [sys.executable, *NDPSTACK, "lab", "exec", name, "h0", "--"]
    with subprocess.Popen(
        [*command, sys.executable, "-c", HEARS_A_SIGNAL, str(number.value)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        (os.killpg if to_group else os.kill)(process.pid, number)
        assert process.stdout.readline() == "heard\n"
        process.stdin.close()
        assert process.wait(20) == 41


def test_files_of_those_who_were_killed_while_a_lab_began_are_removed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waited for it in the background, or wrote its file: they are named after the process."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    STATE_DIRECTORY.mkdir(parents=True, exist_ok=True)
    kinds = ("draft", "log")
    left = [STATE_DIRECTORY / f"{name}.{ended.pid}.{kind}" for kind in kinds]
    used = [STATE_DIRECTORY / f"{name}.{os.getpid()}.{kind}" for kind in kinds]
    for path in (*left, *used):
        path.touch()
    monkeypatch.setattr("ndpstack.cli._lab.leftovers", list)  # Labs may be those of other tests.
    assert main(["lab", "down"]) == Exit.OK
    assert not any(path.exists() for path in left)
    for path in used:
        path.unlink()


def test_what_a_lab_lacks_on_this_machine_is_said(
    scenario: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    taken = tmp_path / "labs"
    taken.touch()
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("ndpstack.cli._lab.STATE_DIRECTORY", taken)
        assert main(["lab", "up", scenario, "--detach", "--bare"]) == Exit.USAGE
    assert "File exists" in capfd.readouterr().err
    assert main(["lab", "up", scenario, "--name", name, "--detach", "--bare"]) == Exit.OK
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["lab", "exec", name, "h0", "--", "true"]) == Exit.USAGE
    assert "install the package util-linux" in capfd.readouterr().err


def test_a_namespace_that_cannot_be_removed_is_named(scenario: str, name: str) -> None:
    assert main(["lab", "up", scenario, "--name", name, "--detach", "--bare"]) == Exit.OK
    os.kill(labs()[name].owner, signal.SIGKILL)
    while labs()[name].alive:
        time.sleep(0.01)
    without = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]
    down = [*without, sys.executable, *NDPSTACK, "lab", "down", name]
    done = subprocess.run(down, capture_output=True, text=True, check=False)
    assert done.returncode == Exit.USAGE
    assert f"namespace ndl-{name}-" in done.stderr
    assert "need CAP_SYS_ADMIN" in done.stderr
    assert main(["lab", "down", name]) == Exit.OK


def test_a_command_that_a_signal_ended_says_so_as_in_a_shell(scenario: str, name: str) -> None:
    assert main(["lab", "up", scenario, "--name", name, "--detach", "--bare"]) == Exit.OK
    killed = ["lab", "exec", name, "h0", "--", "sh", "-c", "kill -9 $$"]
    assert main(killed) == 128 + signal.SIGKILL
