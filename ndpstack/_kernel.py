"""What the kernel would do with packets: routes and neighbours, in one network namespace."""

from __future__ import annotations

import contextlib
import errno
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from ndpstack import _core
from ndpstack._netlink import LOCAL, UNICAST, Netlink

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ndpstack._netlink import Neighbour

lib = _core.lib

_REASONS: Final = {
    errno.ENETUNREACH: lib.ND_UNREACHABLE_NO_ROUTE,
    errno.ENODEV: lib.ND_UNREACHABLE_NO_ROUTE,
}
"""Reasons by the error of a route's look-up; the others are those of routes that prohibit."""


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


class NoRoute(Exception):  # noqa: N818 - an outcome, not a fault
    """There is no way to an address; reason is one of ND_UNREACHABLE_*."""

    def __init__(self, reason: int) -> None:
        super().__init__(reason)
        self.reason = reason


class Kernel:
    """Asks the kernel, in the namespace of the thread that made it.

    Args:
        interfaces: Names of the ports' interfaces.
    """

    def __init__(self, interfaces: Iterable[str]) -> None:
        self._names = tuple(interfaces)
        self._netlink = Netlink()

    def close(self) -> None:
        """Closes the socket. Idempotent."""
        self._netlink.close()

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
            route = self._netlink.route_to(address)
        except OSError as error:
            reason = _REASONS.get(error.errno or 0, lib.ND_UNREACHABLE_REFUSED)
            raise NoRoute(reason) from None
        if route.kind not in (UNICAST, LOCAL):
            raise NoRoute(lib.ND_UNREACHABLE_REFUSED)
        hop = route.hops[0]
        return Route(hop.interface, hop.gateway or address, route.mtu, route.kind == LOCAL)

    def neighbour(self, interface: int, address: str) -> Neighbour | None:
        """What is known of a neighbour; None when that is nothing."""
        return self._netlink.neighbour(interface, address)

    def probe(self, interface: int, address: str) -> None:
        """Has the kernel find a neighbour out; an event tells what came of it."""
        with contextlib.suppress(OSError):  # The interface has just gone: it times out.
            self._netlink.probe(interface, address)
