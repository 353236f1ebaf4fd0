"""What the kernel knows of ways: routes and neighbours, over netlink, in one network namespace."""

from __future__ import annotations

import contextlib
import errno
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, Self

from pyroute2 import IPRoute
from pyroute2.netlink import NETLINK_ROUTE
from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.rtnl.marshal import MarshalRtnl

from ndpstack import _core

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

lib = _core.lib

UNICAST: Final = 1
LOCAL: Final = 2
"""Types of routes (RTN_*)."""

KNOWN: Final = 0x02 | 0x04 | 0x08 | 0x10 | 0x40 | 0x80
"""Reachable, stale, delay, probe, noarp, permanent: the neighbour's address is believed in."""
FAILED: Final = 0x20
_USE: Final = 0x01
"""NTF_USE: the kernel is to find the neighbour out as if it had a packet for it."""

_GROUPS: Final = 0x1 | 0x4 | 0x40 | 0x400
"""RTMGRP_LINK, _NEIGH, _IPV4_ROUTE, _IPV6_ROUTE."""
_EVENT_BYTES_MAX: Final = 65536
_EVENTS_BUFFER: Final = 1 << 20

_REASONS: Final = {
    errno.ENETUNREACH: lib.ND_UNREACHABLE_NO_ROUTE,
    errno.ENODEV: lib.ND_UNREACHABLE_NO_ROUTE,
}
"""Reasons by the error of a route's look-up; the others are those of routes that prohibit."""


class Message(Protocol):
    """A message of pyroute2."""

    def __getitem__(self, key: str) -> object: ...
    def get(self, key: str) -> object: ...


@dataclass(frozen=True)
class Route:
    """Where packets to an address go next."""

    interface: int
    """Its index."""
    hop: str
    """The gateway, or the address itself."""
    mtu: int
    """The route's own, 0: that of the interface."""
    local: bool = False
    """It is an address of this machine."""


@dataclass(frozen=True)
class Neighbour:
    """What the kernel knows of an address on a link."""

    interface: int
    address: str
    state: int
    mac: bytes

    @property
    def usable(self) -> bool:
        """Whether packets can be sent to it."""
        return bool(self.state & KNOWN) and len(self.mac) == 6


class NoRoute(Exception):  # noqa: N818 - an outcome, not a fault
    """There is no way to an address; reason is one of ND_UNREACHABLE_*."""

    def __init__(self, reason: int) -> None:
        super().__init__(reason)
        self.reason = reason


def _attribute(message: object, name: str) -> object:
    attributes = message.get("attrs") if isinstance(message, dict) else None
    for entry in attributes if isinstance(attributes, list) else ():
        if entry[0] == name:
            found: object = entry[1]
            return found
    return None


def neighbour_of(message: Message) -> Neighbour | None:
    """The neighbour that a RTM_*NEIGH message is about; None when it names no address."""
    address, mac = _attribute(message, "NDA_DST"), _attribute(message, "NDA_LLADDR")
    interface, state = message.get("ifindex"), message.get("state")
    if not isinstance(address, str) or not isinstance(interface, int):
        return None
    raw = bytes.fromhex(mac.replace(":", "")) if isinstance(mac, str) else b""
    return Neighbour(interface, address, state if isinstance(state, int) else 0, raw)


class Kernel:
    """Asks the kernel, in the namespace of the thread that made it.

    Args:
        interfaces: Names of the ports' interfaces.
    """

    def __init__(self, interfaces: Iterable[str]) -> None:
        self._names = tuple(interfaces)
        self._route = IPRoute()

    def close(self) -> None:
        """Closes the socket. Idempotent."""
        self._route.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ports(self) -> dict[int, int]:
        """Ports by the index that their interface has now; one that is gone is left out."""
        found: dict[int, int] = {}
        for port, name in enumerate(self._names):
            with contextlib.suppress(OSError):
                found[socket.if_nametoindex(name)] = port
        return found

    def route(self, address: str) -> Route:
        """The route to an address.

        Raises:
            NoRoute: There is none, or one that prohibits it.
        """
        try:
            (message,) = self._route.route("get", dst=address)
        except NetlinkError as error:
            raise NoRoute(_REASONS.get(error.code, lib.ND_UNREACHABLE_REFUSED)) from None
        if message["type"] not in (UNICAST, LOCAL):
            raise NoRoute(lib.ND_UNREACHABLE_REFUSED)
        hop = _attribute(message, "RTA_GATEWAY")
        via = _attribute(message, "RTA_VIA")
        if isinstance(via, dict):
            hop = via.get("addr")
        metrics = _attribute(message, "RTA_METRICS")
        mtu = _attribute(metrics, "RTAX_MTU")
        interface = _attribute(message, "RTA_OIF")
        return Route(
            interface if isinstance(interface, int) else 0,
            hop if isinstance(hop, str) else address,
            mtu if isinstance(mtu, int) else 0,
            message["type"] == LOCAL,
        )

    def neighbour(self, interface: int, address: str) -> Neighbour | None:
        """What is known of a neighbour; None when that is nothing."""
        for message in self._route.get_neighbours(ifindex=interface):
            neighbour = neighbour_of(message)
            if neighbour is not None and neighbour.address == address:
                return neighbour
        return None

    def probe(self, interface: int, address: str) -> None:
        """Has the kernel find a neighbour out; an event tells what came of it."""
        with contextlib.suppress(NetlinkError):  # the interface has just gone: it times out
            self._route.neigh("replace", dst=address, ifindex=interface, state=0, flags=_USE)


class Events:
    """Changes of links, routes and neighbours, in the namespace of the thread that made it."""

    def __init__(self) -> None:
        self._marshal = MarshalRtnl()
        self._socket = socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, NETLINK_ROUTE
        )
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _EVENTS_BUFFER)
        self._socket.bind((0, _GROUPS))

    def fileno(self) -> int:
        """Readable when something has changed."""
        return self._socket.fileno()

    def close(self) -> None:
        """Closes the socket. Idempotent."""
        self._socket.close()

    def take(self) -> Iterator[Message | None]:
        """Messages that wait; None stands for some that were lost."""
        while True:
            try:
                data = self._socket.recv(_EVENT_BYTES_MAX)
            except BlockingIOError:
                return
            except OSError:
                yield None
                continue
            yield from self._marshal.parse(data)
