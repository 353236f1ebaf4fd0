"""What the kernel knows of an interface that a stack is opened on."""

from __future__ import annotations

import errno
import socket

from ndpstack import _netns
from ndpstack._netlink import Netlink
from ndpstack.errors import NdpError, make_error


def own_addresses(interface: str, netns: str | None = None) -> list[str]:
    """IP addresses of an interface that other hosts can reach, IPv4 first.

    Raises:
        NdpError: There is no such interface, or no such network namespace.
    """

    def ask() -> list[str]:
        try:
            index = socket.if_nametoindex(interface)
        except OSError:
            what = f"interface {interface}"
            raise make_error(errno.ENODEV, what, remedy="See `ip link`.") from None
        with Netlink() as netlink:
            return [found.address for found in netlink.addresses() if found.interface == index]

    try:
        addresses = ask() if netns is None else _netns.call_inside(netns, ask)
    except NdpError:
        raise
    except OSError as error:
        what = f"interface {interface}" if netns is None else f"network namespace {netns}"
        raise make_error(error.errno or errno.EIO, what, remedy="See `ip netns`.") from None
    return sorted((a for a in addresses if not a.startswith("fe80:")), key=lambda a: ":" in a)
