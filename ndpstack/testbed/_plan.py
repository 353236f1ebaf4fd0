"""What a testbed consists of: hosts, switches and the links between them, with their addresses.

A plan is pure data: it says what `Lab` will build and makes nothing itself.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from typing import Literal

from ndpstack.testbed._errors import TestbedError

NODES_MAX = 250
"""Most nodes of one plan: addresses and MACs hold the node's index in one byte."""

NODE_NAME = re.compile(r"[a-z][a-z0-9]{0,14}")

HOST_NETWORK_V4 = ipaddress.IPv4Network("10.111.0.0/24")
HOST_NETWORK_V6 = ipaddress.IPv6Network("fd6e:6470::/64")

MTU_MIN = 1280
MTU_MAX = 9216

Kind = Literal["host", "switch"]


@dataclass(frozen=True)
class Node:
    """One network namespace of the testbed."""

    name: str
    """Lower-case letters and digits, at most 15."""

    kind: Kind
    """A host has an address and runs applications; a switch has only ports."""


@dataclass(frozen=True)
class Link:
    """A veth pair between two nodes; interface names count up from `p0` at each node."""

    a: str
    b: str
    a_port: str
    b_port: str
    mtu: int


@dataclass(frozen=True)
class HostAddress:
    """How one host is reached: its interface and the addresses on it."""

    interface: str
    mac: str
    ipv4: ipaddress.IPv4Address
    ipv6: ipaddress.IPv6Address


@dataclass(frozen=True)
class Plan:
    """A checked set of nodes and links."""

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    _index: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Checks names, ends and limits.

        Raises:
            TestbedError: The plan cannot be built; the text names the part and the remedy.
        """
        index = {node.name: position for position, node in enumerate(self.nodes)}
        object.__setattr__(self, "_index", index)
        if len(index) != len(self.nodes):
            raise TestbedError("two nodes have the same name; give each node its own")
        if len(self.nodes) > NODES_MAX:
            raise TestbedError(f"{len(self.nodes)} nodes are more than {NODES_MAX}; use --on sim")
        for node in self.nodes:
            if not NODE_NAME.fullmatch(node.name):
                raise TestbedError(
                    f"node name {node.name!r} is not 1 to 15 lower-case letters and digits"
                )
        for link in self.links:
            for end in (link.a, link.b):
                if end not in index:
                    raise TestbedError(f"link {link.a}-{link.b}: there is no node {end!r}")
            if not MTU_MIN <= link.mtu <= MTU_MAX:
                raise TestbedError(
                    f"link {link.a}-{link.b}: MTU {link.mtu} B is not in {MTU_MIN}..{MTU_MAX} B"
                )
        for node in self.hosts:
            ports = [port for port, _ in self.ports(node.name)]
            if len(ports) != 1:
                raise TestbedError(
                    f"host {node.name} has {len(ports)} links; a host has exactly one"
                )

    @property
    def hosts(self) -> tuple[Node, ...]:
        """The hosts, in the order of their addresses."""
        return tuple(node for node in self.nodes if node.kind == "host")

    @property
    def switches(self) -> tuple[Node, ...]:
        """The switches, in the order of the plan."""
        return tuple(node for node in self.nodes if node.kind == "switch")

    def ports(self, name: str) -> list[tuple[str, str]]:
        """The ports of a node as (interface, neighbour's name), in port order."""
        found = []
        for link in self.links:
            if link.a == name:
                found.append((link.a_port, link.b))
            if link.b == name:
                found.append((link.b_port, link.a))
        return sorted(found, key=lambda port: int(port[0][1:]))

    def link(self, a: str, b: str) -> Link:
        """The link between two nodes, the first where they have several.

        Raises:
            TestbedError: There is none.
        """
        found = next((link for link in self.links if {link.a, link.b} == {a, b}), None)
        if found is None:
            raise TestbedError(f"there is no link between {a!r} and {b!r}")
        return found

    def mac(self, name: str, interface: str) -> str:
        """The fixed MAC address of a port: locally administered, node and port in it."""
        return f"02:6e:64:00:{self._index[name]:02x}:{int(interface[1:]):02x}"

    def address(self, name: str) -> HostAddress:
        """The addresses of a host.

        Raises:
            TestbedError: There is no such host.
        """
        names = [node.name for node in self.hosts]
        if name not in names:
            raise TestbedError(f"there is no host {name!r}; the hosts are {', '.join(names)}")
        number = names.index(name) + 1
        interface = self.ports(name)[0][0]
        return HostAddress(
            interface=interface,
            mac=self.mac(name, interface),
            ipv4=HOST_NETWORK_V4[number],
            ipv6=HOST_NETWORK_V6[number],
        )


class PlanBuilder:
    """Collects nodes and links and numbers the ports."""

    def __init__(self, mtu: int = 1500) -> None:
        self._mtu = mtu
        self._nodes: list[Node] = []
        self._links: list[Link] = []
        self._ports: dict[str, int] = {}

    def host(self, name: str) -> str:
        """Adds a host and returns its name."""
        self._nodes.append(Node(name, "host"))
        return name

    def switch(self, name: str) -> str:
        """Adds a switch and returns its name."""
        self._nodes.append(Node(name, "switch"))
        return name

    def link(self, a: str, b: str) -> None:
        """Joins two nodes by a veth pair."""
        self._links.append(Link(a, b, self._port(a), self._port(b), self._mtu))

    def build(self) -> Plan:
        """The finished plan, checked."""
        return Plan(tuple(self._nodes), tuple(self._links))

    def _port(self, name: str) -> str:
        number = self._ports.get(name, 0)
        self._ports[name] = number + 1
        return f"p{number}"


def back_to_back(mtu: int = 1500) -> Plan:
    """Two hosts, one cable."""
    builder = PlanBuilder(mtu)
    builder.link(builder.host("h0"), builder.host("h1"))
    return builder.build()


def single_switch(hosts: int, mtu: int = 1500) -> Plan:
    """Hosts h0.. around one switch s0."""
    builder = PlanBuilder(mtu)
    switch = builder.switch("s0")
    for number in range(hosts):
        builder.link(builder.host(f"h{number}"), switch)
    return builder.build()


def leaf_spine(leaves: int, spines: int, hosts_per_leaf: int, mtu: int = 1500) -> Plan:
    """Hosts under leaves, every leaf joined to every spine.

    `leaf_spine(4, 2, 2)` is the NDP paper's testbed: 8 servers, six 4-port switches (section 5.1).
    A leaf's first ports lead to its hosts, the others to spine 0, 1, ... in order.
    """
    builder = PlanBuilder(mtu)
    for leaf in range(leaves):
        builder.switch(f"leaf{leaf}")
        for number in range(hosts_per_leaf):
            host = builder.host(f"h{leaf * hosts_per_leaf + number}")
            builder.link(host, f"leaf{leaf}")
    for spine in range(spines):
        builder.switch(f"spine{spine}")
    for leaf in range(leaves):
        for spine in range(spines):
            builder.link(f"leaf{leaf}", f"spine{spine}")
    return builder.build()
