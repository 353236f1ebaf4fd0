"""Checks of one interface: link, driver and XDP mode, MTU, offloads, queues, foreign programs."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyroute2 import Ethtool, IPRoute

from ndpstack._units import counted
from ndpstack.doctor._finding import Finding, Status

SOFTWARE_DRIVERS = frozenset({"veth", "tun", "bridge", "macvlan", "dummy", "ipvlan", "ifb"})
"""Devices on which generic XDP is the faster choice, or the only one."""

BONDS = frozenset({"bonding", "team"})

SINGLE_BUFFER_MTU = 3498
"""Largest MTU whose frames fit one buffer of a page."""

SIOCETHTOOL = 0x8946
ETHTOOL_GDRVINFO = 3
DRVINFO_BYTES = 196

XDP_ATTACHED_NONE = 0
HARMFUL_OFFLOADS = {
    "tx-tcp-segmentation": "tso",
    "tx-generic-segmentation": "gso",
    "tx-vlan-hw-insert": "txvlan",
}


@dataclass(frozen=True)
class Interface:
    """What the kernel says of an interface."""

    name: str
    index: int
    mtu: int
    up: bool
    carrier: bool
    driver: str
    rx_queues: int
    xdp_mode: int
    xdp_program: int | None
    holds_default_route: bool


def read_interface(name: str) -> Interface | None:
    """Reads an interface of this network namespace, or None when there is none."""
    with IPRoute() as ipr:
        found = ipr.link_lookup(ifname=name)
        if not found:
            return None
        index = int(found[0])
        link = ipr.get_links(index)[0]
        xdp = link.get("xdp")
        default_routes = ipr.get_default_routes()
        return Interface(
            name=name,
            index=index,
            mtu=int(link.get("mtu")),
            up=link["state"] == "up",
            carrier=bool(link.get("carrier")),
            driver=driver_of(name),
            rx_queues=len(list(Path(f"/sys/class/net/{name}/queues").glob("rx-*"))) or 1,
            xdp_mode=int(xdp.get_attr("IFLA_XDP_ATTACHED") or 0) if xdp else 0,
            xdp_program=xdp.get_attr("IFLA_XDP_PROG_ID") if xdp else None,
            holds_default_route=any(route.get("oif") == index for route in default_routes),
        )


def driver_of(name: str) -> str:
    """The driver's name, or "" when the device does not say."""
    request = bytearray(struct.pack("I", ETHTOOL_GDRVINFO).ljust(DRVINFO_BYTES, b"\0"))
    buffer = (memoryview(request)).cast("B")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        address = _address_of(buffer)
        try:
            fcntl.ioctl(probe, SIOCETHTOOL, struct.pack("16sQ", name.encode(), address))
        except OSError:
            return ""
    return bytes(request[4:36]).split(b"\0")[0].decode()


def _address_of(buffer: memoryview) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


def examine_interface(name: str) -> list[Finding]:
    """Runs every check of an interface."""
    interface = read_interface(name)
    if interface is None:
        return [
            Finding(
                "interface",
                Status.FAIL,
                f"there is no interface {name} in this network namespace",
                "ip -br link; in another namespace: ip netns exec NAME ndpstack doctor ...",
            )
        ]
    return [
        check_link(interface),
        check_driver(interface),
        check_mtu(interface),
        check_queues(interface),
        check_xdp(interface),
        check_default_route(interface),
        *check_offloads(interface),
    ]


def check_link(interface: Interface) -> Finding:
    """The interface is up and has carrier."""
    if not interface.up:
        return Finding(
            "link",
            Status.FAIL,
            f"{interface.name} is down",
            f"ip link set {interface.name} up",
            partial(_set_up, interface.index),
        )
    if not interface.carrier:
        return Finding(
            "link", Status.FAIL, f"{interface.name} has no carrier", "set its other end up"
        )
    return Finding("link", Status.OK, f"{interface.name} is up")


def check_driver(interface: Interface) -> Finding:
    """Which XDP mode `auto` will choose."""
    driver = interface.driver or "unknown"
    if driver in BONDS:
        return Finding(
            "driver",
            Status.FAIL,
            f"{interface.name} is a bond: AF_XDP on it sees no or one queue only",
            "open a port on each member interface",
        )
    if driver in SOFTWARE_DRIVERS or interface.name == "lo":
        return Finding("driver", Status.OK, f"driver {driver}: auto chooses generic XDP")
    return Finding("driver", Status.OK, f"driver {driver}: auto tries native XDP first")


def check_mtu(interface: Interface) -> Finding:
    """Whether frames fit one buffer."""
    if interface.mtu > SINGLE_BUFFER_MTU:
        return Finding(
            "mtu",
            Status.NOTE,
            f"MTU {interface.mtu} B needs several buffers a frame",
            f"ip link set {interface.name} mtu {SINGLE_BUFFER_MTU} is the fastest for bulk",
        )
    return Finding("mtu", Status.OK, f"MTU {interface.mtu} B")


def check_queues(interface: Interface) -> Finding:
    """Every RX queue needs a socket, or its packets go to the kernel."""
    text = counted(interface.rx_queues, "RX queue")
    return Finding("queues", Status.OK, f"{text}: a port opens them all by default")


def check_xdp(interface: Interface) -> Finding:
    """No other XDP program holds the interface."""
    if interface.xdp_mode == XDP_ATTACHED_NONE:
        return Finding("xdp", Status.OK, "no XDP program is attached")
    return Finding(
        "xdp",
        Status.FAIL,
        f"XDP program {interface.xdp_program} is attached to {interface.name}",
        f"stop its owner, or if it died: ip link set {interface.name} xdp off",
        partial(_detach, interface.index),
    )


def check_default_route(interface: Interface) -> Finding:
    """Only our own packets are taken, but a switch port takes all."""
    if interface.holds_default_route:
        return Finding(
            "default_route",
            Status.WARN,
            f"{interface.name} holds the default route; a switch port on it would cut the "
            "machine off",
            "use another interface for switch ports (hosts are safe: the kernel keeps the rest)",
        )
    return Finding("default_route", Status.OK, "the default route is elsewhere")


def check_offloads(interface: Interface) -> list[Finding]:
    """Offloads that hand a software switch super-frames or frames without their tag."""
    with Ethtool() as ethtool:
        features = ethtool.get_features(interface.name).features
    active = [
        short
        for name, short in HARMFUL_OFFLOADS.items()
        if name in features and features[name].enable
    ]
    if not active or interface.driver not in SOFTWARE_DRIVERS:
        return [Finding("offloads", Status.OK, "no offload stands in a software switch's way")]
    words = " ".join(f"{short} off" for short in active)
    return [
        Finding(
            "offloads",
            Status.WARN,
            f"{', '.join(active)} on {interface.name}: kernel traffic through a software switch "
            "arrives as super-frames or without its VLAN tag",
            f"ethtool -K {interface.name} {words}",
            partial(_disable, interface.name),
        )
    ]


def _set_up(index: int) -> None:
    with IPRoute() as ipr:
        ipr.link("set", index=index, state="up")


def _detach(index: int) -> None:
    with IPRoute() as ipr:
        ipr.link("set", index=index, xdp_fd=-1)


def _disable(name: str) -> None:
    with Ethtool() as ethtool:
        features = ethtool.get_features(name)
        for long_name in HARMFUL_OFFLOADS:
            if long_name in features.features:
                features.features[long_name].enable = False
        ethtool.set_features(name, features)
