"""The switches of a blueprint as a configuration of switchd."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ndpstack._disciplines import FAIR, Queue, fair_parts, fair_share, single
from ndpstack._priority import LEVEL
from ndpstack.scenario._protocols import protocol
from ndpstack.switch._config import PORTS_MAX, SWITCHES_MAX
from ndpstack.testbed._blueprint import LAST_HOP
from ndpstack.testbed._errors import TestbedError
from ndpstack.toml import Place
from ndpstack.toml.structs import spelled

if TYPE_CHECKING:
    from collections.abc import Callable

    from ndpstack.scenario import Scenario
    from ndpstack.testbed._blueprint import Blueprint, Route, SwitchPort
    from ndpstack.testbed._plan import Plan
    from ndpstack.testbed._ports import PortName
    from ndpstack.toml import Table

PACKETS = 8192
"""Buffers of a switch."""

FRAME_BYTES_ABOVE_MTU = 22
"""Ethernet header and two VLAN tags."""

CATCH_UP = "10ms"
"""Lost time that a port makes up for: threads pause for milliseconds on shared machines."""

SPINNING_CPUS_MIN = 4
"""With fewer, what the switches' thread spins away is what hosts need."""

SOCKET, HOSTS_SOCKET = "switchd.sock", "hosts.sock"

_PLACE = Place("scenario") / "switch" / "queue"

_MODES = {
    "source": "path",
    "random": "random",
    "round-robin": "round-robin",
    "flow": "flow",
}


def switchd_settings(
    scenario: Scenario,
    drawing: Blueprint,
    port: Callable[[str, str], PortName],
    *,
    plain_packets: int = 0,
) -> Table:
    """The configuration, as a TOML table.

    Args:
        scenario: Disciplines, routes and rates.
        drawing: Switches, their ports and routes.
        port: How the port of a node is opened.
        plain_packets: Above 0: switches as TCP knows them, that each flow crosses by one way and
            whose ports drop what exceeds so many packets.

    Raises:
        TestbedError: There are more switches, or ports of one, than a switchd runs, or they share
            a buffer.
    """
    _require_room(drawing.plan)
    if scenario.switch.shared_buffer is not None:
        raise TestbedError(
            "`switch.shared-buffer` is simulated only; use --on sim, or leave it out"
        )
    return _Writer(scenario, drawing, port, plain_packets).table()


def _require_room(plan: Plan) -> None:
    remedy = "choose a smaller topology, or simulate it: ndpstack run --on sim"
    if len(plan.switches) > SWITCHES_MAX:
        raise TestbedError(
            f"{len(plan.switches)} switches are more than the {SWITCHES_MAX} that one switchd "
            f"runs; {remedy}"
        )
    for node in plan.switches:
        ports = len(plan.ports(node.name))
        if ports > PORTS_MAX:
            raise TestbedError(
                f"{ports} ports of {node.name} are more than the {PORTS_MAX} that a switch has; "
                f"{remedy}"
            )


class _Writer:
    def __init__(
        self,
        scenario: Scenario,
        drawing: Blueprint,
        port: Callable[[str, str], PortName],
        plain_packets: int,
    ) -> None:
        self._scenario, self._drawing, self._port = scenario, drawing, port
        self._mtu = drawing.plan.links[0].mtu
        self._mode = "flow" if plain_packets else _MODES[scenario.switch.route]
        plain = Queue(discipline="droptail", settings={"limit": f"{plain_packets}pkt"})
        tiers = {str(tier): queue for tier, queue in scenario.switch.ports.items()}
        self._tiers = {} if plain_packets else tiers
        self._queue = plain if plain_packets else scenario.switch.queue
        self._profiles: dict[str, object] = {}

    def table(self) -> Table:
        nodes = self._drawing.plan.switches
        switches = {node.name: self._switch(index, node.name) for index, node in enumerate(nodes)}
        return {
            "daemon": self._daemon(),
            "profile": self._profiles,
            "switch": switches,
            "host": self._hosts(),
            "path": self._paths(),
        }

    def _daemon(self) -> Table:
        found: Table = {"control": SOCKET, "metrics": "", "captures": ".", "priority": LEVEL}
        if len(os.sched_getaffinity(0)) < SPINNING_CPUS_MIN:
            found["spin"] = "0ns"
        return found

    def _hosts(self) -> Table:
        """Each with the port that leads to it."""
        plan = self._drawing.plan
        hosts = {node.name for node in plan.hosts}
        return {
            neighbour: {
                "port": f"{switch.name}/{port}",
                "address": [str(plan.address(neighbour).ipv4)],
            }
            for switch in plan.switches
            for port, neighbour in plan.ports(switch.name)
            if neighbour in hosts
        }

    def _paths(self) -> list[Table]:
        """What hosts are told, and which links take it away."""
        plan = self._drawing.plan
        return [
            {
                "id": way.path,
                "value": way.path,
                "hosts": list(way.sources),
                "to": [f"{plan.address(target).ipv4}/32" for target in way.targets],
                "via": [f"{switch}/{port}" for switch, port in way.ports],
            }
            for way in self._drawing.ways
        ]

    def _switch(self, index: int, name: str) -> Table:
        groups: dict[Route, str] = {}
        addresses = [
            {"mac": self._port(host, "p0").mac.hex(":"), "to": self._target(route, groups)}
            for host, route in self._drawing.routes[name].items()
        ]
        return {
            "forwarding": "static",
            "packets": PACKETS,
            "frame": f"{self._mtu + FRAME_BYTES_ABOVE_MTU}B",
            "addresses": 1024,
            "seed": self._scenario.seed * 1_000_003 + index,
            "port": {
                port: self._port_table(name, port) for port, _ in self._drawing.plan.ports(name)
            },
            "group": {
                group: {"ports": list(route.ports), "mode": self._mode, "divisor": route.divisor}
                for route, group in groups.items()
            },
            "address": addresses,
        }

    def _target(self, route: Route, groups: dict[Route, str]) -> str:
        """Port or group that a route leads to."""
        if len(route.ports) == 1:
            return route.ports[0]
        return groups.setdefault(route, f"group{len(groups)}")

    def _port_table(self, switch: str, name: str) -> Table:
        leads_to = self._drawing.ports[switch, name]
        queue = self._tiers.get(leads_to.tier, self._queue)
        found: Table = {
            **self._port(switch, name).keys(self._mtu),
            "rate": f"{leads_to.rate_bps}bit",
            "catch-up": CATCH_UP,
            "role": "host" if leads_to.tier == LAST_HOP else "fabric",
            "profile": self._profile(leads_to, queue),
            "floods": leads_to.on_tree,
        }
        if queue.phantom is not None:
            found["phantom"] = {
                "rate": f"{leads_to.rate_bps * queue.phantom.drain // 10**6}bit",
                "threshold": f"{queue.phantom.threshold}B",
                "quantum": f"{queue.phantom.quantum}ps",
            }
        return found

    def _profile(self, leads_to: SwitchPort, queue: Queue) -> str:
        """The name of the discipline of ports like this one."""
        name = leads_to.tier if leads_to.tier in self._tiers else "fabric"
        if name not in self._profiles:
            self._profiles[name] = self._profile_table(queue)
        return name

    def _profile_table(self, queue: Queue) -> Table:
        if queue.discipline == FAIR:
            parts = {key: self._profile_table(part) for key, part in fair_parts(queue).items()}
            share = f"{fair_share(queue)}ppm"
            return {"discipline": FAIR, **parts, "ndp-share": share}
        found = single(queue, _PLACE)
        config = found.configure(queue, self._packet_bytes(), _PLACE)
        settings = spelled(config, found.struct)
        settings.pop("last_hop", None)  # The port's role says it.
        dashed = {key.replace("_", "-"): value for key, value in settings.items()}
        return {"discipline": queue.discipline, **dashed}

    def _packet_bytes(self) -> int:
        place, rate = Place("scenario"), self._scenario.topology.rate
        return max(
            protocol(name, place).configure(table, rate, place).sizes.packet_bytes
            for name, table in self._scenario.transport.items()
        )
