"""Host services in a lab's nodes, and applications beside them, as processes of their own."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    import signal
    import subprocess
    from collections.abc import Callable

    from ndpstack.testbed import Lab

NDPSTACK: Final = [str(Path(sys.executable).parent / "ndpstack")]
COMMAND: Final = [*NDPSTACK, "host"]
ROUNDS: Final = int(os.environ.get("NDPSTACK_KILLS", "3"))
"""How often each kind of process is killed; `make bench-kill` has 50."""
RESTART_SECONDS: Final = 2.0


class Host:
    """A host service in a node, as systemd would start it."""

    def __init__(self, lab: Lab, node: str, folder: Path, *options: str) -> None:
        self.lab, self.node, self._options = lab, node, options
        self._notify = folder / f"{node}.notify"
        self.process: subprocess.Popen[bytes]

    def start(self) -> float:
        """Starts it and waits until it is ready; returns the seconds that took."""
        self._notify.unlink(missing_ok=True)
        began = time.monotonic()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.bind(str(self._notify))
            sock.settimeout(20)
            environment = ["env", f"NOTIFY_SOCKET={self._notify}"]
            command = [*COMMAND, "run", "--interface", "p0", "--json-log", *self._options]
            self.process = self.lab.start(self.node, [*environment, *command])
            text = sock.recv(4096).decode()
            assert text.startswith("READY=1\nSTATUS=service host on p0"), text
        return time.monotonic() - began

    def status(self) -> dict[str, object]:
        """What `ndpstack host status` says."""
        done = self.lab.run(self.node, [*COMMAND, "status", "--json"])
        assert done.returncode == 0, done.stderr
        document: dict[str, object] = json.loads(done.stdout)
        return document

    def applications(self) -> object:
        """How many are attached."""
        return self.status()["applications"]

    def end(self, number: signal.Signals) -> int:
        """Ends it by a signal; returns the exit status."""
        self.process.send_signal(number)
        return self.process.wait(timeout=10)


def left_behind(lab: Lab, node: str) -> list[str]:
    """XDP programs, UNIX sockets and memory that a service left in a node."""
    links = lab.run(node, ["ip", "-d", "link", "show", "p0"]).stdout
    sockets = lab.run(node, ["cat", "/proc/net/unix"]).stdout
    found = [f"program: {line}" for line in links.splitlines() if "xdp" in line]
    found += [f"socket: {line}" for line in sockets.splitlines() if "@ndpstack/host" in line]
    return found + [f"memory: {path}" for path in Path("/dev/shm").glob("ndpstack*")]


def start_application(lab: Lab, node: str, program: str, *words: str) -> subprocess.Popen[bytes]:
    """Starts a program and waits for its first line."""
    process = lab.start(node, [sys.executable, "-c", program, *words])
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        assert process.stderr is not None
        pytest.fail(process.stderr.read().decode())
    return process


def wait_for(true: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.05)
