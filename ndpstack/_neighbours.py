"""MAC addresses of hosts on a link, from the kernel: it knows the routes and asks on the link."""

from __future__ import annotations

import contextlib
import errno
import socket
import time
from typing import Final

from pyroute2 import IPRoute, NetNS
from pyroute2.netlink.exceptions import NetlinkError

from ndpstack.errors import make_error

PATIENCE_S: Final = 2.0
"""The kernel asks three times, a second apart, before it gives up."""

RETRY_S: Final = 0.02

DISCARD_PORT: Final = 9

REACHABLE: Final = 0x02 | 0x04 | 0x08 | 0x10 | 0x80
"""NUD states in which there is an address: reachable, stale, delay, probe, permanent."""


def _open(netns: str | None) -> IPRoute | NetNS:
    return IPRoute() if netns is None else NetNS(netns)


def own_addresses(interface: str, netns: str | None) -> list[str]:
    """IP addresses of an interface that other hosts can reach, IPv4 first.

    Raises:
        NdpError: There is no such interface.
    """
    with _open(netns) as netlink:
        index = _index(netlink, interface)
        found = netlink.get_addr(index=index)
        addresses = [dict(message["attrs"])["IFA_ADDRESS"] for message in found]
    return sorted((a for a in addresses if not a.startswith("fe80:")), key=lambda a: ":" in a)


def _index(netlink: IPRoute, interface: str) -> int:
    found = netlink.link_lookup(ifname=interface)
    if not found:
        raise make_error(errno.ENODEV, f"interface {interface}", remedy="See `ip link`.")
    return int(found[0])


def find_mac(address: str, interface: str, netns: str | None) -> str:
    """The MAC address of a host, or of the gateway that leads to it.

    Raises:
        Unreachable: There is no route out of this interface, or nobody answers.
    """
    with _open(netns) as netlink:
        index = _index(netlink, interface)
        hop = _next_hop(netlink, index, address)
        until = time.monotonic() + PATIENCE_S
        while True:
            for message in netlink.get_neighbours(ifindex=index, dst=hop):
                mac = dict(message["attrs"]).get("NDA_LLADDR")
                if mac and message["state"] & REACHABLE:
                    return str(mac)
            if time.monotonic() >= until:
                raise make_error(
                    errno.EHOSTUNREACH,
                    f"nobody answers for {hop} on {interface}",
                    remedy="Check that the host is up and in the same network.",
                )
            _poke(netlink, index, hop)
            time.sleep(RETRY_S)


def _next_hop(netlink: IPRoute, index: int, address: str) -> str:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        route = netlink.route("get", dst=address, family=family)[0]
    except NetlinkError as error:
        raise make_error(errno.EHOSTUNREACH, f"no route to {address}: {error}") from None
    attributes = dict(route["attrs"])
    if attributes.get("RTA_OIF") != index:
        raise make_error(
            errno.EHOSTUNREACH,
            f"the route to {address} leads out of another interface",
            remedy="Open the stack on that interface, or change the route.",
        )
    return str(attributes.get("RTA_GATEWAY", address))


def _poke(netlink: IPRoute, index: int, hop: str) -> None:
    """Has the kernel ask for the neighbour: it does when the entry is to be used."""
    with contextlib.suppress(NetlinkError):
        netlink.neigh("replace", dst=hop, ifindex=index, state=0, flags=0x01)  # NTF_USE
