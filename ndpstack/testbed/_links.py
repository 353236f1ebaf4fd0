"""Sets interfaces up and down."""

from __future__ import annotations

import fcntl
import socket
import struct

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
