"""Messages of the kernel, made by hand and real ones beside what `ip` reads in them."""

from __future__ import annotations

import errno
import json
import select
import socket
import struct
from typing import TYPE_CHECKING

import pytest
from carrier import wait_for_carrier
from namespaces import Namespace, namespace_of_its_own

from ndpstack import _netns
from ndpstack._netlink import (
    LOCAL,
    UNIVERSE,
    Event,
    Events,
    Hop,
    Link,
    Neighbour,
    Netlink,
    Route,
    events_of,
)
from ndpstack.testbed import why_unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS = 20
OPERATES = {0: "UNKNOWN", 3: "LOWERLAYERDOWN", 6: "UP"}
NEW_LINK, DEL_LINK, NEW_ROUTE, DEL_NEIGHBOUR, NEW_RULE = 16, 17, 24, 29, 32


def attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def message(kind: int, body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body


def link(kind: int, family: int, operates: int, flags: int) -> bytes:
    head = struct.pack("=BxHiII", family, 1, 7, flags, 0)
    return message(kind, head + attribute(3, b"eth0\0") + attribute(16, bytes([operates])))


@pytest.mark.parametrize(
    ("operates", "flags", "up"),
    [(6, 0, True), (3, 0x41, False), (0, 0x41, True), (0, 0x01, False), (0, 0x40, False)],
)
def test_a_link_is_up_by_its_state_or_else_its_flags(operates: int, flags: int, up: bool) -> None:
    (event,) = events_of(link(NEW_LINK, socket.AF_UNSPEC, operates, flags))
    assert event == Event(Link(7, "eth0", flags, OPERATES[operates]), gone=False)
    assert isinstance(event.what, Link)
    assert event.what.up is up


def test_one_datagram_tells_much_and_what_is_not_ours_is_left_out() -> None:
    mac = bytes.fromhex("020000000007")
    neighbour = struct.pack("=BxxxiHBB", socket.AF_INET6, 7, 0x02, 0, 1)
    neighbour += attribute(2, mac) + attribute(1, socket.inet_pton(socket.AF_INET6, "fd00::7"))
    two = b"".join(
        struct.pack("=HBBi", 16, 0, 0, interface) + attribute(5, bytes([10, 0, 0, interface]))
        for interface in (3, 4)
    )
    route = struct.pack("=BBBBBBBBI", socket.AF_INET, 8, 0, 0, 252, 0, 0, 1, 0)
    route += attribute(1, bytes([10, 0, 0, 0])) + attribute(9, two)
    route += attribute(15, struct.pack("=I", 1000)) + attribute(8, attribute(2, b"\x78\5\0\0"))
    data = (
        link(DEL_LINK, socket.AF_BRIDGE, 6, 0)  # It left its bridge, and is there.
        + message(NEW_RULE, bytes(12))
        + message(NEW_ROUTE, route)
        + message(DEL_NEIGHBOUR, neighbour)
        + link(DEL_LINK, socket.AF_UNSPEC, 6, 0)
    )
    assert list(events_of(data)) == [
        Event(Route("10.0.0.0/8", 1, 1000, (Hop(3, "10.0.0.3"), Hop(4, "10.0.0.4")), 1400), False),
        Event(Neighbour(7, "fd00::7", 0x02, mac), True),
        Event(Link(7, "eth0", 0, "UP"), True),
    ]


@pytest.mark.parametrize(
    ("state", "mac", "usable"),
    [
        (0x02, "020000000007", True),
        (0x80, "020000000007", True),
        (0x20, "020000000007", False),
        (0x40, "01005e000001", False),
        (0x02, "", False),
    ],
)
def test_a_neighbour_is_usable_when_its_address_is_believed_in(
    state: int, mac: str, usable: bool
) -> None:
    assert Neighbour(1, "10.0.0.7", state, bytes.fromhex(mac)).usable is usable


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    reason = why_unavailable()
    if reason:
        pytest.skip(reason)
    with namespace_of_its_own() as made:
        made.ip("link", "add", "p1", "type", "veth", "peer", "name", "q1")
        for name in ("lo", "p1", "q1"):
            made.ip("link", "set", name, "up")
        made.ip("addr", "add", "10.9.0.1/24", "dev", "p1")
        made.ip("addr", "add", "10.7.0.1", "peer", "10.7.0.2", "dev", "q1")
        made.ip("addr", "add", "fd00::1/64", "dev", "p1", "nodad")
        wait_for_carrier(made.name, "p1", "q1")
        yield made


def test_it_reads_what_ip_reads(namespace: Namespace) -> None:
    namespace.ip("route", "add", "10.8.0.0/16", "via", "10.9.0.2", "mtu", "1400")
    namespace.ip("route", "add", "fd08::/16", "via", "fd00::2")
    namespace.ip("route", "add", "10.6.0.0/16", "via", "inet6", "fd00::3", "dev", "p1")
    both = ["nexthop", "via", "10.9.0.3", "dev", "p1", "nexthop", "via", "10.7.0.2", "dev", "q1"]
    namespace.ip("route", "add", "10.5.0.0/16", *both)
    namespace.ip("neigh", "add", "10.9.0.2", "lladdr", "02:00:00:00:00:07", "dev", "p1")
    with namespace, Netlink() as netlink:
        check_reading(namespace, netlink)


def check_reading(namespace: Namespace, netlink: Netlink) -> None:
    links = {made.name: made for made in netlink.links()}
    shown = json.loads(namespace.ip("-j", "link"))
    assert {n: made.interface for n, made in links.items()} == {
        row["ifname"]: row["ifindex"] for row in shown
    }
    assert links["p1"].up
    p1, q1 = links["p1"].interface, links["q1"].interface
    own = {(a.interface, a.address) for a in netlink.addresses() if a.scope == UNIVERSE}
    assert own == {(p1, "10.9.0.1"), (q1, "10.7.0.1"), (p1, "fd00::1")}
    routes = {route.prefix: route for route in netlink.routes()}
    assert routes["10.8.0.0/16"].hops == (Hop(p1, "10.9.0.2"),)
    assert routes["10.8.0.0/16"].mtu == 1400
    assert routes["fd08::/16"].hops == (Hop(p1, "fd00::2"),)
    assert routes["10.6.0.0/16"].hops == (Hop(p1, "fd00::3"),)
    assert routes["10.5.0.0/16"].hops == (Hop(p1, "10.9.0.3"), Hop(q1, "10.7.0.2"))
    assert routes["10.9.0.0/24"].hops == (Hop(p1, ""),)
    assert "10.9.0.1/32" not in routes, "the local table's"
    made = Neighbour(p1, "10.9.0.2", 0x80, bytes.fromhex("020000000007"))
    assert made in netlink.neighbours()
    assert netlink.neighbour(p1, "10.9.0.2") == made
    assert netlink.neighbour(p1, "10.9.0.9") is None
    assert netlink.neighbour(9999, "10.9.0.2") is None
    assert netlink.route_to("10.8.1.1").hops == (Hop(p1, "10.9.0.2"),)
    assert netlink.route_to("10.9.0.1").kind == LOCAL
    with pytest.raises(OSError, match="unreachable") as caught:
        netlink.route_to("203.0.113.1")
    assert caught.value.errno == errno.ENETUNREACH
    assert netlink.route_to("fd08::1").hops == (Hop(p1, "fd00::2"),)


def heard(events: Events, wanted: Callable[[Event], bool]) -> bool:
    """Whether such an event comes in time."""
    while select.select([events], [], [], SECONDS)[0]:
        found = list(events.take())
        if any(map(wanted, found)):
            return True
    return False


def test_changes_are_told(namespace: Namespace) -> None:
    with namespace, Netlink() as netlink, Events() as events:
        p1 = next(made.interface for made in netlink.links() if made.name == "p1")
        netlink.probe(p1, "10.9.0.2")
        assert heard(events, lambda event: isinstance(event.what, Neighbour)
                     and event.what.address == "10.9.0.2" and not event.what.usable)  # fmt: skip
        namespace.ip("route", "add", "10.8.0.0/16", "via", "10.9.0.2")
        assert heard(events, lambda event: isinstance(event.what, Route)
                     and event.what.prefix == "10.8.0.0/16" and not event.gone)  # fmt: skip
        namespace.ip("link", "del", "p1")
        assert heard(events, lambda event: isinstance(event.what, Link)
                     and event.what.name == "p1" and event.gone)  # fmt: skip
        with pytest.raises(OSError, match="No such device"):
            netlink.probe(p1, "10.9.0.2")


def test_lost_events_are_said_to_be_lost(
    namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ndpstack._netlink._EVENTS_BUFFER", 1)
    with namespace, Events() as events:
        namespace.batch([f"route add 10.8.{part}.0/24 via 10.9.0.2" for part in range(100)])
        with pytest.raises(OSError, match="No buffer space"):
            list(events.take())


def test_a_namespace_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        _netns.call_inside("ndsn-nowhere", Netlink)
