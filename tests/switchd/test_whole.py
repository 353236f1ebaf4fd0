"""The daemon as a process of its own, over memory ports: what operating it costs packets."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import IO, TYPE_CHECKING, cast

import pytest
from memory_host import MemoryHost, frame, fresh_opening
from memory_switch import Row, config, ports, wait_until_up
from timed import check_time

from ndpstack._priority import STEP_BACK
from ndpstack.control import Client, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROUNDS = 5
CALLS = 10_000 if "NDPSTACK_TIMED" in os.environ else 200
QUIET_FRAMES = 100_000 if "NDPSTACK_TIMED" in os.environ else 200
"""In all rounds together."""
RESTARTS = 3
RESTART_SECONDS_MAX = 2.0


class Process:
    """A daemon, and the hosts at its ports."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.openings = {name: fresh_opening() for name in ("h1", "h2")}
        path = folder / "switchd.toml"
        path.write_text(config(self.openings, {"h1": 'rate = "5Gbit"'}))
        self._command = [sys.executable, "-P", "-m", "switchd", "--config", str(path)]
        self.hosts: dict[str, MemoryHost] = {}
        self.start()

    def start(self) -> None:
        """Starts it."""
        self.process = subprocess.Popen(self._command, stderr=subprocess.DEVNULL)

    def client(self) -> Client:
        """As soon as it answers."""
        deadline = time.monotonic() + 30
        while True:
            try:
                return Client(str(self.folder / "control.sock"), 30)
            except UnreachableError:
                assert time.monotonic() < deadline
                time.sleep(0.005)

    def connect(self) -> None:
        """Puts hosts at its ports."""
        with self.client() as client:
            self.hosts = {name: MemoryHost(opening) for name, opening in self.openings.items()}
            wait_until_up(client, *self.hosts)

    def kill(self) -> None:
        """As `kill -9` does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        """Ends everything."""
        for host in self.hosts.values():
            host.close()
        self.process.kill()
        self.process.wait()


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Process]:
    made = Process(tmp_path)
    yield made
    made.close()


def cpu_seconds(pid: int) -> float:
    """User and system time of a process, which a loaded machine does not stretch much."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def percentile_99(values: list[float]) -> float:
    return sorted(values)[len(values) * 99 // 100]


def latencies(daemon: Process, enough: Callable[[int], bool]) -> list[float]:
    """Times (us) of frames from h1 to h2 through the switch, one at a time."""
    source, target = daemon.hosts["h1"], daemon.hosts["h2"]
    found: list[float] = []
    while not enough(len(found)):
        began = time.perf_counter_ns()
        source.send(frame(1, 2, len(found).to_bytes(4, "big")))
        arrived = target.wait()
        found.append((time.perf_counter_ns() - began) / 1000)
        assert int.from_bytes(arrived[14:18], "big") == len(found) - 1, "every frame, in order"
    return found


OPERATE = """
import itertools, sys, time
from ndpstack.control import Client
VIEWS = "ports queues drops counters trim fdb runtime status".split()
RATES = itertools.cycle(["1Gbit", "2Gbit", "3Gbit", "4Gbit"])
with Client(sys.argv[1], 30) as client:
    for line in sys.stdin:
        for turn in range(int(line)):
            if turn % 10 == 0:
                assert client.call("set", items=[f"switch.s.port.h1.rate={next(RATES)}"])
            else:
                assert client.call(f"show.{VIEWS[turn % len(VIEWS)]}")
        print(time.process_time(), flush=True)
"""


class Caller:
    """A process that calls without a pause when it is told to."""

    def __init__(self, daemon: Process) -> None:
        command = [sys.executable, "-P", "-c", OPERATE, str(daemon.folder / "control.sock")]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._answers = select.poll()
        self._answers.register(self._output, select.POLLIN)
        self.call(1)
        self.wait()

    @property
    def _output(self) -> IO[str]:
        assert self._process.stdout is not None
        return self._process.stdout

    def call(self, count: int) -> None:
        """Begins so many calls."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{count}\n")

    def is_done(self) -> bool:
        """Whether all were answered, or one was not."""
        return bool(self._answers.poll(0))

    def wait(self) -> float:
        """CPU time (s) that it has used, once all were answered."""
        return float(self._output.readline())

    def close(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.communicate()


@pytest.mark.timed
@pytest.mark.timeout(300)  # Calls are answered at a share of a CPU.
def test_control_calls_do_not_delay_traffic(
    daemon: Process, capsys: pytest.CaptureFixture[str]
) -> None:
    """T21: 10,000 calls, looks and changes, from another process: p99 grows by less than 2."""
    daemon.connect()
    caller = Caller(daemon)
    quiet, busy, cpu = [], [], cpu_seconds(daemon.process.pid)
    try:
        for _ in range(ROUNDS):
            frames = latencies(daemon, lambda sent: sent >= QUIET_FRAMES // ROUNDS)
            quiet.append(percentile_99(frames))
            caller.call(CALLS // ROUNDS)
            busy.append(percentile_99(latencies(daemon, lambda _: caller.is_done())))
            callers_cpu = caller.wait()
    finally:
        caller.close()
    cpu = cpu_seconds(daemon.process.pid) - cpu
    with daemon.client() as client:
        shown = ports(client)
        assert {row["drops"] for row in shown.values()} == {0}
        assert shown["h1"]["rx_packets"] == shown["h2"]["tx_packets"]
        assert cast("Row", client.call("show.runtime"))["audit"] == "ok"
    ratio = median(b / q for b, q in zip(busy, quiet, strict=True))
    with capsys.disabled():
        print(
            f"\np99 of a frame {median(quiet):.0f} us, during {CALLS} control calls "
            f"{median(busy):.0f} us: {ratio:.2f} times (medians of {ROUNDS} pairs); "
            f"CPU of all {cpu:.1f} s, of the caller {callers_cpu:.1f} s"
        )
    check_time(ratio, 2)


def test_the_control_plane_lets_packets_go_first(daemon: Process) -> None:
    daemon.connect()
    niceness: dict[str, set[int]] = {}
    for thread in Path(f"/proc/{daemon.process.pid}/task").iterdir():
        name, _, fields = (thread / "stat").read_text().partition("(")[2].rpartition(")")
        niceness.setdefault(name, set()).add(int(fields.split()[16]))
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert niceness.pop("ndpstack-switch") == {own}
    assert niceness
    assert set.union(*niceness.values()) == {max(own, STEP_BACK)}


@pytest.mark.timed
def test_kill_9_and_restart_restore_the_configured_state(
    daemon: Process, capsys: pytest.CaptureFixture[str]
) -> None:
    """In less than 2 s: until it answers, and forwards."""
    daemon.connect()
    taken, cpu = [], []
    for turn in range(RESTARTS):
        daemon.kill()
        for host in daemon.hosts.values():
            host.close()
        began = time.monotonic()
        daemon.start()
        daemon.connect()
        daemon.hosts["h1"].send(frame(1, 2, bytes([turn])))
        assert daemon.hosts["h2"].wait()[14] == turn
        taken.append(time.monotonic() - began)
        cpu.append(cpu_seconds(daemon.process.pid))
        with daemon.client() as client:
            shown = ports(client)
            assert (shown["h1"]["rate_bps"], set(shown)) == (5 * 10**9, {"h1", "h2"})
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(30) == 0
    assert not (daemon.folder / "control.sock").exists()
    with capsys.disabled():
        print(
            f"\nkill -9 and restart until frames pass: {sorted(taken)[RESTARTS // 2]:.2f} s, "
            f"{sorted(cpu)[RESTARTS // 2]:.2f} s of CPU"
        )
    check_time(sorted(taken)[RESTARTS // 2], RESTART_SECONDS_MAX)


def test_sighup_during_the_start_reloads_after_it(tmp_path: Path) -> None:
    made = Process(tmp_path)
    try:
        deadline = time.monotonic() + 30
        while not (tmp_path / "control.sock").exists():  # The configuration was read before.
            assert time.monotonic() < deadline
            time.sleep(0.001)
        path = tmp_path / "switchd.toml"
        path.write_text(path.read_text().replace("5Gbit", "3Gbit"))
        made.process.send_signal(signal.SIGHUP)
        with made.client() as client:
            while ports(client)["h1"]["rate_bps"] != 3 * 10**9:
                assert time.monotonic() < deadline
                time.sleep(0.01)
    finally:
        made.close()
