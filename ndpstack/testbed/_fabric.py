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
from ndpstack.scenario._settings import written
from ndpstack.sim._simulation import counter_names
from ndpstack.switch import (
    GroupConfig,
    Opening,
    PhantomConfig,
    PortConfig,
    QueueConfig,
    Switch,
    SwitchConfig,
    SwitchError,
    TrimConfig,
    Worker,
    WorkerConfig,
)
from ndpstack.testbed._errors import TestbedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from numpy.typing import NDArray

    from ndpstack._core import CData, nd_port_config
    from ndpstack.scenario import Scenario
    from ndpstack.switch._config import Backend, Mode
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

SPINNING_CPUS_MIN = 4
"""With fewer, what the switches' thread spins away is what hosts need."""

_MODES: dict[str, Mode] = {
    "source": "path",
    "random": "random",
    "round-robin": "round-robin",
    "flow": "flow",
}

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

    def opening(self, mtu: int) -> Opening:
        """For a switch."""
        return Opening(
            backend=self.backend,
            device=self.name,
            netns=self.namespace,
            mtu=mtu,
            listen=self.listens,
        )


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


class Fabric:
    """All switches of a blueprint; a context manager.

    Args:
        scenario: Disciplines, routes and rates.
        drawing: Switches, their ports and routes.
        port: How the port of a node is opened.
        plain_packets: Above 0: switches as TCP knows them, that each flow crosses by one way and
            whose ports drop what exceeds so many packets.
    """

    def __init__(
        self,
        scenario: Scenario,
        drawing: Blueprint,
        port: Callable[[str, str], PortName],
        *,
        plain_packets: int = 0,
    ) -> None:
        self._scenario = scenario
        self._drawing = drawing
        self._port = port
        self._plain_packets = plain_packets
        self._switches: dict[str, Switch] = {}
        self._modes: set[str] = set()
        self._worker: Worker | None = None

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
        for switch in self._switches.values():
            switch.close()
        if self._worker is not None:
            self._worker.close()
            self._worker = None
        self._switches.clear()

    def _build(self, name: str) -> None:
        config = SwitchConfig(
            name=name,
            packets=PACKETS,
            frame_bytes=self._drawing.plan.links[0].mtu + FRAME_BYTES_ABOVE_MTU,
            addresses=1024,
            learning=False,
            seed=self._scenario.seed * 1_000_003 + len(self._switches),
        )
        try:
            self._switches[name] = Switch(config)
            for port, _ in self._drawing.plan.ports(name):
                self._add_port(name, port)
            self._add_routes(name)
        except SwitchError as error:
            raise TestbedError(f"{name}: {error}") from error

    def _add_port(self, switch: str, name: str) -> None:
        leads_to = self._drawing.ports[switch, name]
        made = self._switches[switch]
        queue, phantom = self._queue(leads_to)
        made.add_port(
            PortConfig(
                name=name,
                opening=self._port(switch, name).opening(self._drawing.plan.links[0].mtu),
                queue=queue,
                rate_bps=leads_to.rate_bps,
                catch_up_ns=CATCH_UP_NS,
                trim=TrimConfig(last_hop=leads_to.tier == "edge-down"),
                phantom=phantom,
                floods=leads_to.on_tree,
            )
        )
        self._modes.add(made.port_state(name).mode)

    def _queue(self, leads_to: SwitchPort) -> tuple[QueueConfig, PhantomConfig | None]:
        tiers = {str(tier): queue for tier, queue in self._scenario.switch.ports.items()}
        table = tiers.get(leads_to.tier, self._scenario.switch.queue)
        if self._plain_packets:
            limit = {"limit": f"{self._plain_packets}pkt"}
            table = Queue(discipline="droptail", settings=limit)
        place = Place("scenario") / "switch" / "queue"
        found = discipline(table, place)
        last_hop = leads_to.tier == "edge-down"
        config = found.configure(table, self._packet_bytes(), place, last_hop=last_hop)
        queue = QueueConfig(
            discipline=table.discipline.replace("-", "_"), settings=written(config, found.struct)
        )
        if table.phantom is None:
            return queue, None
        return queue, PhantomConfig(
            rate_bps=leads_to.rate_bps * table.phantom.drain // 10**6,
            threshold_bytes=table.phantom.threshold,
            quantum_ns=table.phantom.quantum // 1000,
        )

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
        groups: dict[Route, str] = {}
        for host, route in self._drawing.routes[switch].items():
            to = route.ports[0]
            if len(route.ports) > 1:
                if route not in groups:
                    groups[route] = f"group {len(groups)}"
                    self._add_group(switch, groups[route], route)
                to = groups[route]
            made.set_address(self._port(host, "p0").mac.hex(":"), to)

    def _add_group(self, switch: str, name: str, route: Route) -> None:
        self._switches[switch].add_group(
            GroupConfig(
                name=name,
                ports=route.ports,
                mode=_MODES["flow" if self._plain_packets else self._scenario.switch.route],
                divisor=route.divisor,
            )
        )

    def _run(self) -> None:
        if not self._switches:
            return
        try:
            scarce = len(os.sched_getaffinity(0)) < SPINNING_CPUS_MIN
            self._worker = Worker(WorkerConfig(spin_ns=0) if scarce else WorkerConfig())
            for switch in self._switches.values():
                switch.start(self._worker)
        except SwitchError as error:
            raise TestbedError(f"switches: {error}") from error

    def wait_for_links(self) -> None:
        """Waits until every link is up, those to hosts included.

        Raises:
            TestbedError: One is not, after UP_SECONDS.
        """
        deadline = time.monotonic() + UP_SECONDS
        for switch, name in self._drawing.ports:
            while not self._switches[switch].port_reading(name).up:
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
            counters = self._switches[switch].port_counters(name)["queue"]
            table[leads_to.number] = list(counters.values())
        return names, table

    def conditions(self) -> dict[str, str]:
        """What the switches are."""
        if not self._switches:
            return {}
        modes = ", ".join(sorted(self._modes))
        return {"switches": f"{len(self._switches)} in one thread, ports {modes}"}

    def audit(self) -> str | None:
        """What breaks conservation in any switch, or None."""
        for name, switch in self._switches.items():
            wrong = switch.audit()
            if wrong:
                return f"switch {name}: {wrong}"
        return None
