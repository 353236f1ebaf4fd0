"""The kernel's own traffic beside NDP and Homa, on the same interfaces, under every discipline."""

from __future__ import annotations

import json
import shutil
import sys
import time
from typing import TYPE_CHECKING

import pytest
from host_service import Host, start_application
from lab_switch import lab_switch
from mill import CLIENT, SERVER, Progress

from ndpstack.switch import (
    Opening,
    PortConfig,
    QueueConfig,
    Switch,
    mixed_queue,
    queue,
)
from ndpstack.testbed import single_switch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ndpstack.testbed import Lab
    from ndpstack.testbed.pytest_plugin import LabMaker

RATE_BPS = 100_000_000
TCP_BYTES = 1 << 20

QUEUES: dict[str, Callable[[], QueueConfig]] = {
    "droptail": lambda: queue("droptail"),
    "ecn": lambda: queue("ecn"),
    "ndp": lambda: queue("ndp"),
    "cut-payload": lambda: queue("cut-payload"),
    "strict": lambda: queue("strict"),
    "pfabric": lambda: queue("pfabric"),
    "mixed": mixed_queue,
}

SINK = """
import socket
server = socket.create_server(("", 5202))
print("ready", flush=True)
while True:
    peer, _ = server.accept()
    total = 0
    while data := peer.recv(1 << 16):
        total += len(data)
    peer.sendall(str(total).encode())
    peer.close()
"""

SOURCE = """
import socket, sys, time
began = time.monotonic()
peer = socket.create_connection((sys.argv[1], 5202), timeout=100)
peer.sendall(bytes(range(256)) * (int(sys.argv[2]) // 256))
peer.shutdown(socket.SHUT_WR)
print(peer.recv(64).decode(), time.monotonic() - began)
"""


def switch_with(lab: Lab, make: Callable[[], QueueConfig]) -> Switch:
    """A learning switch at s0 with this queue on every port, started and up."""

    def port(name: str) -> PortConfig:
        opening = Opening(backend="xdp", device=name, netns=lab.namespace("s0"))
        return PortConfig(name=name, opening=opening, queue=make(), rate_bps=RATE_BPS)

    return lab_switch(lab, port)


def tcp_mbps(lab: Lab, target: str) -> float:
    """What a bulk transfer by the kernel gets; every byte is counted at its end."""
    done = lab.run(
        "h0", [sys.executable, "-c", SOURCE, target, str(TCP_BYTES)], timeout_seconds=100
    )
    assert done.returncode == 0, done.stderr
    received, seconds = done.stdout.split()
    assert int(received) == TCP_BYTES
    return TCP_BYTES * 8 / float(seconds) / 1e6


def iperf3_mbps(lab: Lab, target: str) -> float:
    """The same by iperf3, whose exit code is 0 even where the server does not listen yet."""
    lab.start("h1", ["iperf3", "-s"])
    deadline = time.monotonic() + 20
    while True:
        done = lab.run("h0", ["iperf3", "-c", target, "-n", "1M", "--json"], timeout_seconds=60)
        document = json.loads(done.stdout)
        if "error" not in document:
            return float(document["end"]["sum_received"]["bits_per_second"]) / 1e6
        assert time.monotonic() < deadline, document["error"]
        time.sleep(0.05)


def test_ping_and_tcp_go_on_beside_both_protocols(
    lab: LabMaker, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """T11, X13: no discipline keeps the kernel's traffic out, and it does not keep ours out."""
    made = lab(single_switch(2))
    target = str(made.plan.address("h1").ipv4)
    switch = switch_with(made, QUEUES["droptail"])
    try:
        hosts = [Host(made, node, tmp_path) for node in ("h0", "h1")]
        for host in hosts:
            host.start()
        start_application(made, "h1", SERVER)
        start_application(made, "h1", SINK)
        progress = Progress(start_application(made, "h0", CLIENT, target))
        for name, make in QUEUES.items():
            switch.close()
            switch = switch_with(made, make)
            progress.wait_beyond(time.monotonic())
            before = switch.port_counters("p1")["port"]["tx_bytes"]
            began = time.monotonic()
            tcp = tcp_mbps(made, target)
            sent = switch.port_counters("p1")["port"]["tx_bytes"] - before
            all_mbps = sent * 8 / (time.monotonic() - began) / 1e6
            ping = made.run("h0", ["ping", "-c3", "-i0.05", "-w20", target])
            assert ping.returncode == 0, (name, ping.stdout)
            progress.wait_beyond(time.monotonic())
            figures = f"TCP {tcp:.1f} Mbit/s, all {all_mbps:.1f} of {RATE_BPS // 10**6}"
            record_property(name, figures)
            print(f"{name}: {figures}")
            assert switch.port_counters("p0")["port"]["rx_dropped_oversize"] == 0
            assert switch.audit() is None
    finally:
        switch.close()


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
def test_iperf3_runs_through_a_switch(lab: LabMaker) -> None:
    """X13: with the offloads that the kernel has by default."""
    made = lab(single_switch(2))
    with switch_with(made, QUEUES["mixed"]):
        assert iperf3_mbps(made, str(made.plan.address("h1").ipv4)) > 1
