"""The host service on real interfaces: ways from the kernel, applications, ends of all kinds."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import pytest
from host_service import (
    COMMAND,
    NDPSTACK,
    RESTART_SECONDS,
    ROUNDS,
    Host,
    left_behind,
    start_application,
    wait_for,
)
from timed import check_time

from ndpstack.host import replay
from ndpstack.testbed import Lab, back_to_back

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ndpstack.testbed.pytest_plugin import LabMaker

SERVER = """
import hashlib, ndpstack, sys, threading

def serve(peer):
    try:
        numbers = set()
        with peer:
            while True:
                data = bytes(peer.recv(timeout=60))
                digest, number, body = data[:32], data[32:40], data[40:]
                assert hashlib.sha256(number + body).digest() == digest, "corrupt"
                assert number not in numbers, "delivered twice"
                numbers.add(number)
                peer.send(number)
    except (EOFError, ndpstack.NdpError) as error:
        print(type(error).__name__, flush=True)

with ndpstack.Stack.attach("host") as stack, ndpstack.NdpSocket(stack) as listener:
    listener.bind(5000)
    listener.listen()
    print("ready", flush=True)
    while True:
        # One whose host was killed is found to be gone after a while: others need not wait.
        threading.Thread(target=serve, args=(listener.accept(timeout=600),), daemon=True).start()
"""

CLIENT = """
import hashlib, ndpstack, sys
from itertools import count
address, limit = sys.argv[1], int(sys.argv[2])
with ndpstack.Stack.attach("host") as stack, ndpstack.NdpSocket(stack) as sock:
    sock.connect((address, 5000))
    for i in count():
        number = i.to_bytes(8, "big")
        body = bytes([i & 255]) * (1 + i * 7919 % 60000)
        sock.send(hashlib.sha256(number + body).digest() + number + body)
        assert bytes(sock.recv(timeout=20)) == number
        if i == 0:
            print("going", flush=True)
        if i == limit:
            break
print("done", flush=True)
"""

ACTIVATE = """
import os, socket, sys
made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
made.bind("\\0ndpstack/host")
made.listen()
os.dup2(made.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Becomes a program that is handed the service's socket, as systemd does it."""


@pytest.fixture
def hosts(lab: LabMaker, tmp_path: Path) -> Iterator[tuple[Lab, Host, Host]]:
    """Two nodes, each with a running host service, that know nothing of each other yet."""
    pair = lab(back_to_back())
    for node in ("h0", "h1"):
        pair.run(node, ["ip", "neigh", "flush", "dev", "p0", "nud", "permanent"])
    first, second = Host(pair, "h0", tmp_path), Host(pair, "h1", tmp_path)
    first.start()
    second.start()
    yield pair, first, second
    for host in (first, second):
        if host.process.poll() is None:
            assert host.end(signal.SIGTERM) == 0
        assert left_behind(pair, host.node) == []


def test_applications_of_two_hosts_talk(hosts: tuple[Lab, Host, Host]) -> None:
    """R-NHA-01: the way is found by ARP, the messages arrive, everybody is reclaimed."""
    lab, first, second = hosts
    address = str(lab.plan.address("h1").ipv4)
    server = start_application(lab, "h1", SERVER)
    clients = [start_application(lab, "h0", CLIENT, address, "20") for _ in range(2)]
    for client in clients:
        _, errors = client.communicate(timeout=60)
        assert client.returncode == 0, errors.decode()
    assert second.applications() == 1
    server.kill()
    wait_for(lambda: second.applications() == 0 and first.applications() == 0, "not reclaimed")
    shown = lab.run("h1", [*NDPSTACK, "ss", "--peers"]).stdout
    assert str(lab.plan.address("h0").ipv4) in shown
    shown = lab.run("h0", [*NDPSTACK, "stat", "ndp.*"]).stdout
    assert "ndp.data_sent" in shown
    shown = lab.run("h0", [*COMMAND, "status"]).stdout
    assert "p0, up, xdp generic copy" in shown
    ping = lab.run("h0", ["ping", "-c1", "-w20", address])
    assert ping.returncode == 0, "the kernel's own traffic"


@pytest.mark.parametrize(
    ("route", "text"),
    [
        (["to", "203.0.113.0/24", "dev", "lo"], "out of an interface that this host does not use"),
        (["blackhole", "203.0.113.0/24"], "has a route that prohibits it"),
        (["to", "203.0.113.0/24", "dev", "p0"], "nobody answers for it"),
        ([], "has no route to it"),
    ],
)
def test_what_cannot_be_reached_is_said_with_a_remedy(
    hosts: tuple[Lab, Host, Host], route: list[str], text: str
) -> None:
    lab, _, _ = hosts
    if route:
        assert lab.run("h0", ["ip", "route", "add", *route]).returncode == 0
    done = lab.run("h0", [sys.executable, "-c", CLIENT, "203.0.113.7", "1"])
    assert done.returncode != 0
    assert text in done.stderr


def test_a_neighbour_that_changes_is_followed(hosts: tuple[Lab, Host, Host]) -> None:
    lab, _, _ = hosts
    address = str(lab.plan.address("h1").ipv4)
    start_application(lab, "h1", SERVER)
    for mac in ("02:00:00:00:07:01", "02:00:00:00:07:02"):
        lab.run("h1", ["ip", "link", "set", "p0", "address", mac])
        # What any host does whose address changes: it announces itself.
        lab.run("h1", ["ping", "-c1", "-W1", str(lab.plan.address("h0").ipv4)])
        done = lab.run("h0", [sys.executable, "-c", CLIENT, address, "3"])
        assert done.returncode == 0, done.stderr


def test_a_second_service_is_refused(hosts: tuple[Lab, Host, Host]) -> None:
    lab, _, _ = hosts
    done = lab.run("h0", [*COMMAND, "run", "--interface", "p0"])
    assert done.returncode == 2
    assert "p0" in done.stderr


def test_a_socket_that_was_handed_down_is_served(hosts: tuple[Lab, Host, Host]) -> None:
    lab, first, _ = hosts
    assert first.end(signal.SIGTERM) == 0
    run = [sys.executable, "-c", ACTIVATE, *COMMAND, "run", "--interface", "p0"]
    service = lab.start("h0", run)
    wait_for(lambda: lab.run("h0", [*COMMAND, "status"]).returncode == 0, "it does not serve")
    start_application(lab, "h1", SERVER)
    address = str(lab.plan.address("h1").ipv4)
    done = lab.run("h0", [sys.executable, "-c", CLIENT, address, "3"])
    assert done.returncode == 0, done.stderr
    service.send_signal(signal.SIGTERM)
    assert service.wait(timeout=60) == 0


def test_a_recording_of_a_service_is_sent_again(lab: LabMaker, tmp_path: Path) -> None:
    """E-X01, over AF_XDP, with ways from the kernel; and of one that was killed."""
    pair = lab(back_to_back())
    records = {node: tmp_path / f"{node}.rec" for node in ("h0", "h1")}
    hosts = {}
    for node, record in records.items():
        pair.run(node, ["ip", "neigh", "flush", "dev", "p0", "nud", "permanent"])
        hosts[node] = Host(pair, node, tmp_path, "--record", str(record), "--record-bytes", "16MiB")
        hosts[node].start()
    server = start_application(pair, "h1", SERVER)
    client = start_application(pair, "h0", CLIENT, str(pair.plan.address("h1").ipv4), "20")
    assert client.wait(timeout=60) == 0
    assert hosts["h0"].end(signal.SIGTERM) == 0
    hosts["h1"].end(signal.SIGKILL)
    server.wait(timeout=20)
    for node, end in (("h0", "in order"), ("h1", "open")):
        result = replay(str(records[node]))
        assert result.difference is None
        assert result.end == end
        assert result.sent > 20


def test_killed_applications_leave_nothing(hosts: tuple[Lab, Host, Host]) -> None:
    """Either end is killed at load, again and again; the service stays and reclaims all."""
    lab, first, second = hosts
    address = str(lab.plan.address("h1").ipv4)
    for _ in range(ROUNDS):
        server = start_application(lab, "h1", SERVER)
        client = start_application(lab, "h0", CLIENT, address, "1000000")
        client.kill()
        assert server.stdout is not None
        assert server.stdout.readline() == b"Reset\n"
        server.kill()
        assert server.stderr is not None
        assert server.stderr.read() == b""
        wait_for(lambda: first.applications() == 0 and second.applications() == 0, "left")


@pytest.mark.timed
def test_killed_services_come_back(hosts: tuple[Lab, Host, Host]) -> None:
    """Kill -9 at load: nothing is left, the next one is up at once, nothing is corrupt."""
    lab, first, _ = hosts
    address = str(lab.plan.address("h1").ipv4)
    server = start_application(lab, "h1", SERVER)
    for _ in range(ROUNDS):
        client = start_application(lab, "h0", CLIENT, address, "1000000")
        first.end(signal.SIGKILL)
        assert left_behind(lab, "h0") == []
        _, errors = client.communicate(timeout=20)
        assert client.returncode != 0
        assert b"StackGone" in errors
        check_time(first.start(), RESTART_SECONDS)
    client = start_application(lab, "h0", CLIENT, address, "20")
    assert client.wait(timeout=60) == 0
    server.kill()
    assert server.stderr is not None
    assert server.stderr.read() == b""
