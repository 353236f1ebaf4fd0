"""What the kernel knows of an interface that a stack is opened on."""

from __future__ import annotations

import errno

from pyroute2 import IPRoute

from ndpstack import _netns
from ndpstack.errors import make_error


def own_addresses(interface: str, netns: str | None) -> list[str]:
    """IP addresses of an interface that other hosts can reach, IPv4 first.

    Raises:
        NdpError: There is no such interface.
    """
    with IPRoute() if netns is None else _netns.netlink(netns) as netlink:
        found = netlink.link_lookup(ifname=interface)
        if not found:
            raise make_error(errno.ENODEV, f"interface {interface}", remedy="See `ip link`.")
        messages = netlink.get_addr(index=found[0])
        addresses = [str(dict(message["attrs"])["IFA_ADDRESS"]) for message in messages]
    return sorted((a for a in addresses if not a.startswith("fe80:")), key=lambda a: ":" in a)
