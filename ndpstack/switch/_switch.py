"""A switch and its ports, groups and addresses by name."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from ndpstack._core import ffi, lib
from ndpstack.switch._c import (
    group_mode,
    mac_bytes,
    opening_of,
    prefix_of,
    settings_of,
    switch_config,
)
from ndpstack.switch._errors import Failure, SwitchError
from ndpstack.switch._forks import forked, tell_of_forks
from ndpstack.switch._mirror import Mirror, Ring
from ndpstack.switch._queues import Made
from ndpstack.switch._reading import Address, QueueState, reading_of
from ndpstack.switch._values import U32_MAX, number_of
from ndpstack.switch._worker import Worker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ndpstack._core import Pointer, nd_control
    from ndpstack.switch._config import GroupConfig, Opening, PortConfig, SwitchConfig
    from ndpstack.switch._mirror import Direction
    from ndpstack.switch._reading import Counters, Heartbeat, PortReading, Reading

_ADDRESSES_AT_ONCE = 512
"""Rows copied while the switch stands still."""

_VLAN_MAX = 4094
_VLAN_SEEN_MAX = 4095
"""Reserved, but a frame may have it, and its address is learned."""


@dataclass(frozen=True)
class PortState:
    """A port, beyond what `read` tells."""

    state: str
    """Of its link: up, down, gone, changed, stuck; the last three mean to open it again."""
    enabled: bool
    up: bool
    why: str
    """Of a state that is not up."""
    mode: str
    """In use: "memory", "xdp generic copy" ...; empty while it is closed."""
    note: str
    """What was not as asked for."""
    mac: str
    mtu: int


@dataclass
class _Port:
    index: int
    config: PortConfig
    made: Made
    """What its queue's config points to."""


class Switch:
    """A software switch; a context manager that closes it.

    It forwards while it is started. Every change is made between two rounds of its worker, which
    waits for nothing; all calls may come from any thread. The child of a fork may read what its
    parent's switch tells, and close it there: the parent's goes on.

    Args:
        config: What it is.

    Raises:
        SwitchError: A setting is refused, or there is no memory or descriptor left.
    """

    def __init__(self, config: SwitchConfig) -> None:
        self.config = config
        self._lock = threading.RLock()
        self._life = threading.Lock()
        """Held by calls that do not wait for changes, so that nothing is freed under them."""
        self._ports: dict[str, _Port] = {}
        self._groups: dict[str, tuple[int, GroupConfig]] = {}
        self._worker: Worker | None = None
        self._own_worker: Worker | None = None
        failure = Failure()
        with switch_config(config) as made:
            control = lib.nd_control_new(made, failure.error)
        if not control:
            raise failure.exception()
        self._control: nd_control | None = control
        self._rings: list[Ring] = []
        """Of mirrors; here until they are freed, even if their mirrors have been dropped."""
        self._forked = False
        tell_of_forks(self)

    # ---- life ----

    @property
    def _readable(self) -> nd_control:
        if self._control is None:
            raise SwitchError(f"switch {self.config.name} is closed")
        return self._control

    @property
    def _handle(self) -> nd_control:
        if self._forked:
            raise forked(f"switch {self.config.name}")
        return self._readable

    def disown(self) -> None:
        """In the child of a fork: leaves all but its page alone."""
        self._lock, self._life = threading.RLock(), threading.Lock()
        self._forked = True
        self._worker = self._own_worker = None
        for ring in self._rings:
            ring.disown()

    def start(self, worker: Worker | None = None) -> None:
        """Begins to forward.

        Args:
            worker: Thread to run on, until it is closed; one of its own when left out.

        Raises:
            SwitchError: It runs already, the worker has ended, or it has 16 switches.
        """
        with self._lock:
            control = self._handle
            runs_on = worker or Worker()
            try:
                runs_on.run(self, control)
            except SwitchError:
                if worker is None:
                    runs_on.close()
                raise
            self._worker, self._own_worker = runs_on, None if worker else runs_on

    def stop(self) -> None:
        """Forwards no more; frames wait in the ports, counters stay."""
        with self._lock:
            control = self._readable
            if not self._forked:
                lib.nd_control_leave(control)
            own, self._worker, self._own_worker = self._own_worker, None, None
            if own:
                own.close()

    def leave(self, worker: Worker) -> None:
        """Stops it unless it runs on another worker: this one ends."""
        with self._lock:
            if self._control is not None and self._worker in (worker, None):
                self.stop()

    def close(self) -> None:
        """Stops it and closes its ports; may be called again. In a fork's child, forgets it."""
        with self._lock:
            if self._control is None:
                return
            self.stop()
            for ring in self._rings:
                ring.free()
            with self._life:
                if not self._forked:
                    lib.nd_control_free(self._control)
                self._control = None
            self._ports.clear()
            self._groups.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- ports ----

    def _port(self, name: str) -> _Port:
        if name not in self._ports:
            known = ", ".join(self._ports) or "none"
            raise SwitchError(f"switch {self.config.name} has no port {name!r}; it has {known}")
        return self._ports[name]

    def ports(self) -> Mapping[str, PortConfig]:
        """The ports and what they are, in the order of their indices."""
        with self._lock:
            return {name: port.config for name, port in self._ports.items()}

    def index(self, port: str) -> int:
        """Number of a port, as `read` has it."""
        return self._port(port).index

    def add_port(self, config: PortConfig) -> int:
        """Opens a port and adds it; its index.

        Raises:
            SwitchError: Its device cannot be opened, or a setting is refused; nothing changed.
        """
        with self._lock:
            if config.name in self._ports or config.name in self._groups:
                raise SwitchError(f"switch {self.config.name} has a {config.name!r} already")
            made, failure = Made(config.queue), Failure()
            with opening_of(config.opening, self.config) as opening:
                index = failure.check(
                    lib.nd_control_add_port(
                        self._handle, opening, settings_of(config, self.config, made), failure.error
                    )
                )
            self._ports[config.name] = _Port(index, config, made)
            if not config.enabled:
                self.set_link(config.name, up=False)
            return index

    def remove_port(self, name: str) -> None:
        """Closes a port. What it has queued is dropped; nothing leads there any more."""
        with self._lock:
            port, failure = self._port(name), Failure()
            failure.check(lib.nd_control_remove_port(self._handle, port.index, failure.error))
            del self._ports[name]

    def set_port(self, config: PortConfig) -> None:
        """Gives a port other settings; its socket, counters and queued packets stay.

        Packets that a smaller or another queue does not take are dropped, trimmed or returned, as
        if they had arrived now. Its opening cannot change here: see `reopen_port`.
        """
        with self._lock:
            port, failure = self._port(config.name), Failure()
            if config.opening != port.config.opening:
                raise SwitchError(
                    f"port {config.name}: its opening cannot change while it is open; "
                    "use reopen_port"
                )
            same = config.queue == port.config.queue
            made = port.made if same else Made(config.queue)
            settings = settings_of(config, self.config, None if same else made)
            failure.check(
                lib.nd_control_set_port(self._handle, port.index, settings, failure.error)
            )
            if config.enabled != port.config.enabled:
                self.set_link(config.name, up=config.enabled)
            port.config, port.made = config, made

    def reopen_port(self, name: str, opening: Opening | None = None) -> None:
        """Closes a port's device and opens it again, perhaps another one.

        The remedy for the states gone, changed and stuck. When it fails the port stays closed.
        """
        with self._lock:
            port, failure = self._port(name), Failure()
            wanted = opening or port.config.opening
            with opening_of(wanted, self.config) as made:
                failure.check(
                    lib.nd_control_reopen_port(self._handle, port.index, made, failure.error)
                )
            port.config = replace(port.config, opening=wanted)

    def set_link(self, name: str, *, up: bool) -> None:
        """Takes a port out of use, or back: groups leave it out, and it takes no frames."""
        with self._lock:
            port, failure = self._port(name), Failure()
            failure.check(lib.nd_control_enable_port(self._handle, port.index, up, failure.error))
            port.config = replace(port.config, enabled=up)

    def port_state(self, name: str) -> PortState:
        """How a port is."""
        with self._lock:
            port, failure = self._port(name), Failure()
            told = ffi.new("struct nd_control_port *")
            failure.check(
                lib.nd_control_describe_port(self._handle, port.index, told, failure.error)
            )
            seen = self.read().ports[port.index]
        return PortState(
            state=seen.state,
            enabled=seen.enabled,
            up=seen.up,
            why=ffi.string(told.why).decode(errors="replace"),
            mode=ffi.string(told.mode).decode(),
            note=ffi.string(told.note).decode(errors="replace"),
            mac=bytes(told.mac).hex(":"),
            mtu=seen.mtu,
        )

    def check_links(self) -> None:
        """Looks after the links now, instead of at the worker's next tenth of a second."""
        with self._life:
            lib.nd_control_check(self._handle)

    # ---- forwarding ----

    def _to(self, name: str) -> int:
        if name in self._groups:
            return lib.ND_SWITCH_GROUP | self._groups[name][0]
        return self._port(name).index

    def _name(self, to: int) -> str:
        if to & lib.ND_SWITCH_GROUP:
            index = to & ~lib.ND_SWITCH_GROUP
            return next((name for name, (i, _) in self._groups.items() if i == index), "")
        return next((name for name, port in self._ports.items() if port.index == to), "")

    def groups(self) -> Mapping[str, GroupConfig]:
        """The groups of equal-cost ports."""
        with self._lock:
            return {name: config for name, (_, config) in self._groups.items()}

    def _put_group(self, index: int, config: GroupConfig) -> None:
        failure = Failure()
        ports = ffi.new("uint16_t[]", [self._port(name).index for name in config.ports])
        index = failure.check(
            lib.nd_control_set_group(
                self._handle,
                index,
                group_mode(config),
                ports,
                len(config.ports),
                number_of(f"group {config.name}", "divisor", config.divisor, 1, U32_MAX),
                failure.error,
            )
        )
        self._groups[config.name] = (index, config)

    def add_group(self, config: GroupConfig) -> None:
        """Adds a group; addresses and routes lead to it by its name."""
        with self._lock:
            if config.name in self._ports or config.name in self._groups:
                raise SwitchError(f"switch {self.config.name} has a {config.name!r} already")
            self._put_group(0xFFFFFFFF, config)

    def _group(self, name: str) -> int:
        if name not in self._groups:
            known = ", ".join(self._groups) or "none"
            raise SwitchError(f"switch {self.config.name} has no group {name!r}; it has {known}")
        return self._groups[name][0]

    def set_group(self, config: GroupConfig) -> None:
        """Gives a group other members or another mode."""
        with self._lock:
            self._put_group(self._group(config.name), config)

    def remove_group(self, name: str) -> None:
        """Removes a group, and the addresses and routes that lead to it."""
        with self._lock:
            failure = Failure()
            failure.check(
                lib.nd_control_remove_group(self._handle, self._group(name), failure.error)
            )
            del self._groups[name]

    def set_address(self, mac: str, to: str, vlan: int = 0) -> None:
        """Adds or replaces a configured address; it never ages and never moves.

        Args:
            mac: With colons.
            to: Port or group.
            vlan: VLAN id of tagged frames, to 4094; 0 for untagged ones.

        Raises:
            SwitchError: There is no such port or VLAN, it is no address, or there is no room.
        """
        with self._lock:
            failure = Failure()
            key = _mac(mac), number_of(f"address {mac}", "vlan", vlan, 0, _VLAN_MAX)
            failure.check(
                lib.nd_control_set_address(self._handle, *key, self._to(to), failure.error)
            )

    def remove_address(self, mac: str, vlan: int = 0) -> None:
        """Forgets an address, configured or learned.

        Raises:
            SwitchError: The switch does not know it.
        """
        with self._lock:
            failure = Failure()
            key = _mac(mac), number_of(f"address {mac}", "vlan", vlan, 0, _VLAN_SEEN_MAX)
            failure.check(lib.nd_control_remove_address(self._handle, *key, failure.error))

    def add_route(self, prefix: str, to: str, macs: Mapping[str, str]) -> None:
        """Adds or replaces a route, for frames to a port's own address.

        Args:
            prefix: Such as 10.1.0.0/16 or fd00::/64; without bits beyond its length.
            to: Port or group.
            macs: Ethernet address of the next hop, by port that leads to it.
        """
        with self._lock:
            failure = Failure()
            address, length = prefix_of(prefix)
            route = ffi.new("struct nd_route *")
            if len(macs) > len(route.hops):
                raise SwitchError(f"route {prefix}: at most {len(route.hops)} next hops")
            route.to, route.count = self._to(to), len(macs)
            for hop, (port, mac) in zip(route.hops, macs.items(), strict=False):
                hop.port = self._port(port).index
                hop.mac[0:6] = list(mac_bytes(mac))
            failure.check(
                lib.nd_control_set_route(
                    self._handle, ffi.new("uint8_t[]", address), length, route, failure.error
                )
            )

    def remove_route(self, prefix: str) -> None:
        """Takes a route out."""
        with self._lock:
            failure = Failure()
            address, length = prefix_of(prefix)
            failure.check(
                lib.nd_control_remove_route(
                    self._handle, ffi.new("uint8_t[]", address), length, failure.error
                )
            )

    def fdb(self) -> list[Address]:
        """The forwarding database, in no special order."""
        rows: list[Address] = []
        entries = ffi.new("struct nd_fdb_entry[]", _ADDRESSES_AT_ONCE)
        cursor = ffi.new("uint32_t *", 0)
        with self._lock:
            while cursor[0] != 0xFFFFFFFF:
                count = lib.nd_control_addresses(self._handle, cursor, entries, _ADDRESSES_AT_ONCE)
                now = self.read().time_ns
                for i in range(count):
                    entry = entries[i]
                    rows.append(
                        Address(
                            mac=(entry.key & (2**48 - 1)).to_bytes(6, "big").hex(":"),
                            vlan=entry.key >> 48,
                            to=self._name(entry.port),
                            static=entry.is_static,
                            age_ns=0 if entry.is_static else max(0, now - entry.seen),
                        )
                    )
        return rows

    # ---- mirrors ----

    def mirror(
        self,
        ports: Sequence[str] = (),
        direction: Direction = "both",
        snaplen: int = 128,
        frames: int = 4096,
    ) -> Mirror:
        """Begins to copy the frames of some ports; close the mirror to end it.

        Args:
            ports: Which; all of now when empty.
            direction: Frames that arrive, that leave, or both.
            snaplen: Bytes of each frame that are kept.
            frames: How many may wait to be read; more are lost and counted.

        Raises:
            SwitchError: There is no such port, a setting is refused, or it has 8 mirrors.
        """
        with self._lock:
            names = list(ports or self._ports)
            indices = [self._port(name).index for name in names]
            table = dict(zip(names, indices, strict=True))
            ring = Ring(self._handle, table, direction, snaplen, frames)
            self._rings = [*(known for known in self._rings if not known.freed), ring]
            return Mirror(self, ring, table, snaplen)

    # ---- what it tells ----

    def read(self) -> Reading:
        """Everything that the worker published last: at most a millisecond old while it runs."""
        copy = ffi.new("struct nd_page *")
        with self._life:
            status = lib.nd_control_read(self._readable, copy)
        if status < 0:
            raise SwitchError(f"switch {self.config.name}: {os.strerror(-status)}", -status)
        return reading_of(copy)

    def counters(self) -> Counters:
        """Counters of the switch: groups switch, wire and fdb."""
        return self.read().counters

    def port_reading(self, name: str) -> PortReading:
        """A port as of the last publication."""
        return self.read().ports[self.index(name)]

    def port_counters(self, name: str) -> Counters:
        """Counters of a port: groups switch, port, queue, phantom and faults."""
        return self.port_reading(name).counters

    def queue_state(self, name: str) -> QueueState:
        """What a port has queued, by class."""
        with self._lock:
            port, failure = self._port(name), Failure()
            told = ffi.new("struct nd_control_port *")
            failure.check(
                lib.nd_control_describe_port(self._handle, port.index, told, failure.error)
            )
            seen = self.read().ports[port.index]
        names = [ffi.string(told.classes[i]).decode() for i in range(len(seen.classes))]
        return QueueState(
            discipline=ffi.string(told.discipline).decode(),
            total=seen.total,
            classes=dict(zip(names, seen.classes, strict=True)),
            phantom_bytes=seen.phantom_bytes,
        )

    def clear_watermarks(self) -> None:
        """The greatest depths are those of now."""
        with self._life:
            lib.nd_control_clear_watermarks(self._handle)

    def heartbeat(self) -> Heartbeat:
        """What the worker has done; all zeros while stopped."""
        with self._lock:
            return self._worker.heartbeat() if self._worker else self.read().heartbeat

    @property
    def events_fd(self) -> int:
        """An eventfd that polls readable after a port's state changed; read it, then `read()`."""
        with self._life:
            return lib.nd_control_events_fd(self._handle)

    @property
    def page_fd(self) -> int:
        """Descriptor of the shared page, which another process may read as a `Page`."""
        with self._life:
            return lib.nd_control_page_fd(self._readable)

    def audit(self) -> str | None:
        """What breaks conservation, or None. Frames wait meanwhile: for tests."""
        with self._life:
            wrong = lib.nd_control_audit(self._handle)
            return ffi.string(wrong).decode() if wrong else None


def _mac(text: str) -> Pointer[int]:
    """An address as C takes it."""
    return ffi.new("uint8_t[]", mac_bytes(text))
