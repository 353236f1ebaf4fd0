"""From the daemon's state to the rows that operators read."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from ndpstack.toml import inline
from switchd.config import BUILT_IN, Config, plain
from switchd.control import _rows as rows
from switchd.plan import EFFECTS, PROFILES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ndpstack.switch import Depth, PortConfig
    from switchd._controller import Controller
    from switchd._events import Event
    from switchd.dataplane import PortReading
    from switchd.plan import Change
    from switchd.runtime import LivePort

NOT_LOST = frozenset({"rx_invalid", "tx_invalid"})
"""Counters of trouble that is not counted in frames."""


def is_drop(group: str, name: str) -> bool:
    """Whether a counter counts frames that were lost."""
    if group == "port":
        return "dropped" in name or name in ("rx_ring_full", "rx_fill_empty")
    if group == "queue":
        return name == "dropped_packets"
    if group == "faults":
        return name == "lost"
    return group == "switch" and name.startswith("dropped_")


def is_trouble(group: str, name: str) -> bool:
    """Whether a counter belongs into the list of reasons."""
    if group == "queue":
        return name in (
            "dropped_packets",
            "evicted_packets",
            "trimmed_dropped_packets",
            "control_dropped_packets",
            "returned_packets",
        )
    if group == "port":
        return is_drop(group, name) or name in NOT_LOST or name in ("tx_stuck", "peer_refused")
    return is_drop(group, name) or group in ("faults", "wire") or name == "full"


def state_of(port: LivePort, reading: PortReading | None) -> tuple[str, str]:
    """A port's state in one word, and the reason."""
    if not port.plan.enabled:
        return "disabled", "by configuration"
    if port.error:
        return "absent", port.error
    if reading is None:
        return "down", "being opened"
    if reading.state != "up" or not port.link_up:
        return "down", reading.reason or "no carrier"
    return "up", reading.reason


def profile_of(config: Config, switch: str, port: str) -> str:
    """The name of a port's profile."""
    table = config.switch[switch]
    return (table.port[port].profile if port in table.port else "") or table.profile


class _PortView:
    """A port with its reading; counters that a group lacks are 0."""

    def __init__(self, switch: str, port: LivePort, reading: PortReading | None) -> None:
        self.switch, self.name, self.port, self.reading = switch, port.plan.name, port, reading

    def __call__(self, group: str, name: str) -> int:
        return self.group(group).get(name, 0)

    def group(self, group: str) -> Mapping[str, int]:
        return self.reading.counters.get(group, {}) if self.reading else {}

    @property
    def plan(self) -> PortConfig:
        return self.port.plan

    @property
    def depths(self) -> Mapping[str, Depth]:
        return self.reading.depths if self.reading else {}


def _ports(controller: Controller) -> Iterator[_PortView]:
    for name, live in list(controller.manager.live.items()):
        readings = controller.reading(name).ports
        for port in list(live.ports.values()):
            yield _PortView(name, port, readings.get(port.plan.name))


def ports(controller: Controller) -> list[rows.PortRow]:
    """`show ports`."""
    return [_port_row(controller, view) for view in _ports(controller)]


def _port_row(controller: Controller, view: _PortView) -> rows.PortRow:
    state, reason = state_of(view.port, view.reading)
    drops = sum(
        value
        for group in ("port", "queue", "faults")
        for name, value in view.group(group).items()
        if is_drop(group, name)
    )
    opening = view.plan.opening
    return rows.PortRow(
        switch=view.switch,
        port=view.name,
        state=state,
        backend=view.reading.mode if view.reading and not view.port.error else opening.backend,
        device=f"{opening.netns}:{opening.device}" if opening.netns else opening.device,
        mtu=view.reading.mtu if view.reading else opening.mtu,
        rate_bps=view.plan.rate_bps,
        profile=profile_of(controller.config, view.switch, view.name),
        rx_packets=view("port", "rx_frames"),
        rx_bytes=view("port", "rx_bytes"),
        tx_packets=view("port", "tx_frames"),
        tx_bytes=view("port", "tx_bytes"),
        drops=drops,
        reopened=view.port.reopened,
        reason=reason,
    )


def queues(controller: Controller) -> list[rows.QueueRow]:
    """`show queues`."""
    return [
        rows.QueueRow(
            switch=view.switch,
            port=view.name,
            discipline=view.plan.queue.discipline,
            packets=sum(depth.packets for depth in view.depths.values()),
            bytes=sum(depth.bytes for depth in view.depths.values()),
            enqueued=view("queue", "enqueued_packets"),
            dequeued=view("queue", "dequeued_packets"),
            dropped=view("queue", "dropped_packets"),
            evicted=view("queue", "evicted_packets"),
            trimmed=view("queue", "trimmed_packets"),
            marked=view("queue", "marked_packets"),
            returned=view("queue", "returned_packets"),
        )
        for view in _ports(controller)
    ]


def watermarks(controller: Controller) -> list[rows.WatermarkRow]:
    """`show watermarks`."""
    return [
        rows.WatermarkRow(
            switch=view.switch,
            port=view.name,
            queue=name,
            packets=depth.packets,
            bytes=depth.bytes,
            packets_max=depth.packets_max,
            bytes_max=depth.bytes_max,
        )
        for view in _ports(controller)
        for name, depth in view.depths.items()
    ]


def trim(controller: Controller) -> list[rows.TrimRow]:
    """`show trim`."""
    return [
        rows.TrimRow(
            switch=view.switch,
            port=view.name,
            action="trim" if trims(view.plan) else "drop",
            size=view.plan.trim.size,
            dscp=trimmed_dscp(view.plan),
            location="last-hop" if view.plan.trim.last_hop else "fabric",
            trim=view("queue", "trimmed_packets"),
            trim_bytes=view("queue", "trimmed_bytes"),
            trim_arrived=view("queue", "trimmed_arrived_packets"),
            trim_sent=view("queue", "trimmed_sent_packets"),
            trim_drop=view("queue", "trimmed_dropped_packets"),
            returned=view("queue", "returned_packets"),
        )
        for view in _ports(controller)
    ]


def trims(plan: PortConfig) -> bool:
    """Whether a port's discipline trims."""
    queues = (plan.queue, *plan.queue.children)
    return any(queue.discipline in ("ndp", "cut_payload") for queue in queues)


def trimmed_dscp(plan: PortConfig) -> int:
    """The code point of what a port trims; the plan of a daemon always says it."""
    assert plan.trim.dscp is not None
    return plan.trim.dscp


def ecn(controller: Controller) -> list[rows.EcnRow]:
    """`show ecn`."""
    return [
        rows.EcnRow(
            switch=view.switch,
            port=view.name,
            marked=view("queue", "marked_packets"),
            phantom_marked=view("phantom", "marked_packets"),
            unmarked=view("phantom", "unmarked_packets"),
        )
        for view in _ports(controller)
    ]


def phantom(controller: Controller) -> list[rows.PhantomRow]:
    """`show phantom`: ports that have one."""
    return [
        rows.PhantomRow(
            switch=view.switch,
            port=view.name,
            rate_bps=view.plan.phantom.rate_bps,
            threshold=view.plan.phantom.threshold_bytes,
            level=view.reading.phantom_bytes if view.reading else 0,
            passed=view("phantom", "passed_packets"),
            marked=view("phantom", "marked_packets"),
        )
        for view in _ports(controller)
        if view.plan.phantom is not None
    ]


def drops(controller: Controller) -> list[rows.DropRow]:
    """`show drops`: every reason, those that happened first."""
    found: list[rows.DropRow] = []
    texts = controller.manager.plane.texts()

    def collect(where: str, counters: Mapping[str, Mapping[str, int]]) -> None:
        for group, values in counters.items():
            for name, value in values.items():
                if is_trouble(group, name):
                    meaning = texts.get(group, {}).get(name, "")
                    found.append(rows.DropRow(where, group, name, value, meaning))

    for name in list(controller.manager.live):
        reading = controller.reading(name)
        collect(name, reading.counters)
        for port, of_port in reading.ports.items():
            collect(f"{name}/{port}", of_port.counters)
    return sorted(found, key=lambda row: -row.frames)


def counters(controller: Controller) -> list[rows.CounterRow]:
    """`show counters`: all that the core counts."""
    found: list[rows.CounterRow] = []
    for name in list(controller.manager.live):
        reading = controller.reading(name)
        tables = {"": reading.counters} | {
            port: of_port.counters for port, of_port in reading.ports.items()
        }
        found += [
            rows.CounterRow(name, port, group, counter, value)
            for port, table in tables.items()
            for group, values in table.items()
            for counter, value in values.items()
        ]
    return found


def fdb(controller: Controller) -> list[rows.FdbRow]:
    """`show fdb`."""
    return [
        rows.FdbRow(name, entry.mac, entry.vlan, entry.to, entry.static, entry.age_ns / 1e9)
        for name, live in list(controller.manager.live.items())
        for entry in sorted(live.handle.addresses(), key=lambda entry: (entry.vlan, entry.mac))
    ]


def routes(controller: Controller) -> list[rows.RouteRow]:
    """`show routes`."""
    found = []
    for name, live in list(controller.manager.live.items()):
        own = live.plan.forwarding.routes
        forwarding = live.forwarding(live.plan)
        members = {group.name: ", ".join(group.ports) for group in forwarding.groups}
        for prefix, route in sorted(forwarding.routes.items(), key=lambda item: _order(item[0])):
            origin = "configured" if prefix in own else "kernel"
            hops = ", ".join(f"{mac} at {port}" for port, mac in route.hops.items())
            ports = members.get(route.to, route.to)
            found.append(rows.RouteRow(name, prefix, route.to, ports, hops, origin))
    return found


def _order(prefix: str) -> tuple[int, int, int]:
    network = ipaddress.ip_network(prefix)
    return network.version, int(network.network_address), network.prefixlen


def paths(controller: Controller) -> list[rows.PathRow]:
    """`show paths`."""
    found = []
    for path in controller.config.path:
        down = [port for port in path.via if not controller.manager.forwards(port)]
        found.append(
            rows.PathRow(
                id=path.id,
                encoding=path.encoding,
                value=str(path.value),
                to=", ".join(path.to) or "all",
                via=", ".join(path.via),
                state=f"down at {', '.join(down)}" if down else "up",
            )
        )
    return found


def profiles(controller: Controller) -> list[rows.ProfileRow]:
    """`show profiles`."""
    config = controller.config
    used = [
        profile_of(config, name, port)
        for name, switch in config.switch.items()
        for port in switch.port
    ]
    return [
        rows.ProfileRow(
            profile=name,
            origin="built-in" if name in BUILT_IN else "configured",
            discipline=profile.discipline,
            settings=inline({k: v for k, v in plain(profile).items() if k != "discipline"})[2:-2],
            ports=used.count(name),
        )
        for name, profile in {**PROFILES, **config.profile}.items()
    ]


def event(found: Event) -> rows.EventRow:
    """An event as it is told."""
    time = found.at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return rows.EventRow(time, found.kind, found.what, found.text)


def events(controller: Controller) -> list[rows.EventRow]:
    """`show events`."""
    return [event(found) for found in controller.manager.events.last()]


def changes(found: list[Change]) -> list[rows.ChangeRow]:
    """`reload`, `set`, `unset`."""
    return [
        rows.ChangeRow(
            kind=change.kind,
            what=change.what,
            effect=EFFECTS[change.kind],
            fields=[f"{field.name}: {field.old} -> {field.new}" for field in change.fields],
        )
        for change in found
    ]
