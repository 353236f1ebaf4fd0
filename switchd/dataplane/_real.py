"""The data path in C, by way of ndpstack.switch."""

from __future__ import annotations

import contextlib
import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ndpstack import switch as core
from switchd.dataplane._protocol import (
    PORT_GROUPS,
    DataPlaneError,
    Direction,
    PortReading,
    SwitchReading,
    Tap,
)
from switchd.plan import RoutePlan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from switchd.config import Daemon
    from switchd.dataplane._protocol import LinkState
    from switchd.plan import BasePlan, Forwarding


TAP_FRAMES = 8192
"""Mirrored frames that wait to be read; they are, fifty times a second."""

_DAMAGED = RoutePlan("")
"""In place of a route that lost a next hop with its port: it is set again, or taken out."""


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """What the switch cannot do is what the data path cannot do."""
    try:
        yield
    except core.SwitchError as error:
        raise DataPlaneError(str(error)) from error


@dataclass(frozen=True)
class _Described:
    """What only a slow call tells; it is asked again when the port's states changed."""

    changes: int
    state: core.PortState
    classes: tuple[str, ...]


class RealSwitch:
    """A switch."""

    def __init__(self, base: BasePlan, worker: core.Worker) -> None:
        with _told():
            self._switch = core.Switch(base)
            self._switch.start(worker)
        self._described: dict[str, _Described] = {}
        # What is installed.
        self._groups: dict[str, core.GroupConfig] = {}
        self._addresses: dict[str, str] = {}
        self._routes: dict[str, RoutePlan] = {}

    @property
    def events_fd(self) -> int:
        """Polls readable after a port's state changed."""
        return self._switch.events_fd

    def add_port(self, plan: core.PortConfig) -> None:
        """Opens a port and adds it."""
        with _told():
            self._switch.add_port(plan)

    def remove_port(self, name: str) -> None:
        """Closes a port; what led there is forgotten with it."""
        with _told():
            self._switch.remove_port(name)
        self._described.pop(name, None)
        self._groups = {
            group: config for group, config in self._groups.items() if name not in config.ports
        }
        self._addresses = {mac: to for mac, to in self._addresses.items() if to != name}
        self._routes = {
            prefix: _DAMAGED if name in route.hops else route
            for prefix, route in self._routes.items()
            if route.to != name
        }

    def set_port(self, plan: core.PortConfig) -> None:
        """Gives a port another plan; whether it is in use is `set_link`'s."""
        enabled = self._switch.ports()[plan.name].enabled
        with _told():
            self._switch.set_port(dataclasses.replace(plan, enabled=enabled))
        self._described.pop(plan.name, None)

    def reopen_port(self, plan: core.PortConfig) -> None:
        """Closes a port's device and opens that of the plan."""
        self._described.pop(plan.name, None)
        with _told():
            self._switch.reopen_port(plan.name, plan.opening)

    def set_forwarding(self, forwarding: Forwarding) -> None:
        """Changes what differs from what is installed.

        Each call is noted at once: a change that fails halfway is taken back by the next one.
        """
        with _told():
            self._withdraw(forwarding)  # First, as a table that is full has room then.
            self._set_groups(forwarding)
            for mac, to in forwarding.addresses.items():
                if self._addresses.get(mac) != to:
                    self._switch.set_address(mac, to)
                    self._addresses[mac] = to
            for prefix, route in forwarding.routes.items():
                if self._routes.get(prefix) != route:
                    self._switch.add_route(prefix, route.to, route.hops)
                    self._routes[prefix] = route
            self._remove_groups({group.name for group in forwarding.groups})

    def _withdraw(self, forwarding: Forwarding) -> None:
        for mac in self._addresses.keys() - forwarding.addresses.keys():
            self._switch.remove_address(mac)
            del self._addresses[mac]
        for prefix in self._routes.keys() - forwarding.routes.keys():
            self._switch.remove_route(prefix)
            del self._routes[prefix]

    def _set_groups(self, forwarding: Forwarding) -> None:
        known = self._switch.groups()
        for group in forwarding.groups:
            if group.name not in known:
                self._switch.add_group(group)
            elif self._groups.get(group.name) != group:
                self._switch.set_group(group)
            self._groups[group.name] = group

    def _remove_groups(self, wanted: set[str]) -> None:
        """Last of all: addresses and routes that led there would go with them."""
        for name in self._switch.groups().keys() - wanted:
            self._switch.remove_group(name)
            self._groups.pop(name, None)

    def set_link(self, name: str, *, up: bool) -> None:
        """Takes a port out of use, or back in."""
        with _told():
            self._switch.set_link(name, up=up)

    def read(self) -> SwitchReading:
        """Everything as of one moment."""
        with _told():
            reading = self._switch.read()
            names = {self._switch.index(name): name for name in self._switch.ports()}
            ports = {
                names[index]: self._port(names[index], port)
                for index, port in reading.ports.items()
                if index in names
            }
        return SwitchReading(reading.counters, ports, reading.buffers_used)

    def _port(self, name: str, port: core.PortReading) -> PortReading:
        described = self._described.get(name)
        if described is None or described.changes != port.changes:
            queue = self._switch.queue_state(name)
            state = self._switch.port_state(name)
            described = _Described(port.changes, state, tuple(queue.classes))
            self._described[name] = described
        told = described.state
        return PortReading(
            state=cast("LinkState", port.state),
            reason=told.why or told.note,
            mode=told.mode,
            mac=told.mac,
            mtu=port.mtu,
            counters={group: port.counters[group] for group in PORT_GROUPS},
            depths=dict(zip(described.classes, port.classes, strict=False)),
            phantom_bytes=port.phantom_bytes,
        )

    def addresses(self) -> Sequence[core.Address]:
        """The forwarding database."""
        with _told():
            return self._switch.fdb()

    def clear_watermarks(self) -> None:
        """The greatest depths are those of now."""
        self._switch.clear_watermarks()

    def audit(self) -> str | None:
        """What breaks conservation."""
        return self._switch.audit()

    def tap(self, ports: Sequence[str], direction: Direction, snaplen: int) -> Tap:
        """Begins to mirror."""
        with _told():
            return _RealTap(self._switch.mirror(ports, direction, snaplen, TAP_FRAMES))

    def close(self) -> None:
        """Stops it and closes its ports."""
        self._switch.close()


class _RealTap:
    """Mirrored frames."""

    def __init__(self, mirror: core.Mirror) -> None:
        self._mirror, self._dropped = mirror, 0

    def header(self) -> bytes:
        """The beginning of a capture file."""
        return self._mirror.header()

    def read(self, limit: int | None = None) -> bytes:
        """Frames since the last call; none when its switch is gone."""
        with contextlib.suppress(core.SwitchError):
            return self._mirror.read_pcapng(limit)
        return b""

    def dropped(self) -> int:
        """Frames that were lost because they were not read in time."""
        with contextlib.suppress(core.SwitchError):
            self._dropped = self._mirror.dropped()
        return self._dropped

    def close(self) -> None:
        """Stops mirroring."""
        self._mirror.close()


class RealDataPlane:
    """Switches on one worker."""

    def __init__(self, config: core.WorkerConfig) -> None:
        with _told():
            self._worker = core.Worker(config)
        self._switches: dict[str, RealSwitch] = {}

    def add_switch(self, base: BasePlan) -> RealSwitch:
        """Makes a switch, and runs it."""
        self._switches[base.name] = RealSwitch(base, self._worker)
        return self._switches[base.name]

    def remove_switch(self, name: str) -> None:
        """Closes a switch."""
        self._switches.pop(name).close()

    def heartbeat(self) -> core.Heartbeat:
        """What the worker has done."""
        return self._worker.heartbeat()

    def texts(self) -> Mapping[str, Mapping[str, str]]:
        """What each counter means."""
        return core.counter_texts()

    def close(self) -> None:
        """Ends everything."""
        for switch in self._switches.values():
            switch.close()
        self._switches.clear()
        self._worker.close()


def start(daemon: Daemon) -> RealDataPlane:
    """Starts the data path.

    Raises:
        DataPlaneError: It cannot be started.
    """
    config = core.WorkerConfig(polling=daemon.polling, spin_ns=daemon.spin // 1000, cpu=daemon.cpu)
    return RealDataPlane(config)
