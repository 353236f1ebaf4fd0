"""Kill -9 of switchd while both protocols send all they can through it."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from host_service import (
    RESTART_SECONDS,
    ROUNDS,
    Host,
    left_behind,
    start_application,
    wait_for,
)
from pyroute2 import NetNS
from timed import check_time

from ndpstack.control import Client, UnreachableError
from ndpstack.testbed import Plan, single_switch

if TYPE_CHECKING:
    from collections.abc import Callable

    from ndpstack.testbed import Lab

    LabMaker = Callable[[Plan], Lab]

SERVER = """
import hashlib, ndpstack, os, sys, threading
numbers, lock = set(), threading.Lock()

def check(data):
    data = bytes(data)
    number = data[32:40]
    wrong = "corrupt" if hashlib.sha256(data[32:]).digest() != data[:32] else None
    with lock:
        wrong = wrong or ("delivered twice" if number in numbers else None)
        numbers.add(number)
    if wrong:
        print(wrong, file=sys.stderr, flush=True)
        os._exit(1)
    return number

def serve(peer):
    try:
        with peer:
            while True:
                peer.send(check(peer.recv(timeout=60)))
    except (EOFError, ndpstack.NdpError):
        pass

def accept(listener):
    while True:
        threading.Thread(target=serve, args=(listener.accept(timeout=600),), daemon=True).start()

with ndpstack.Stack.attach("host") as stack:
    homa = ndpstack.HomaSocket(stack)
    homa.bind(5001)
    listener = ndpstack.NdpSocket(stack)
    listener.bind(5000)
    listener.listen()
    threading.Thread(target=accept, args=(listener,), daemon=True).start()
    print("ready", flush=True)
    for rpc in homa:
        rpc.reply(check(rpc.data))
"""
"""Every message is whole and comes once, over any number of connections."""

CLIENT = """
import hashlib, ndpstack, sys, threading, time
from itertools import count
address, numbers = sys.argv[1], count(1)

def message():
    body = next(numbers).to_bytes(8, "big")
    body += bytes([body[7]]) * (1 + body[7] * 7919 % 60000)
    return hashlib.sha256(body).digest() + body

def report(name, shown):
    now = time.monotonic()
    if now - shown < 0.1:
        return shown
    print(name, now, flush=True)
    return now

def ndp(stack):
    shown = 0.0
    while True:
        try:
            with ndpstack.NdpSocket(stack) as sock:
                sock.connect((address, 5000))
                while True:
                    data = message()
                    sock.send(data)
                    assert bytes(sock.recv(timeout=5)) == data[32:40]
                    shown = report("ndp", shown)
        except (ndpstack.NdpError, EOFError, TimeoutError):
            time.sleep(0.01)

def homa(stack):
    shown = 0.0
    with ndpstack.HomaSocket(stack) as sock:
        while True:
            data = message()
            try:
                assert bytes(sock.request((address, 5001), data, timeout=5)) == data[32:40]
                shown = report("homa", shown)
            except (ndpstack.NdpError, TimeoutError):
                time.sleep(0.01)

with ndpstack.Stack.attach("host") as stack:
    threading.Thread(target=ndp, args=(stack,), daemon=True).start()
    homa(stack)
"""
"""Sends on; a message that failed is never sent again, so none may arrive twice."""

CONFIG = """\
[daemon]
control = "control.sock"
hosts = "{folder}/hosts.sock"
metrics = ""
"""

PORT = """
[switch.s0.port.{device}]
backend = "xdp"
device = "{device}"
netns = "{netns}"
"""


class Daemon:
    """A switchd process on the ports of node s0."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self._folder = folder
        self.netns = lab.namespace("s0")
        text = CONFIG.format(folder=folder)
        for device, _ in lab.plan.ports("s0"):
            text += PORT.format(device=device, netns=self.netns)
        (folder / "switchd.toml").write_text(text)

    def start(self) -> float:
        """Starts it and waits until its ports are up; returns the seconds that took."""
        began = time.monotonic()
        run = "import sys; from switchd.daemon import main; sys.exit(main())"
        command = [sys.executable, "-c", run, "--config", str(self._folder / "switchd.toml")]
        with (self._folder / "log").open("a") as log:
            self.process = subprocess.Popen(command, stderr=log)
        wait_for(self._is_up, "switchd is not up: see its log")
        return time.monotonic() - began

    def _is_up(self) -> bool:
        assert self.process.poll() is None, (self._folder / "log").read_text()
        try:
            with Client(str(self._folder / "control.sock")) as client:
                rows = client.call("show.ports")
        except UnreachableError:
            return False
        assert isinstance(rows, list)
        return bool(rows) and all(row["state"] == "up" for row in rows)

    def kill(self) -> None:
        """Kill -9."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def left_behind(self) -> list[str]:
        """What outlives it: XDP programs and shared memory."""
        with NetNS(self.netns, flags=0) as ipr:
            found = [
                str(link.get("ifname"))
                for link in ipr.get_links()
                if (link.get("xdp") or {}).get("attached")
            ]
        return found + [str(path) for path in Path("/dev/shm").glob("ndpstack*")]


class Progress:
    """Reads when a client had its last answer, of each protocol."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self._process, self._file = process, process.stdout.fileno()
        self._rest = b""
        self._last = {b"ndp": 0.0, b"homa": 0.0}
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._file, selectors.EVENT_READ)

    def wait_beyond(self, moment: float, seconds: float = 60) -> None:
        """Waits until both protocols have had an answer after this time."""
        deadline = time.monotonic() + seconds
        while min(self._last.values()) <= moment:
            assert time.monotonic() < deadline, (moment, self._last)
            if not self._selector.select(1):
                continue
            data = os.read(self._file, 65536)
            assert data, self._process.communicate()[1].decode()
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                name, when = line.split()
                self._last[name] = float(when)


@pytest.mark.timed
def test_a_killed_switch_comes_back_and_no_message_comes_twice(
    lab: LabMaker, tmp_path: Path
) -> None:
    """T29, X10: killed at load again and again, with NDP and Homa going through it."""
    made = lab(single_switch(2))
    daemon = Daemon(made, tmp_path)
    daemon.start()
    hosts = [Host(made, node, tmp_path) for node in ("h0", "h1")]
    try:
        for host in hosts:
            host.start()
        server = start_application(made, "h1", SERVER)
        client = start_application(made, "h0", CLIENT, str(made.plan.address("h1").ipv4))
        progress = Progress(client)
        for _ in range(ROUNDS):
            progress.wait_beyond(time.monotonic())
            daemon.kill()
            assert daemon.left_behind() == []
            check_time(daemon.start(), RESTART_SECONDS)
        progress.wait_beyond(time.monotonic())
        client.kill()
        server.kill()
        assert server.stderr is not None
        assert server.stderr.read() == b""
        for host in hosts:
            assert host.end(signal.SIGTERM) == 0
            assert left_behind(made, host.node) == []
    finally:
        daemon.kill()
