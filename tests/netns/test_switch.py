"""A switch on real interfaces: kernel traffic through it, and what goes wrong with interfaces."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from carrier import wait_for_carrier
from lab_switch import lab_switch
from pyroute2 import NetNS
from timed import check_time

from ndpstack.switch import Opening, PortConfig, Switch, SwitchError, queue
from ndpstack.testbed import Lab, single_switch

if TYPE_CHECKING:
    from ndpstack.testbed.pytest_plugin import LabMaker

NOARP = 0x40
"""State of neighbours that need no asking: multicast."""

SERVE = """
import socket
server = socket.create_server(("", 5201))
print("ready", flush=True)
peer, _ = server.accept()
total = 0
while data := peer.recv(1 << 16):
    total += len(data)
peer.sendall(str(total).encode())
"""

FETCH = """
import socket, sys
peer = socket.create_connection((sys.argv[1], 5201), timeout=30)
data = bytes(range(256)) * 256
for _ in range(int(sys.argv[2]) // len(data)):
    peer.sendall(data)
peer.shutdown(socket.SHUT_WR)
print(peer.recv(64).decode())
"""

FLOOD = """
import socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(3000):
    sock.sendto(b"x" * 100, (sys.argv[1], 9))
"""

HOLD = """
import sys, time
from ndpstack.switch import *
with Switch(SwitchConfig(name="s0")) as switch:
    for name in ("p0", "p1"):
        opening = Opening(backend="xdp", device=name, netns=sys.argv[1])
        switch.add_port(PortConfig(name=name, opening=opening, queue=queue("droptail")))
    switch.start()
    while not all(switch.port_reading(name).up for name in ("p0", "p1")):
        time.sleep(0.001)
    print("up", flush=True)
    time.sleep(1000)
"""


def on_lab(lab: Lab, backend: str, **settings: object) -> Switch:
    """A learning switch at the lab's node s0, started and up."""

    def port(name: str) -> PortConfig:
        opening = Opening(
            backend=backend,  # type: ignore[arg-type]
            device=name,
            netns=lab.namespace("s0"),
            **settings,  # type: ignore[arg-type]
        )
        return PortConfig(name=name, opening=opening, queue=queue("droptail"))

    return lab_switch(lab, port)


def ping(lab: Lab, target: str, count: int = 3) -> None:
    done = lab.run("h0", ["ping", f"-c{count}", "-i0.05", "-w20", target])
    assert done.returncode == 0, done.stdout + done.stderr


def forget_neighbours(lab: Lab, node: str) -> None:
    """Takes out what the lab configured, so that the kernel must ask."""
    with NetNS(lab.namespace(node)) as netns:
        index = netns.link_lookup(ifname="p0")[0]
        for neighbour in list(netns.get_neighbours(ifindex=index)):
            if not neighbour["state"] & NOARP:
                netns.neigh("del", ifindex=index, dst=neighbour.get_attr("NDA_DST"))


def programs(namespace: str) -> dict[str, bool]:
    """Which ports have an XDP program."""
    with NetNS(namespace) as netns:
        return {
            link.get_attr("IFLA_IFNAME"): bool(
                link.get_attr("IFLA_XDP")
                and link.get_attr("IFLA_XDP").get_attr("IFLA_XDP_ATTACHED")
            )
            for link in netns.get_links()
            if link.get_attr("IFLA_IFNAME").startswith("p")
        }


@pytest.mark.parametrize("backend", ["xdp", "packet"])
def test_arp_ping_and_tcp_pass_untouched(lab: LabMaker, backend: str) -> None:
    """X13, AFXDP A.8.2 and 3: finished checksums, no super-frames, on the same interfaces."""
    made = lab(single_switch(2))
    for node in ("h0", "h1"):
        forget_neighbours(made, node)
    peer = made.plan.address("h1")
    with on_lab(made, backend) as switch:
        ping(made, str(peer.ipv4))
        ping(made, str(peer.ipv6))
        server = made.start("h1", [sys.executable, "-c", SERVE])
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        done = made.run(
            "h0", [sys.executable, "-c", FETCH, str(peer.ipv4), str(8 * 2**20)], timeout_seconds=60
        )
        assert done.stdout.strip() == str(8 * 2**20), done.stderr
        assert switch.counters()["switch"]["flooded"] > 0
        assert switch.port_counters("p0")["port"]["rx_dropped_oversize"] == 0
        assert switch.audit() is None


def test_frames_that_came_while_the_worker_was_away_are_counted(lab: LabMaker) -> None:
    made = lab(single_switch(2))
    with on_lab(made, "xdp", rx_frames=64) as switch:
        peer = str(made.plan.address("h1").ipv4)
        ping(made, peer)
        switch.stop()
        made.run("h0", [sys.executable, "-c", FLOOD, peer])
        switch.start()
        switch.check_links()
        counters = switch.port_counters("p0")["port"]
        overrun = (
            counters["rx_ring_full"] + counters["rx_fill_empty"] + counters["rx_dropped_kernel"]
        )
        assert overrun > 1000
        ping(made, peer)


@pytest.mark.timed
def test_kill_leaves_no_program_and_it_is_back_in_two_seconds(lab: LabMaker) -> None:
    made = lab(single_switch(2))
    namespace = made.namespace("s0")
    peer = str(made.plan.address("h1").ipv4)
    command = [sys.executable, "-c", HOLD, namespace]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        for _ in range(3):
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n"
            assert programs(namespace) == {"p0": True, "p1": True}
            ping(made, peer)
            process.send_signal(signal.SIGKILL)
            process.wait()
            began = time.monotonic()
            deadline = time.monotonic() + 20
            while any(programs(namespace).values()):
                assert time.monotonic() < deadline, "the XDP program outlives the process"
                time.sleep(0.01)
            check_time(time.monotonic() - began, 2.0)
            process.stdout.close()
            began = time.monotonic()
            with on_lab(made, "xdp"):
                back = time.monotonic() - began
                ping(made, peer, count=1)
            check_time(back, 2.0)
            process = subprocess.Popen(command, stdout=subprocess.PIPE)
    finally:
        process.kill()
        process.communicate()


def test_an_interface_that_is_made_anew_is_opened_again(lab: LabMaker) -> None:
    made = lab(single_switch(2))
    namespace = made.namespace("s0")
    with on_lab(made, "xdp") as switch, NetNS(namespace) as netns:
        index = netns.link_lookup(ifname="p1")[0]
        netns.link("set", index=index, state="down")
        switch.check_links()
        assert switch.port_reading("p1").state == "down"
        netns.link("del", index=index)
        switch.check_links()
        assert switch.port_reading("p1").state == "gone"
        with pytest.raises(SwitchError):
            switch.reopen_port("p1")
        netns.link("add", ifname="p1", kind="veth", peer={"ifname": "q1"})
        for name in ("p1", "q1"):
            netns.link("set", index=netns.link_lookup(ifname=name)[0], state="up")
        wait_for_carrier(namespace, "p1")
        switch.reopen_port("p1")
        switch.check_links()
        assert switch.port_reading("p1").up
        assert switch.audit() is None


def test_two_switches_do_not_share_an_interface(lab: LabMaker) -> None:
    made = lab(single_switch(2))
    with on_lab(made, "xdp"), pytest.raises(SwitchError, match=r"p0: .* ndpstack .*stop its owner"):
        on_lab(made, "xdp")
