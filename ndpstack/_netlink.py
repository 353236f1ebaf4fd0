"""What the kernel says of links, addresses, routes and neighbours, as hosts and switches read it.

pyroute2 knows all of it, and takes half a second of CPU to import: as long as a host service or a
switch may take to be back after it was killed. So it is left to labs, which make what is read here.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from typing import TYPE_CHECKING, Final, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

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
_ANSWER_SECONDS: Final = 5.0
"""The kernel answers at once; this is for when it does not at all."""

_REQUEST, _MULTI, _ACK, _REPLACE, _DUMP, _CREATE = 0x1, 0x2, 0x4, 0x100, 0x300, 0x400
_ERROR, _DONE = 2, 3
_NEW_LINK, _GET_LINK = 16, 18
_NEW_ADDRESS, _GET_ADDRESS = 20, 22
_NEW_ROUTE, _GET_ROUTE = 24, 26
_NEW_NEIGHBOUR, _GET_NEIGHBOUR = 28, 30
_USE: Final = 0x01
"""NTF_USE: the kernel is to find the neighbour out as if it had a packet for it."""

_HEADER: Final = struct.Struct("=IHHII")
_LINK: Final = struct.Struct("=BxHiII")
_ADDRESS: Final = struct.Struct("=BBBBI")
_ROUTE: Final = struct.Struct("=BBBBBBBBI")
_HOP: Final = struct.Struct("=HBBi")
_NEIGHBOUR: Final = struct.Struct("=BxxxiHBB")
_ATTRIBUTE: Final = struct.Struct("=HH")
_NUMBER: Final = struct.Struct("=I")
_TYPE_MASK: Final = 0x3FFF

_OPERATES_UNKNOWN, _OPERATES_UP = 0, 6
_UP, _RUNNING = 0x1, 0x40

Attributes = dict[int, bytes]


class Link(NamedTuple):
    """A network interface."""

    interface: int
    """Its index."""
    name: str
    flags: int
    operates: int
    """IF_OPER_*."""

    @property
    def up(self) -> bool:
        """Whether it carries frames: some drivers tell by flags only."""
        if self.operates == _OPERATES_UNKNOWN:
            return bool(self.flags & _UP and self.flags & _RUNNING)
        return self.operates == _OPERATES_UP


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


class _Message(NamedTuple):
    kind: int
    flags: int
    sequence: int
    body: bytes


def _aligned(size: int) -> int:
    return (size + 3) & ~3


def _messages(data: bytes) -> Iterator[_Message]:
    at = 0
    while at + _HEADER.size <= len(data):
        size, kind, flags, sequence, _ = _HEADER.unpack_from(data, at)
        if size < _HEADER.size:
            return
        yield _Message(kind, flags, sequence, data[at + _HEADER.size : at + size])
        at += _aligned(size)


def _attributes(data: bytes) -> Attributes:
    found: Attributes = {}
    at = 0
    while at + _ATTRIBUTE.size <= len(data):
        size, kind = _ATTRIBUTE.unpack_from(data, at)
        if size < _ATTRIBUTE.size:
            break
        found[kind & _TYPE_MASK] = data[at + _ATTRIBUTE.size : at + size]
        at += _aligned(size)
    return found


def _attribute(kind: int, data: bytes) -> bytes:
    size = _ATTRIBUTE.size + len(data)
    return _ATTRIBUTE.pack(size, kind) + data + bytes(_aligned(size) - size)


def _number(data: bytes | None) -> int:
    return int(_NUMBER.unpack(data)[0]) if data else 0


def _text(data: bytes | None) -> str:
    """An IP address."""
    if not data:
        return ""
    return socket.inet_ntop(socket.AF_INET if len(data) == 4 else socket.AF_INET6, data)


def _packed(address: str) -> tuple[int, bytes]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return family, socket.inet_pton(family, address)


def _link(body: bytes) -> Link | None:
    family, _, index, flags, _ = _LINK.unpack_from(body)
    if family != socket.AF_UNSPEC:  # What a bridge says of its member, which may go and still be.
        return None
    found = _attributes(body[_LINK.size :])
    operates = found.get(16, b"\0")[0]
    return Link(index, found[3].rstrip(b"\0").decode(errors="replace"), flags, operates)


def _address(body: bytes) -> Address | None:
    family, _, _, scope, index = _ADDRESS.unpack_from(body)
    if family not in FAMILIES:
        return None
    found = _attributes(body[_ADDRESS.size :])
    # Where a link has two ends, the second names the other one.
    return Address(index, family, scope, _text(found.get(2) or found.get(1)))


def _gateway(found: Attributes) -> str:
    # RTA_VIA begins with its family, which may be another one than the route's.
    return _text(found.get(5) or found.get(18, b"")[2:])


def _hops(found: Attributes) -> tuple[Hop, ...]:
    data = found.get(9, b"")
    if not data:
        return (Hop(_number(found.get(4)), _gateway(found)),)
    hops, at = [], 0
    while at + _HOP.size <= len(data):
        size, _, _, interface = _HOP.unpack_from(data, at)
        if size < _HOP.size:
            break
        hops.append(Hop(interface, _gateway(_attributes(data[at + _HOP.size : at + size]))))
        at += _aligned(size)
    return tuple(hops)


def _route(body: bytes) -> Route | None:
    family, length, _, _, table, _, _, kind, _ = _ROUTE.unpack_from(body)
    if family not in FAMILIES:
        return None
    found = _attributes(body[_ROUTE.size :])
    default = "0.0.0.0" if family == socket.AF_INET else "::"
    return Route(
        prefix=f"{_text(found.get(1)) or default}/{length}",
        kind=kind,
        table=_number(found.get(15)) or table,
        hops=_hops(found),
        mtu=_number(_attributes(found.get(8, b"")).get(2)),
    )


def _neighbour(body: bytes) -> Neighbour | None:
    family, interface, state, _, _ = _NEIGHBOUR.unpack_from(body)
    found = _attributes(body[_NEIGHBOUR.size :])
    if family not in FAMILIES or 1 not in found:
        return None
    return Neighbour(interface, _text(found[1]), state, found.get(2, b""))


_READERS: Final = {
    _NEW_LINK: _link,
    _NEW_ADDRESS: _address,
    _NEW_ROUTE: _route,
    _NEW_NEIGHBOUR: _neighbour,
}
"""By the kind of a message that tells of a new one; the next kind tells of its end."""


def events_of(data: bytes) -> Iterator[Event]:
    """What a datagram of the kernel tells; messages of other kinds are left out."""
    for message in _messages(data):
        gone = message.kind & 3 == 1
        reader = _READERS.get(message.kind - gone)
        what = reader(message.body) if reader else None
        if what is not None:
            yield Event(what, gone)


class Netlink:
    """Asks the kernel, in the namespace of the thread that made it. For one thread at a time."""

    def __init__(self) -> None:
        kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC
        self._socket = socket.socket(socket.AF_NETLINK, kind, _NETLINK_ROUTE)
        self._socket.settimeout(_ANSWER_SECONDS)
        self._socket.bind((0, 0))
        self._sequence = 0

    def close(self) -> None:
        """Closes the socket. Idempotent."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def links(self) -> list[Link]:
        """All interfaces."""
        found = self._ask(_GET_LINK, _DUMP, _LINK.pack(0, 0, 0, 0, 0))
        return [what for what in found if isinstance(what, Link)]

    def addresses(self) -> list[Address]:
        """All addresses of our own."""
        found = self._ask(_GET_ADDRESS, _DUMP, _ADDRESS.pack(0, 0, 0, 0, 0))
        return [what for what in found if isinstance(what, Address)]

    def routes(self) -> list[Route]:
        """Routes of the main table, of both families."""
        found = [
            what
            for family in FAMILIES
            for what in self._ask(_GET_ROUTE, _DUMP, _ROUTE.pack(family, *bytes(7), 0))
        ]
        return [what for what in found if isinstance(what, Route) and what.table == MAIN_TABLE]

    def neighbours(self) -> list[Neighbour]:
        """All neighbours."""
        found = self._ask(_GET_NEIGHBOUR, _DUMP, _NEIGHBOUR.pack(0, 0, 0, 0, 0))
        return [what for what in found if isinstance(what, Neighbour)]

    def route_to(self, address: str) -> Route:
        """What would become of a packet to an address.

        Raises:
            OSError: It would not be sent.
        """
        family, data = _packed(address)
        head = _ROUTE.pack(family, len(data) * 8, *bytes(6), 0)
        (route,) = self._ask(_GET_ROUTE, 0, head + _attribute(1, data))
        assert isinstance(route, Route)
        return route

    def neighbour(self, interface: int, address: str) -> Neighbour | None:
        """What is known of a neighbour; None when that is nothing."""
        family, data = _packed(address)
        head = _NEIGHBOUR.pack(family, interface, 0, 0, 0)
        with contextlib.suppress(OSError):
            for what in self._ask(_GET_NEIGHBOUR, 0, head + _attribute(1, data)):
                return what if isinstance(what, Neighbour) else None
        return None

    def probe(self, interface: int, address: str) -> None:
        """Has the kernel find a neighbour out; an event tells what came of it.

        Raises:
            OSError: The interface has just gone.
        """
        family, data = _packed(address)
        head = _NEIGHBOUR.pack(family, interface, 0, _USE, 0)
        flags = _ACK | _REPLACE | _CREATE
        self._ask(_NEW_NEIGHBOUR, flags, head + _attribute(1, data))

    def _ask(self, kind: int, flags: int, body: bytes) -> list[Thing]:
        """The answer to a question, or OSError as the kernel refuses it."""
        self._sequence += 1
        size = _HEADER.size + len(body)
        head = _HEADER.pack(size, kind, flags | _REQUEST, self._sequence, 0)
        self._socket.send(head + body)
        found: list[Thing] = []
        while True:
            data = self._socket.recv(_MESSAGE_BYTES_MAX)
            for message in _messages(data):
                if message.sequence != self._sequence:
                    continue  # Of a question that was given up.
                if message.kind in (_ERROR, _DONE):
                    _check(message.body)
                    return found
                reader = _READERS.get(message.kind)
                what = reader(message.body) if reader else None
                if what is not None:
                    found.append(what)
                if not message.flags & _MULTI:
                    return found


def _check(body: bytes) -> None:
    """An error's code, 0 for none, is the first word of its message and of a list's end."""
    code = -struct.unpack_from("=i", body)[0] if len(body) >= 4 else 0
    if code > 0:
        raise OSError(code, os.strerror(code))


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
