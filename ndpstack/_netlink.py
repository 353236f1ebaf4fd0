"""What the kernel says of links, addresses, routes and neighbours, as hosts and switches read it.

pyroute2 speaks to it. It takes half a second to import, so that is done where it is first used:
what moves packets does not wait for it.
"""

from __future__ import annotations

import contextlib
import os
import socket
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_T = TypeVar("_T")

FAMILIES: Final = (int(socket.AF_INET), int(socket.AF_INET6))
UNIVERSE: Final = 0
"""RT_SCOPE_UNIVERSE: an address that others can reach."""
MAIN_TABLE: Final = 254
UNICAST: Final = 1
LOCAL: Final = 2
"""Kinds of routes (RTN_*)."""
KNOWN: Final = 0x02 | 0x04 | 0x08 | 0x10 | 0x40 | 0x80
"""Reachable, stale, delay, probe, noarp, permanent: the neighbour's address is believed in."""
FAILED: Final = 0x20

_NETLINK_ROUTE: Final = 0
_GROUPS: Final = 0x1 | 0x4 | 0x40 | 0x400
"""RTMGRP_LINK, _NEIGH, _IPV4_ROUTE, _IPV6_ROUTE."""
_MESSAGE_BYTES_MAX: Final = 65536
"""More than the kernel puts into one."""
_EVENTS_BUFFER: Final = 4 << 20
_USE: Final = 0x01
"""NTF_USE: the kernel is to find the neighbour out as if it had a packet for it."""
_UP, _RUNNING = 0x1, 0x40


class Message(Protocol):
    """A message of pyroute2, or a part of one."""

    def __getitem__(self, key: str) -> int: ...
    def get_attr(self, name: str) -> object: ...


class Link(NamedTuple):
    """A network interface."""

    interface: int
    """Its index."""
    name: str
    flags: int
    operates: str
    """IF_OPER_*, without that."""

    @property
    def up(self) -> bool:
        """Whether it carries frames: some drivers tell by flags only."""
        if self.operates == "UNKNOWN":
            return bool(self.flags & _UP and self.flags & _RUNNING)
        return self.operates == "UP"


class Address(NamedTuple):
    """An address of our own."""

    interface: int
    family: int
    scope: int
    address: str


class Hop(NamedTuple):
    """Where a route leads."""

    interface: int
    gateway: str
    """Empty: each destination is its own next hop."""


class Route(NamedTuple):
    """A route, or what the kernel would do with a packet."""

    prefix: str
    kind: int
    table: int
    hops: tuple[Hop, ...]
    mtu: int
    """The route's own, 0: that of the interface."""


class Neighbour(NamedTuple):
    """What the kernel knows of an address on a link."""

    interface: int
    address: str
    state: int
    mac: bytes

    @property
    def usable(self) -> bool:
        """Whether packets can be sent to it."""
        return bool(self.state & KNOWN) and len(self.mac) == 6 and not self.mac[0] & 1


Thing = Link | Address | Route | Neighbour


class Event(NamedTuple):
    """A change."""

    what: Thing
    gone: bool


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _link(message: Message) -> Link | None:
    # What a bridge says of its member, which may leave it and still be there, is not the link's.
    if message["family"] != socket.AF_UNSPEC:
        return None
    operates = _text(message.get_attr("IFLA_OPERSTATE"))
    name = _text(message.get_attr("IFLA_IFNAME"))
    return Link(message["index"], name, message["flags"], operates or "UNKNOWN")


def _address(message: Message) -> Address | None:
    if message["family"] not in FAMILIES:
        return None
    # Where a link has two ends, the second names the other one.
    own = message.get_attr("IFA_LOCAL") or message.get_attr("IFA_ADDRESS")
    return Address(message["index"], message["family"], message["scope"], _text(own))


def _gateway(part: Message) -> str:
    via = part.get_attr("RTA_VIA")
    if isinstance(via, dict):
        return _text(via.get("addr"))
    return _text(part.get_attr("RTA_GATEWAY"))


def _hops(message: Message) -> tuple[Hop, ...]:
    several: object = message.get_attr("RTA_MULTIPATH")
    if isinstance(several, list):
        return tuple(Hop(part["oif"], _gateway(part)) for part in several)
    return (Hop(_number(message.get_attr("RTA_OIF")), _gateway(message)),)


def _mtu(message: Message) -> int:
    metrics: object = message.get_attr("RTA_METRICS")
    read: Callable[[str], object] | None = getattr(metrics, "get_attr", None)
    return _number(read("RTAX_MTU")) if read else 0


def _route(message: Message) -> Route | None:
    if message["family"] not in FAMILIES:
        return None
    default = "0.0.0.0" if message["family"] == socket.AF_INET else "::"
    return Route(
        prefix=f"{_text(message.get_attr('RTA_DST')) or default}/{message['dst_len']}",
        kind=message["type"],
        table=_number(message.get_attr("RTA_TABLE")) or message["table"],
        hops=_hops(message),
        mtu=_mtu(message),
    )


def _neighbour(message: Message) -> Neighbour | None:
    address = _text(message.get_attr("NDA_DST"))
    if message["family"] not in FAMILIES or not address:
        return None
    mac = bytes.fromhex(_text(message.get_attr("NDA_LLADDR")).replace(":", ""))
    return Neighbour(message["ifindex"], address, message["state"], mac)


_READERS: Final[dict[str, Callable[[Message], Thing | None]]] = {
    "LINK": _link,
    "ADDR": _address,
    "ROUTE": _route,
    "NEIGH": _neighbour,
}
"""By what a message is of: RTM_NEW... or RTM_DEL... and this."""

_NEW: Final = "RTM_NEW"
_GONE: Final = "RTM_DEL"


def events_of(data: bytes) -> Iterator[Event]:
    """What a datagram of the kernel tells; messages of other kinds are left out."""
    from pyroute2.netlink.rtnl.marshal import MarshalRtnl

    for message in MarshalRtnl().parse(data):
        kind = _text(message["event"])
        reader = _READERS.get(kind[len(_NEW) :])
        what = reader(message) if reader else None
        if what is not None:
            yield Event(what, kind.startswith(_GONE))


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """The kernel's refusals as what they are to all others."""
    from pyroute2.netlink.exceptions import NetlinkError

    try:
        yield
    except NetlinkError as error:
        raise OSError(error.code, os.strerror(error.code)) from None


def _all(reader: Callable[[Message], _T | None], messages: Iterable[Message]) -> list[_T]:
    return [what for what in map(reader, messages) if what is not None]


class Netlink:
    """Asks the kernel, in the namespace of the thread that made it. For that thread alone."""

    def __init__(self) -> None:
        from pyroute2 import IPRoute

        self._kernel = IPRoute()

    def close(self) -> None:
        """Closes the socket. Idempotent."""
        self._kernel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def links(self) -> list[Link]:
        """All interfaces."""
        return _all(_link, self._kernel.get_links())

    def addresses(self) -> list[Address]:
        """All addresses of our own."""
        return _all(_address, self._kernel.get_addr())

    def routes(self) -> list[Route]:
        """Routes of the main table, of both families."""
        return [
            route
            for family in FAMILIES
            for route in _all(_route, self._kernel.get_routes(family=family, table=MAIN_TABLE))
        ]

    def neighbours(self) -> list[Neighbour]:
        """All neighbours."""
        return _all(_neighbour, self._kernel.get_neighbours())

    def route_to(self, address: str) -> Route:
        """What would become of a packet to an address.

        Raises:
            OSError: It would not be sent.
        """
        with _refusals():
            (route,) = _all(_route, self._kernel.route("get", dst=address))
        return route

    def neighbour(self, interface: int, address: str) -> Neighbour | None:
        """What is known of a neighbour; None when that is nothing."""
        with contextlib.suppress(OSError), _refusals():
            found = _all(_neighbour, self._kernel.neigh("get", dst=address, ifindex=interface))
            return found[0] if found else None
        return None

    def probe(self, interface: int, address: str) -> None:
        """Has the kernel find a neighbour out; an event tells what came of it.

        Raises:
            OSError: The interface has just gone.
        """
        with _refusals():
            self._kernel.neigh("replace", dst=address, ifindex=interface, state=0, flags=_USE)


class Events:
    """Changes of links, routes and neighbours, in the namespace of the thread that made it."""

    def __init__(self) -> None:
        kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        self._socket = socket.socket(socket.AF_NETLINK, kind, _NETLINK_ROUTE)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _EVENTS_BUFFER)
        self._socket.bind((0, _GROUPS))

    def fileno(self) -> int:
        """Readable when something has changed."""
        return self._socket.fileno()

    def close(self) -> None:
        """Closes the socket. Idempotent."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take(self) -> Iterator[Event]:
        """Those that wait.

        Raises:
            OSError: ENOBUFS: some were lost; what was read before is no longer certain.
        """
        while True:
            try:
                data = self._socket.recv(_MESSAGE_BYTES_MAX)
            except BlockingIOError:
                return
            yield from events_of(data)
