"""Follows the kernel's links, routes and neighbours in one network namespace."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import os
import select
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ndpstack import _netns
from ndpstack._netlink import UNICAST, Events, Link, Netlink
from ndpstack.switch import GroupConfig
from switchd.plan import Forwarding, RoutePlan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ndpstack import _netlink
    from switchd.plan import SwitchPlan

log = logging.getLogger("switchd.kernel")

SETTLE_SECONDS = 0.02
"""How long routes may go on changing before they are read again."""

RETRY_SECONDS = 1.0
"""How long after a failure, such as a namespace that is not there, it is tried again."""


class Hop(NamedTuple):
    """Where a route leads, or where a neighbour is."""

    interface: str
    address: str
    """IP address; of a route without a gateway empty: each destination is its own next hop."""


@dataclass(frozen=True)
class KernelState:
    """What the kernel of a namespace forwards by."""

    routes: Mapping[str, tuple[Hop, ...]] = field(default_factory=dict)
    """Prefix -> its next hops, in order."""
    neighbours: Mapping[Hop, str] = field(default_factory=dict)
    """Ethernet addresses."""


def kernel_forwarding(state: KernelState, plan: SwitchPlan) -> Forwarding:
    """The forwarding of a switch whose ports are interfaces of that namespace."""
    port_of = {
        port.opening.device: name
        for name, port in plan.ports.items()
        if port.opening.backend in ("xdp", "packet") and port.opening.netns == plan.base.netns
    }
    groups: dict[tuple[str, ...], str] = {}
    routes: dict[str, RoutePlan] = {}
    for prefix, hops in state.routes.items():
        ports = tuple(
            dict.fromkeys(port_of[hop.interface] for hop in hops if hop.interface in port_of)
        )
        if ports:
            many = len(ports) > 1
            to = groups.setdefault(ports, f"kernel:{len(groups)}") if many else ports[0]
            routes[prefix] = RoutePlan(to, _macs(state, hops, port_of))
    addresses: dict[str, str] = {}
    for hop, mac in state.neighbours.items():
        if hop.interface in port_of:
            port = port_of[hop.interface]
            addresses[mac] = port
            routes.setdefault(str(ipaddress.ip_network(hop.address)), RoutePlan(port, {port: mac}))
    made = tuple(GroupConfig(name=name, ports=ports, mode="flow") for ports, name in groups.items())
    return Forwarding(made, addresses, routes)


def _macs(state: KernelState, hops: tuple[Hop, ...], port_of: Mapping[str, str]) -> dict[str, str]:
    """Ethernet addresses of gateways by port."""
    known = ((port_of.get(hop.interface), state.neighbours.get(hop)) for hop in hops)
    return {port: mac for port, mac in known if port and mac}


def _identity(path: str) -> tuple[int, int] | None:
    """Of the namespace that a path leads to."""
    with contextlib.suppress(OSError):
        found = Path(path).stat()
        return found.st_dev, found.st_ino
    return None


class KernelWatcher:
    """A thread that listens to netlink.

    Callbacks are called from that thread.
    """

    def __init__(
        self,
        netns: str,
        on_link: Callable[[str, str, bool], None],
        on_state: Callable[[str, KernelState], None],
        on_left: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Starts listening.

        Args:
            netns: Name or path of the namespace; the process's own when empty.
            on_link: (netns, interface, up), for all of them first, then for each that changed.
            on_state: (netns, state), first and after routes or neighbours changed.
            on_left: (netns), after its name became that of nothing, or of another namespace.
        """
        self.netns = netns
        self.links: dict[str, bool] = {}
        """Interfaces that exist, and whether they have carrier."""
        self.ready = threading.Event()
        """Set once links and routes were read."""
        self._names: dict[int, str] = {}
        self._on_link, self._on_state, self._on_left = on_link, on_state, on_left
        self._state: KernelState | None = None
        self._place: tuple[int, int] | None = None
        """Of the namespace that the thread is in."""
        self._closed = False
        self._wake_read, self._wake_write = os.pipe()
        self._thread = threading.Thread(
            target=self._run, name=f"switchd-kernel-{netns or 'own'}", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Ends the thread."""
        self._closed = True
        os.write(self._wake_write, b"x")
        self._thread.join()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _run(self) -> None:
        told = ""
        while not self._closed:
            try:
                self._enter()
                # Two sockets: what happens during an answer would hide behind it.
                with Events() as events, Netlink() as questions:
                    told = ""
                    self._follow(events, questions)
            except OSError as error:
                self.links.clear()
                if str(error) != told:
                    told = str(error)
                    log.warning("network namespace %r: %s", self.netns or "own", error)
            except Exception:
                log.exception("network namespace %r: it is read anew", self.netns or "own")
            self.ready.set()
            self._sleep(RETRY_SECONDS)

    def _enter(self) -> None:
        """Puts this thread, and it alone, into the namespace."""
        if not self.netns:
            return
        # Before: if it is replaced in between, it is found to be another one.
        self._place = _identity(self._path())
        if self._place is None:
            raise FileNotFoundError(f"{self._path()} is not there; create it, or correct `netns`")
        _netns.enter(self._path())

    def _path(self) -> str:
        return self.netns if "/" in self.netns else f"/run/netns/{self.netns}"

    def _check_place(self) -> None:
        """Leaves a namespace that was deleted, whose name may be that of another one now."""
        if not self.netns or _identity(self._path()) == self._place:
            return
        self._on_left(self.netns)
        for name in list(self.links):
            self._set(name, None)
        self._names.clear()
        self._tell(KernelState())
        raise FileNotFoundError("it was deleted, or made anew")

    def _sleep(self, seconds: float) -> None:
        if not self._closed:
            select.select([self._wake_read], [], [], seconds)

    def _follow(self, events: Events, questions: Netlink) -> None:
        for link in questions.links():
            self._link(link, gone=False)
        self._read_state(questions)
        self.ready.set()
        stale_since = 0.0
        while not self._closed:
            # Nothing tells of a namespace's end: it lives on while somebody is in it.
            idle = RETRY_SECONDS if self.netns else None
            timeout = SETTLE_SECONDS if stale_since else idle
            ready = select.select([events.fileno(), self._wake_read], [], [], timeout)[0]
            self._check_place()
            if events.fileno() in ready and self._take(events) and not stale_since:
                stale_since = time.monotonic()
            if stale_since and time.monotonic() - stale_since >= SETTLE_SECONDS:
                self._read_state(questions)
                stale_since = 0.0

    def _take(self, events: Events) -> bool:
        """Takes in what happened; whether routes or neighbours are to be read again."""
        stale = False
        for event in events.take():
            if isinstance(event.what, Link):
                self._link(event.what, gone=event.gone)
            stale = True
        return stale

    def _link(self, link: Link, *, gone: bool) -> None:
        before = self._names.get(link.interface)
        if before is not None and before != link.name:
            self._set(before, None)
        if gone:
            self._names.pop(link.interface, None)
            self._set(link.name, None)
        else:
            self._names[link.interface] = link.name
            self._set(link.name, link.up)

    def _set(self, name: str, up: bool | None) -> None:
        """An interface is up, down, or gone (None)."""
        if up is None:
            self.links.pop(name, None)
        elif self.links.get(name) == up:
            return
        else:
            self.links[name] = up
        self._on_link(self.netns, name, bool(up))

    def _read_state(self, questions: Netlink) -> None:
        routes = {
            route.prefix: tuple(map(self._hop, route.hops))
            for route in questions.routes()
            if route.kind == UNICAST
        }
        neighbours = {
            Hop(self._names.get(found.interface, ""), found.address): found.mac.hex(":")
            for found in questions.neighbours()
            if found.usable
        }
        self._tell(KernelState(routes, neighbours))

    def _tell(self, state: KernelState) -> None:
        if state != self._state:
            self._state = state
            self._on_state(self.netns, state)

    @property
    def state(self) -> KernelState:
        """What the kernel forwards by, as it was last read."""
        return self._state or KernelState()

    def _hop(self, hop: _netlink.Hop) -> Hop:
        return Hop(self._names.get(hop.interface, ""), hop.gateway)


class Kernel:
    """Watchers of all namespaces that ports are in."""

    def __init__(
        self,
        on_link: Callable[[str, str, bool], None],
        on_state: Callable[[str, KernelState], None],
        on_left: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._callbacks = on_link, on_state, on_left
        self._watchers: dict[str, KernelWatcher] = {}

    def watch(self, namespaces: set[str]) -> None:
        """Follows these namespaces, and no others; called one at a time."""
        for netns in [netns for netns in self._watchers if netns not in namespaces]:
            self._watchers.pop(netns).close()
        for netns in namespaces - self._watchers.keys():
            self._watchers[netns] = KernelWatcher(netns, *self._callbacks)

    def present(self, netns: str, device: str) -> bool:
        """Whether an interface exists, as far as is known."""
        watcher = self._watchers.get(netns)
        return watcher is None or not watcher.ready.is_set() or device in watcher.links

    def link(self, netns: str, device: str) -> bool | None:
        """Whether an interface has carrier; None when it is not known."""
        watcher = self._watchers.get(netns)
        return watcher.links.get(device) if watcher else None

    def state(self, netns: str) -> KernelState:
        """What that namespace forwards by."""
        watcher = self._watchers.get(netns)
        return watcher.state if watcher else KernelState()

    def close(self) -> None:
        """Ends all threads."""
        with contextlib.suppress(RuntimeError):
            self.watch(set())
