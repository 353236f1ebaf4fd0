"""What the kernel knows of an interface that a stack is opened on."""

from __future__ import annotations

import errno
import socket

from ndpstack import _netns
from ndpstack._netlink import Netlink
from ndpstack.errors import make_error


def own_addresses(interface: str, netns: str | None = None) -> list[str]:
    """IP addresses of an interface that other hosts can reach, IPv4 first.

    Raises:
        NdpError: There is no such interface.
    """

    def ask() -> list[str]:
        index = socket.if_nametoindex(interface)
        with Netlink() as netlink:
            return [found.address for found in netlink.addresses() if found.interface == index]

    try:
        addresses = ask() if netns is None else _netns.call_inside(netns, ask)
    except OSError:
        raise make_error(errno.ENODEV, f"interface {interface}", remedy="See `ip link`.") from None
    return sorted((a for a in addresses if not a.startswith("fe80:")), key=lambda a: ":" in a)
