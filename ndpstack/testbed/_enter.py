"""Does things inside a network namespace without moving the caller there."""

from __future__ import annotations

import fcntl
import socket
import struct
import threading
from typing import TYPE_CHECKING, TypeVar

from ndpstack import _netns

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")


def call_inside(namespace: str, function: Callable[[], _T]) -> _T:
    """Calls function in a thread of its own that has entered the namespace.

    What it opens there, a socket for example, stays in the namespace and may be used from outside.
    """
    results: list[_T] = []
    errors: list[BaseException] = []

    def inside() -> None:
        try:
            _netns.enter(namespace)
            results.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=inside, name=f"in-{namespace}")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


_GET_FLAGS, _SET_FLAGS = 0x8913, 0x8914
_IFF_UP = 1
_REQUEST = struct.Struct("16sH14x")
"""struct ifreq with flags."""


def set_up(interface: str, *, up: bool) -> None:
    """Sets an interface up or down. By ioctl: this takes microseconds, which netlink does not."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        name = interface.encode()
        _, flags = _REQUEST.unpack(fcntl.ioctl(made, _GET_FLAGS, _REQUEST.pack(name, 0)))
        flags = flags | _IFF_UP if up else flags & ~_IFF_UP
        fcntl.ioctl(made, _SET_FLAGS, _REQUEST.pack(name, flags))
