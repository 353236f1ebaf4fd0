"""What the kernel says of links, routes and neighbours, and what follows from it."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from namespaces import Namespace, namespace_of_its_own
from timed import check_time

from ndpstack.switch import GroupConfig
from ndpstack.testbed import why_unavailable
from switchd._kernel import (
    Hop,
    Kernel,
    KernelState,
    KernelWatcher,
    kernel_forwarding,
)
from switchd.config import from_table
from switchd.plan import Forwarding, RoutePlan, build_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEARD_SECONDS_MAX = 0.01
"""From the kernel's change until the daemon knows of it."""

IP_SECONDS = 0.1
"""What `ip` itself takes."""

SWITCH = {
    "forwarding": "fib",
    "netns": "x",
    "port": {
        "p1": {"backend": "packet", "device": "eth1", "netns": "x"},
        "p2": {"backend": "packet", "device": "eth2", "netns": "x"},
        "p3": {"backend": "packet", "device": "eth3", "netns": "y"},
        "p4": {"backend": "memory", "device": "eth4"},
    },
}


def test_routes_lead_to_the_ports_of_their_interfaces() -> None:
    plan = build_plan(from_table({"switch": {"a": SWITCH}}, Path("/")))["a"]
    mac = "02:00:00:00:00:01"
    state = KernelState(
        routes={
            "10.0.1.0/24": (Hop("eth1", ""),),
            "10.0.2.0/24": (Hop("eth1", "10.0.1.9"), Hop("eth2", "10.0.9.9")),
            "10.0.3.0/24": (Hop("eth1", ""), Hop("eth2", "")),
            "10.0.4.0/24": (Hop("eth2", ""), Hop("eth9", "")),
            "10.0.5.0/24": (Hop("eth3", ""),),
            "::/0": (Hop("eth4", ""),),
        },
        neighbours={Hop("eth1", "10.0.1.9"): mac, Hop("eth9", "10.0.9.1"): "02:00:00:00:00:09"},
    )
    assert kernel_forwarding(state, plan) == Forwarding(
        groups=(GroupConfig(name="kernel:0", ports=("p1", "p2")),),
        addresses={mac: "p1"},
        routes={
            "10.0.1.0/24": RoutePlan("p1"),
            "10.0.2.0/24": RoutePlan("kernel:0", {"p1": mac}),
            "10.0.3.0/24": RoutePlan("kernel:0"),
            "10.0.4.0/24": RoutePlan("p2"),
            "10.0.1.9/32": RoutePlan("p1", {"p1": mac}),
        },
    )


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    reason = why_unavailable()
    if reason:
        pytest.skip(reason)
    with namespace_of_its_own() as made:
        yield made


class Heard:
    """What a watcher told."""

    def __init__(self) -> None:
        self.links: list[tuple[str, bool]] = []
        self.states: list[KernelState] = []
        self.left: list[str] = []
        self.event = threading.Event()

    def link(self, _netns: str, name: str, up: bool) -> None:
        self.links.append((name, up))
        self.event.set()

    def state(self, _netns: str, state: KernelState) -> None:
        self.states.append(state)


@pytest.mark.timed
def test_the_kernel_is_followed(namespace: Namespace) -> None:
    heard = Heard()
    watcher = KernelWatcher(namespace.name, heard.link, heard.state)
    try:
        assert watcher.ready.wait(5)
        namespace.ip("link", "add", "p1", "type", "veth", "peer", "name", "q1")
        wait_for(lambda: watcher.links.get("p1") is False)
        namespace.ip("link", "set", "q1", "up")
        namespace.ip("link", "set", "p1", "up")
        wait_for(lambda: watcher.links.get("p1"))
        taken = []
        for _ in range(3):
            heard.event.clear()
            began = time.perf_counter()
            namespace.ip("link", "set", "q1", "down")
            assert heard.event.wait(5)
            taken.append(time.perf_counter() - began)
            wait_for(lambda: watcher.links.get("p1") is False)
            namespace.ip("link", "set", "q1", "up")
            wait_for(lambda: watcher.links.get("p1"))
        check_time(min(taken), HEARD_SECONDS_MAX + IP_SECONDS)
        namespace.ip("addr", "add", "10.9.0.1/24", "dev", "p1")
        namespace.ip("route", "add", "10.8.0.0/16", "via", "10.9.0.2")
        namespace.ip("neigh", "add", "10.9.0.2", "lladdr", "02:00:00:00:00:07", "dev", "p1")
        wait_for(lambda: watcher.state.routes.get("10.8.0.0/16") == (Hop("p1", "10.9.0.2"),))
        hop = Hop("p1", "10.9.0.2")
        wait_for(lambda: watcher.state.neighbours.get(hop) == "02:00:00:00:00:07")
        namespace.ip("link", "del", "p1")
        wait_for(lambda: "p1" not in watcher.links)
        assert heard.links[-1][1] is False
        wait_for(lambda: "10.8.0.0/16" not in watcher.state.routes)
    finally:
        watcher.close()


def test_a_namespace_that_is_not_there_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("switchd._kernel.RETRY_SECONDS", 0.01)
    heard = Heard()
    kernel = Kernel(heard.link, heard.state)
    try:
        kernel.watch({"ndsk-nowhere"})
        assert kernel.link("ndsk-nowhere", "p1") is None
        assert kernel.state("ndsk-nowhere") == KernelState()
        wait_for(lambda: not kernel.present("ndsk-nowhere", "p1"))
        assert kernel.present("", "p1"), "nobody watches there: it is worth trying"
        assert not Path("/run/netns/ndsk-nowhere").exists()
    finally:
        kernel.close()


def test_a_namespace_that_is_made_anew_is_followed_again(
    namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchd._kernel.RETRY_SECONDS", 0.01)
    heard = Heard()
    kernel = Kernel(heard.link, heard.state, heard.left.append)
    try:
        kernel.watch({namespace.name})
        namespace.ip("link", "add", "p1", "type", "veth", "peer", "name", "q1")
        wait_for(lambda: kernel.link(namespace.name, "p1") is False)
        namespace.ip("link", "set", "q1", "up")
        namespace.ip("link", "set", "p1", "up")
        wait_for(lambda: kernel.link(namespace.name, "p1"))
        namespace.make_anew()
        namespace.ip("link", "add", "p2", "type", "veth", "peer", "name", "q2")
        wait_for(lambda: kernel.link(namespace.name, "p2") is False)
        assert not kernel.present(namespace.name, "p1")
    finally:
        kernel.close()
    assert ("p1", False) in heard.links[heard.links.index(("p1", True)) :]
    assert set(heard.left) == {namespace.name}
