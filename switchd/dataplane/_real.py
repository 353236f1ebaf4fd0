"""The data path in C, by way of ndpstack.switch."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ndpstack import switch as core
from switchd.dataplane._protocol import (
    PORT_GROUPS,
    AddressEntry,
    DataPlaneError,
    Depth,
    Direction,
    Heartbeat,
    PortReading,
    SwitchReading,
    Tap,
)
from switchd.plan import Forwarding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from switchd.config import Daemon
    from switchd.dataplane._protocol import LinkState
    from switchd.plan import BasePlan, FaultsPlan, Opening, PortPlan, QueuePlan


TAP_FRAMES = 8192
"""Mirrored frames that wait to be read; they are, fifty times a second."""


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """What the switch cannot do is what the data path cannot do."""
    try:
        yield
    except core.SwitchError as error:
        raise DataPlaneError(str(error)) from error


def opening_of(plan: Opening) -> core.Opening:
    """How a port is opened."""
    return core.Opening(
        backend=plan.backend,
        device=plan.device,
        netns=plan.netns,
        mtu=plan.mtu,
        rx_frames=plan.rx_frames,
        tx_frames=plan.tx_frames,
        listen=plan.listen,
        xdp_mode=plan.xdp_mode,
        zero_copy=plan.zero_copy,
        force=plan.force,
        queue_first=plan.queue_first,
        queues=plan.queues,
    )


def queue_of(plan: QueuePlan) -> core.QueueConfig:
    """A port's discipline."""
    return core.QueueConfig(
        discipline=plan.discipline,
        settings=plan.settings,
        children=tuple(map(queue_of, plan.children)),
        quanta=plan.quanta,
    )


def faults_of(plan: FaultsPlan) -> core.FaultsConfig:
    """Faults of a port."""
    return core.FaultsConfig(
        loss=plan.loss / 2**32,
        corrupt=plan.corrupt / 2**32,
        duplicate=plan.duplicate / 2**32,
        reorder=plan.reorder / 2**32,
        delay_ns=plan.delay_ns,
        reorder_ns_max=plan.reorder_ns_max,
    )


def port_config(plan: PortPlan, *, enabled: bool) -> core.PortConfig:
    """A port."""
    phantom = plan.phantom
    return core.PortConfig(
        name=plan.name,
        opening=opening_of(plan.opening),
        queue=queue_of(plan.queue),
        rate_bps=plan.rate_bps,
        catch_up_ns=plan.catch_up_ns,
        trim=core.TrimConfig(
            size=plan.trim.size,
            dscp=plan.trim.dscp,
            pcp=plan.trim.pcp,
            last_hop=plan.trim.last_hop,
        ),
        phantom=core.PhantomConfig(
            rate_bps=phantom.rate_bps,
            threshold_bytes=phantom.threshold_bytes,
            quantum_ns=phantom.quantum_ns,
        )
        if phantom
        else None,
        faults=faults_of(plan.faults),
        floods=plan.floods,
        mac=plan.mac,
        enabled=enabled,
    )


@dataclass(frozen=True)
class _Described:
    """What only a slow call tells; it is asked again when the port's states changed."""

    changes: int
    state: core.PortState
    classes: tuple[str, ...]


class RealSwitch:
    """A switch."""

    def __init__(self, base: BasePlan, worker: core.Worker) -> None:
        config = core.SwitchConfig(
            name=base.name,
            packets=base.packets_max,
            frame_bytes=base.frame_bytes_max,
            addresses=base.addresses_max,
            routes=base.routes_max,
            aging_ns=base.aging_ns,
            learning=base.forwarding == "learned",
            wire=base.wire,
            seed=base.seed,
        )
        with _told():
            self._switch = core.Switch(config)
            self._switch.start(worker)
        self._described: dict[str, _Described] = {}
        self._forwarding = Forwarding()
        """What is installed."""

    @property
    def events_fd(self) -> int:
        """Polls readable after a port's state changed."""
        return self._switch.events_fd

    def add_port(self, plan: PortPlan) -> None:
        """Opens a port and adds it."""
        with _told():
            self._switch.add_port(port_config(plan, enabled=plan.enabled))

    def remove_port(self, name: str) -> None:
        """Closes a port; what led there is forgotten with it."""
        with _told():
            self._switch.remove_port(name)
        self._described.pop(name, None)
        groups = tuple(group for group in self._forwarding.groups if name not in group.ports)
        addresses = {mac: to for mac, to in self._forwarding.addresses.items() if to != name}
        # Routes by way of it are set again, whether they went with it or lost a next hop.
        routes = {
            prefix: route
            for prefix, route in self._forwarding.routes.items()
            if route.to != name and name not in route.hops
        }
        self._forwarding = Forwarding(groups, addresses, routes)

    def set_port(self, plan: PortPlan) -> None:
        """Gives a port another plan; whether it is in use is `set_link`'s."""
        enabled = self._switch.ports()[plan.name].enabled
        with _told():
            self._switch.set_port(port_config(plan, enabled=enabled))
        self._described.pop(plan.name, None)

    def reopen_port(self, plan: PortPlan) -> None:
        """Closes a port's device and opens that of the plan."""
        self._described.pop(plan.name, None)
        with _told():
            self._switch.reopen_port(plan.name, opening_of(plan.opening))

    def set_forwarding(self, forwarding: Forwarding) -> None:
        """Changes what differs from what is installed."""
        with _told():
            self._set_groups(forwarding)
            for mac, to in forwarding.addresses.items():
                if self._forwarding.addresses.get(mac) != to:
                    self._switch.set_address(mac, to)
            for mac in self._forwarding.addresses.keys() - forwarding.addresses.keys():
                self._switch.remove_address(mac)
            for prefix, route in forwarding.routes.items():
                if self._forwarding.routes.get(prefix) != route:
                    self._switch.add_route(prefix, route.to, route.hops)
            for prefix in self._forwarding.routes.keys() - forwarding.routes.keys():
                self._switch.remove_route(prefix)
            wanted = {group.name for group in forwarding.groups}
            for name in self._switch.groups().keys() - wanted:
                self._switch.remove_group(name)
        self._forwarding = forwarding

    def _set_groups(self, forwarding: Forwarding) -> None:
        known = self._switch.groups()
        for group in forwarding.groups:
            config = core.GroupConfig(
                name=group.name, ports=group.ports, mode=group.mode, divisor=group.divisor
            )
            if group.name not in known:
                self._switch.add_group(config)
            elif group not in self._forwarding.groups:
                self._switch.set_group(config)

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
        depths = [
            Depth(class_, *_depth(depth))
            for class_, depth in zip(described.classes, port.classes, strict=False)
        ]
        return PortReading(
            state=cast("LinkState", port.state),
            reason=told.why or told.note,
            mode=told.mode,
            mac=told.mac,
            mtu=port.mtu,
            counters={group: port.counters[group] for group in PORT_GROUPS},
            depths=depths,
            phantom_bytes=port.phantom_bytes,
        )

    def addresses(self) -> Sequence[AddressEntry]:
        """The forwarding database."""
        with _told():
            rows = self._switch.fdb()
        return [AddressEntry(row.mac, row.vlan, row.to, row.static, row.age_ns) for row in rows]

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
        self._mirror = mirror

    def header(self) -> bytes:
        """The beginning of a capture file."""
        return self._mirror.header()

    def read(self) -> bytes:
        """Frames since the last call."""
        return self._mirror.read_pcapng()

    def dropped(self) -> int:
        """Frames that were lost because they were not read in time."""
        return self._mirror.dropped()

    def close(self) -> None:
        """Stops mirroring."""
        self._mirror.close()


def _depth(depth: core.Depth) -> tuple[int, int, int, int]:
    return depth.packets, depth.bytes, depth.packets_max, depth.bytes_max


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

    def heartbeat(self) -> Heartbeat:
        """What the worker has done."""
        beat = self._worker.heartbeat()
        return Heartbeat(
            beat.rounds, beat.busy_rounds, beat.frames, beat.sleeps, beat.sleep_ns, beat.gap_ns_max
        )

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
