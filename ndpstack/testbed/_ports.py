"""How the ports of a fabric are opened: interfaces of a lab, or memory rings without one."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ndpstack._core import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Callable

    from ndpstack._core import CData, nd_port_config
    from ndpstack.testbed import Lab
    from ndpstack.testbed._blueprint import Blueprint

Backend = Literal["xdp", "memory"]

_BACKENDS: dict[Backend, int] = {"xdp": lib.ND_PORT_XDP, "memory": lib.ND_PORT_MEMORY}


@dataclass(frozen=True)
class PortName:
    """How a port of a node is opened."""

    backend: Backend
    name: str
    namespace: str
    """Empty: this process's."""
    mac: bytes
    """Of the node at this end."""
    listens: bool = False
    """Memory: this end owns the name."""

    def store(self, config: nd_port_config, mtu: int) -> list[CData]:
        """Into a port's config; what it points to must live until that is open."""
        name = ffi.new("char[]", self.name.encode())
        namespace = ffi.new("char[]", self.namespace.encode())
        config.backend, config.name, config.mtu = _BACKENDS[self.backend], name, mtu
        if self.namespace:
            config.netns = namespace
        config.memory.listen = self.listens
        return [name, namespace]

    def keys(self, mtu: int) -> dict[str, object]:
        """Of a port in switchd's configuration."""
        found: dict[str, object] = {
            "backend": self.backend,
            "device": self.name,
            "mtu": f"{mtu}B",
        }
        if self.namespace:
            found["netns"] = self.namespace
        if self.listens:
            found["listen"] = True
        return found


def port_names(drawing: Blueprint, lab: Lab | None) -> Callable[[str, str], PortName]:
    """Names every port of a plan: interfaces of the lab, or memory rings without one."""
    plan = drawing.plan
    if lab is not None:
        made = lab

        def in_lab(node: str, port: str) -> PortName:
            mac = bytes.fromhex(plan.mac(node, port).replace(":", ""))
            return PortName("xdp", port, made.namespace(node), mac)

        return in_lab
    prefix = f"ndpstack-{os.getpid()}-{secrets.token_hex(3)}"
    ends: dict[tuple[str, str], tuple[str, bool]] = {}
    hosts = {node.name for node in plan.hosts}
    for number, link in enumerate(plan.links):
        # The end that is opened first listens: switches before hosts, then in order of the plan.
        b_first = link.a in hosts and link.b not in hosts
        ends[link.a, link.a_port] = (f"{prefix}-{number}", not b_first)
        ends[link.b, link.b_port] = (f"{prefix}-{number}", b_first)

    def in_memory(node: str, port: str) -> PortName:
        name, listens = ends[node, port]
        # What a stack on a memory port calls itself.
        mac = b"\x02\x00" + plan.address(node).ipv4.packed if node in hosts else bytes(6)
        return PortName("memory", name, "", mac, listens=listens)

    return in_memory
