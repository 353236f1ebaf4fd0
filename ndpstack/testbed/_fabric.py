"""The switches of a blueprint, run by a thread of this process over ports of any kind."""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ndpstack._core import ffi, lib
from ndpstack.scenario._decode import Place
from ndpstack.scenario._disciplines import discipline
from ndpstack.scenario._protocols import protocol
from ndpstack.scenario._schema import Queue
from ndpstack.sim._simulation import counter_names
from ndpstack.testbed._errors import TestbedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from numpy.typing import NDArray

    from ndpstack._core import CData, nd_port_config, nd_switch, nd_switch_port_config, nd_worker
    from ndpstack.scenario import Scenario
    from ndpstack.testbed import Lab
    from ndpstack.testbed._blueprint import Blueprint, Route, SwitchPort

PACKETS = 8192
"""Buffers of a switch."""

FRAME_BYTES_ABOVE_MTU = 22
"""Ethernet header and two VLAN tags."""

CATCH_UP_NS = 10_000_000
"""Lost time that a port makes up for: threads pause for milliseconds on shared machines."""

UP_SECONDS = 5.0
"""How long the links may take to be up."""

_MODES = {
    "source": lib.ND_ECMP_PATH,
    "random": lib.ND_ECMP_RANDOM,
    "round-robin": lib.ND_ECMP_ROUND_ROBIN,
    "flow": lib.ND_ECMP_FLOW,
}

PLAIN_QUEUE = Queue(discipline="droptail")
"""What a plain switch has: 100 packets a port."""


@dataclass(frozen=True)
class PortName:
    """How a port of a node is opened."""

    backend: int
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
        config.backend, config.name, config.mtu = self.backend, name, mtu
        if self.namespace:
            config.netns = namespace
        config.memory.listen = self.listens
        return [name, namespace]


def port_names(drawing: Blueprint, lab: Lab | None) -> Callable[[str, str], PortName]:
    """Names every port of a plan: interfaces of the lab, or memory rings without one."""
    plan = drawing.plan
    if lab is not None:
        made = lab

        def in_lab(node: str, port: str) -> PortName:
            mac = bytes.fromhex(plan.mac(node, port).replace(":", ""))
            return PortName(lib.ND_PORT_XDP, port, made.namespace(node), mac)

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
        return PortName(lib.ND_PORT_MEMORY, name, "", mac, listens=listens)

    return in_memory


class Fabric:
    """All switches of a blueprint; a context manager.

    Args:
        scenario: Disciplines, routes and rates.
        drawing: Switches, their ports and routes.
        port: How the port of a node is opened.
        plain: Switches as TCP knows them: droptail, and each flow goes one way.
    """

    def __init__(
        self,
        scenario: Scenario,
        drawing: Blueprint,
        port: Callable[[str, str], PortName],
        *,
        plain: bool = False,
    ) -> None:
        self._scenario = scenario
        self._drawing = drawing
        self._port = port
        self._plain = plain
        self._keep: list[CData] = []
        self._switches: dict[str, nd_switch] = {}
        self._indices: dict[tuple[str, str], int] = {}
        self._modes: set[str] = set()
        self._worker: nd_worker | None = None

    def __enter__(self) -> Self:
        try:
            for node in self._drawing.plan.switches:
                self._build(node.name)
            self._run()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stops the switches and closes their ports."""
        if self._worker is not None:
            lib.nd_worker_stop(self._worker)
            self._worker = None
        for made in self._switches.values():
            lib.nd_switch_free(made)
        self._switches.clear()

    def _build(self, name: str) -> None:
        error = ffi.new("struct nd_error *")
        text = ffi.new("char[]", name.encode())
        config = ffi.new("struct nd_switch_config *")
        config.name, config.packets_max = text, PACKETS
        config.frame_bytes_max = self._drawing.plan.links[0].mtu + FRAME_BYTES_ABOVE_MTU
        config.fdb_max = 1024
        config.fdb_aging = 2**62
        config.frame = lib.nd_frame_config_default()
        config.seed = self._scenario.seed * 1_000_003 + len(self._switches)
        made = lib.nd_switch_new(config, error)
        if not made:
            raise TestbedError(f"switch {name}: {ffi.string(error.text).decode()}")
        self._switches[name] = made
        for port, _ in self._drawing.plan.ports(name):
            self._add_port(name, port)
        self._add_routes(name)

    def _add_port(self, switch: str, name: str) -> None:
        error = ffi.new("struct nd_error *")
        opening = ffi.new("struct nd_port_config *")
        keep = self._port(switch, name).store(opening, self._drawing.plan.links[0].mtu)
        opening.filter.everything = True
        port = lib.nd_port_open(opening, error)
        if not port:
            raise TestbedError(f"{switch}: {ffi.string(error.text).decode()}")
        del keep
        self._modes.add(ffi.string(port.mode).decode())
        config = ffi.new("struct nd_switch_port_config *")
        leads_to = self._drawing.ports[switch, name]
        config.port, config.rate_bps, config.catch_up = port, leads_to.rate_bps, CATCH_UP_NS
        config.off_tree = not leads_to.on_tree
        self._set_queue(config, leads_to)
        last_hop = leads_to.tier == "edge-down"
        frame = lib.nd_frame_config_default()
        config.trim.dscp = frame.dscp_trimmed_last_hop if last_hop else frame.dscp_trimmed
        config.trim.pcp = lib.ND_FRAME_PCP_KEEP
        config.trim.location = lib.ND_NDP_TRIM_LAST_HOP if last_hop else lib.ND_NDP_TRIM_FABRIC
        index = lib.nd_switch_add_port(self._switches[switch], config, error)
        if index < 0:
            lib.nd_port_close(port)
            raise TestbedError(f"{switch}: {ffi.string(error.text).decode()}")
        self._indices[switch, name] = index

    def _set_queue(self, config: nd_switch_port_config, leads_to: SwitchPort) -> None:
        tiers = {str(tier): queue for tier, queue in self._scenario.switch.ports.items()}
        table = tiers.get(leads_to.tier, self._scenario.switch.queue)
        if self._plain:
            table = PLAIN_QUEUE
        if table.phantom is not None:
            raise TestbedError("phantom queues of a scenario are simulated only; use --on sim")
        place = Place("scenario") / "switch" / "queue"
        found = discipline(table, place)
        made = found.configure(
            table, self._packet_bytes(), place, last_hop=leads_to.tier == "edge-down"
        )
        self._keep.append(made)
        config.discipline, config.discipline_config = found.ops, made

    def _packet_bytes(self) -> int:
        scenario = self._scenario
        return max(
            protocol(name, Place("scenario"))
            .configure(table, scenario.topology.rate, Place("scenario"))
            .sizes.packet_bytes
            for name, table in scenario.transport.items()
        )

    def _add_routes(self, switch: str) -> None:
        made = self._switches[switch]
        groups: dict[Route, int] = {}
        for host, route in self._drawing.routes[switch].items():
            to = self._indices[switch, route.ports[0]]
            if len(route.ports) > 1:
                if route not in groups:
                    groups[route] = self._add_group(switch, route)
                to = lib.ND_SWITCH_GROUP | groups[route]
            mac = ffi.new("uint8_t[]", self._port(host, "p0").mac)
            if lib.nd_switch_set_address(made, mac, to) < 0:
                raise TestbedError(f"{switch}: no room for the address of {host}")

    def _add_group(self, switch: str, route: Route) -> int:
        mode = _MODES["flow" if self._plain else self._scenario.switch.route]
        ports = ffi.new("uint16_t[]", [self._indices[switch, port] for port in route.ports])
        group = lib.nd_switch_add_group(
            self._switches[switch], mode, ports, len(route.ports), route.divisor
        )
        if group < 0:
            raise TestbedError(f"{switch}: it has too many groups of equal paths")
        return group

    def _run(self) -> None:
        if not self._switches:
            return
        error = ffi.new("struct nd_error *")
        config = ffi.new("struct nd_worker_config *", lib.nd_worker_config_default())
        worker = lib.nd_worker_start(config, error)
        if not worker:
            raise TestbedError(f"switches: {ffi.string(error.text).decode()}")
        self._worker = worker
        for name, made in self._switches.items():
            if lib.nd_worker_add(worker, made) < 0:
                raise TestbedError(f"switch {name}: a thread runs no more than 16 switches")

    def wait_for_links(self) -> None:
        """Waits until every link is up, those to hosts included.

        Raises:
            TestbedError: One is not, after UP_SECONDS.
        """
        deadline = time.monotonic() + UP_SECONDS
        for (switch, name), index in self._indices.items():
            while not self._switches[switch].ports[index].up:
                if time.monotonic() > deadline:
                    raise TestbedError(
                        f"port {name} of {switch} is not up after {UP_SECONDS:.0f} s"
                    )
                time.sleep(0.005)

    def queue_counters(self, ports: int) -> tuple[list[str], NDArray[np.uint64]]:
        """Names, and a row for each port as the simulator numbers them."""
        names = counter_names(lib.nd_queue_counters_table)
        table = np.zeros((ports, len(names)), np.uint64)
        for (switch, name), leads_to in self._drawing.ports.items():
            counters = self._switches[switch].ports[self._indices[switch, name]].queue_counters
            words = ffi.cast("uint64_t *", ffi.addressof(counters))
            table[leads_to.number] = list(words[0 : len(names)])
        return names, table

    def conditions(self) -> dict[str, str]:
        """What the switches are."""
        if not self._switches:
            return {}
        modes = ", ".join(sorted(self._modes))
        return {"switches": f"{len(self._switches)} in one thread, ports {modes}"}

    def audit(self) -> str | None:
        """What breaks conservation in any switch, or None. Stops them for good."""
        worker = self._worker
        if worker is None:
            return None
        for name, made in self._switches.items():
            lib.nd_worker_remove(worker, made)
            wrong = lib.nd_switch_audit(made)
            if wrong:
                return f"switch {name}: {ffi.string(wrong).decode()}"
        return None
