"""Checks of one interface: link, driver and XDP mode, MTU, offloads, queues, programs of others."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from functools import partial

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from ndpstack._core import ffi, lib
from ndpstack._units import counted
from ndpstack.doctor._features import Features, check_zero_copy, read_features
from ndpstack.doctor._finding import Finding, Status
from ndpstack.doctor._offloads import check_offloads
from ndpstack.doctor._xdp import check_xdp

BONDS = frozenset({"bonding", "team"})

SINGLE_BUFFER_MTU = 3498
"""Largest MTU whose frames fit one buffer of a page."""

CARRIER_SECONDS = 2.0
"""How long the kernel may take to tell of the carrier of an interface that was set up."""


@dataclass(frozen=True)
class Interface:
    """What a port finds of an interface."""

    name: str
    """The canonical one, where it was asked for by another."""
    index: int
    mtu: int
    up: bool
    carrier: bool
    ethernet: bool
    """Its packets begin with an Ethernet header."""
    driver: str
    """Empty when the device does not say."""
    is_software: bool
    """All of it is, so that `auto` takes generic XDP."""
    features: Features | None
    """None when the kernel does not tell."""
    rx_queues: int
    holds_default_route: bool


def read_interface(name: str) -> Interface | None:
    """Reads an interface of this network namespace, or None when there is none."""
    device = ffi.new("struct nd_device *")
    try:
        if lib.nd_device_open(device, os.fsencode(name), ffi.new("struct nd_error *")) < 0:
            return None
        return Interface(
            name=ffi.string(device.name).decode(),
            index=device.index,
            mtu=device.mtu,
            up=device.set_up,
            carrier=_has_carrier(device.index),
            ethernet=device.ethernet,
            driver=ffi.string(device.driver).decode(),
            is_software=lib.nd_xdp_prefers_generic(device.driver),
            features=read_features(device.index),
            rx_queues=device.queues,
            holds_default_route=lib.nd_device_is_default_route(device),
        )
    except NetlinkError:  # It was deleted meanwhile.
        return None
    finally:
        lib.nd_device_close(device)


def _has_carrier(index: int) -> bool:
    """By netlink, which knows it at once: the flag that ports look at may be a second late."""
    with IPRoute() as ipr:
        return bool(ipr.get_links(index)[0].get("carrier"))


def examine_interface(name: str, *, of_switch: bool = False) -> list[Finding]:
    """Runs every check of an interface.

    Args:
        name: Of an interface of the calling thread's network namespace.
        of_switch: It is a switch's port: whether its other end harms a switch is not the question.
    """
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
    findings = [
        check_link(interface),
        check_driver(interface),
        check_zero_copy(interface),
        check_mtu(interface),
        check_queues(interface),
        check_xdp(interface),
        check_default_route(interface),
        *check_offloads(interface, of_switch=of_switch),
    ]
    return [replace(finding, interface=interface.name) for finding in findings]


def check_link(interface: Interface) -> Finding:
    """The interface is up and has carrier."""
    if not interface.up:
        return Finding(
            "link",
            Status.FAIL,
            f"{interface.name} is down",
            f"ip link set {interface.name} up",
            partial(_set_up, interface),
        )
    if not interface.carrier:
        return Finding(
            "link",
            Status.FAIL,
            f"{interface.name} has no carrier",
            "check the cable, or set the other end of the pair up",
        )
    return Finding("link", Status.OK, f"{interface.name} is up")


def check_driver(interface: Interface) -> Finding:
    """Whether a port can be opened, and which XDP mode `auto` will choose."""
    driver = interface.driver or "unknown"
    if not interface.ethernet:
        return Finding(
            "driver",
            Status.FAIL,
            f"{interface.name} has packets without an Ethernet header, as tunnels (tun, WireGuard)"
            " have: neither XDP nor packet ports open on it",
            "use a udp port on its address",
        )
    if driver in BONDS:
        return Finding(
            "driver",
            Status.FAIL,
            f"{interface.name} is a bond: AF_XDP on it sees no or one queue only",
            "open a port on each member interface",
        )
    if interface.is_software:
        return Finding("driver", Status.OK, f"driver {driver}: auto chooses generic XDP")
    if interface.features is not None and Features.NATIVE not in interface.features:
        text = f"driver {driver} has no native XDP: auto falls back to generic"
        return Finding("driver", Status.NOTE, text)
    return Finding("driver", Status.OK, f"driver {driver}: auto tries native XDP first")


def check_mtu(interface: Interface) -> Finding:
    """Whether frames fit one buffer."""
    if interface.mtu > SINGLE_BUFFER_MTU:
        text = f"MTU {interface.mtu} B needs several buffers a frame"
        if interface.driver == "loopback":  # Its large MTU is the kernel's own gain.
            return Finding("mtu", Status.NOTE, text)
        remedy = f"ip link set {interface.name} mtu {SINGLE_BUFFER_MTU} is the fastest for bulk"
        return Finding("mtu", Status.NOTE, text, remedy)
    return Finding("mtu", Status.OK, f"MTU {interface.mtu} B")


def check_queues(interface: Interface) -> Finding:
    """Every RX queue needs a socket, or its packets go to the kernel."""
    text = counted(interface.rx_queues, "RX queue")
    return Finding("queues", Status.OK, f"{text}: a port opens them all by default")


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


def _set_up(interface: Interface) -> None:
    """Sets it up; what is said of its carrier next is then true."""
    with IPRoute() as ipr:
        ipr.link("set", index=interface.index, state="up")
    deadline = time.monotonic() + CARRIER_SECONDS
    while time.monotonic() < deadline:
        now = read_interface(interface.name)
        if now is None or now.carrier:
            return
        time.sleep(0.01)
