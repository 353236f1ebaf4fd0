"""What switches tell: one moment of counters, depths and states, read without a lock."""

from __future__ import annotations

import errno
import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from ndpstack._core import ffi, lib
from ndpstack.switch._errors import SwitchError
from ndpstack.switch._forks import tell_of_forks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ndpstack._core import (
        Struct,
        nd_counters_table,
        nd_page,
        nd_page_class,
        nd_page_port,
        nd_worker_stats,
    )

Counters = dict[str, dict[str, int]]
"""Group -> name -> value, only growing; `counter_texts` says what each means."""

_TABLES = {
    "switch": lib.nd_switch_counters_table,
    "wire": lib.nd_wire_counters_table,
    "fdb": lib.nd_fdb_counters_table,
    "port": lib.nd_port_counters_table,
    "queue": lib.nd_queue_counters_table,
    "phantom": lib.nd_phantom_counters_table,
    "faults": lib.nd_faults_counters_table,
}
_STATES = ("up", "down", "gone", "changed", "stuck")


def _texts(table: nd_counters_table) -> dict[str, str]:
    pairs = [(table.texts[i].name, table.texts[i].help) for i in range(table.count)]
    return {ffi.string(name).decode(): ffi.string(text).decode() for name, text in pairs}


_NAMES = {group: tuple(_texts(table)) for group, table in _TABLES.items()}


def counter_texts() -> dict[str, dict[str, str]]:
    """What each counter means: group -> name -> sentence."""
    return {group: _texts(table) for group, table in _TABLES.items()}


@dataclass(frozen=True)
class Heartbeat:
    """What a worker has done; all numbers only grow."""

    rounds: int
    """Moves on while the thread lives, at least ten times a second."""
    busy_rounds: int
    """Rounds that moved frames."""
    frames: int
    sleeps: int
    sleep_ns: int
    gap_ns_max: int
    """Longest time between two rounds that it did not sleep: a preemption."""


@dataclass(frozen=True)
class Depth:
    """What a queue holds, or one class of it."""

    packets: int
    bytes: int
    packets_max: int
    """Since watermarks were cleared. Of a class: as of when the whole queue was longest."""
    bytes_max: int


@dataclass(frozen=True)
class QueueState:
    """A port's queue."""

    discipline: str
    total: Depth
    classes: Mapping[str, Depth]
    """By name: data and headers, a priority level."""
    phantom_bytes: int
    """Level of the phantom queue; 0 without one."""


@dataclass(frozen=True)
class PortReading:
    """A port at a moment."""

    name: str
    """Of its device."""
    state: str
    """Of its link: up, down, gone, changed, stuck; the last three mean to open it again."""
    enabled: bool
    up: bool
    """Enabled and its link up."""
    changes: int
    """Times that one of these changed."""
    mtu: int
    """0 while it is closed."""
    total: Depth
    classes: tuple[Depth, ...]
    phantom_bytes: int
    counters: Counters
    """Groups switch, port, queue, phantom and faults."""


@dataclass(frozen=True)
class Reading:
    """A switch at one moment: the sums in it hold exactly."""

    name: str
    time_ns: int
    """Of the monotonic clock."""
    buffers: int
    buffers_used: int
    buffers_used_max: int
    addresses: int
    """Entries of the forwarding database."""
    routes: int
    counters: Counters
    """Groups switch, wire and fdb."""
    heartbeat: Heartbeat
    ports: Mapping[int, PortReading]
    """By index."""


@dataclass(frozen=True)
class Address:
    """A row of the forwarding database."""

    mac: str
    vlan: int
    """0: untagged."""
    to: str
    """Port or group."""
    static: bool
    age_ns: int
    """Since the last frame; 0 when static."""


def heartbeat_of(stats: nd_worker_stats) -> Heartbeat:
    """A worker's numbers."""
    return Heartbeat(
        stats.rounds,
        stats.busy_rounds,
        stats.frames,
        stats.sleeps,
        stats.sleep_ns,
        stats.gap_ns_max,
    )


def _values(group: str, counters: Struct) -> dict[str, int]:
    names = _NAMES[group]
    words = ffi.cast("uint64_t *", ffi.addressof(counters))
    return dict(zip(names, words[0 : len(names)], strict=True))


def _depth(queue: nd_page_class) -> Depth:
    return Depth(queue.packets, queue.bytes, queue.packets_max, queue.bytes_max)


def _port(port: nd_page_port) -> PortReading:
    return PortReading(
        name=ffi.string(port.name).decode(errors="replace"),
        state=_STATES[port.state],
        enabled=bool(port.enabled),
        up=bool(port.up),
        changes=port.changes,
        mtu=port.mtu,
        total=_depth(port.queue),
        classes=tuple(_depth(port.classes[i]) for i in range(port.classes_count)),
        phantom_bytes=port.phantom_bytes,
        counters={
            "switch": _values("switch", port.counters),
            "port": _values("port", port.port_counters),
            "queue": _values("queue", port.queue_counters),
            "phantom": _values("phantom", port.phantom_counters),
            "faults": _values("faults", port.faults_counters),
        },
    )


def reading_of(page: nd_page) -> Reading:
    """A copied page as Python values."""
    return Reading(
        name=ffi.string(page.name).decode(errors="replace"),
        time_ns=page.time,
        buffers=page.packets_max,
        buffers_used=page.packets_used,
        buffers_used_max=page.packets_used_max,
        addresses=page.addresses,
        routes=page.routes,
        counters={
            "switch": _values("switch", page.counters),
            "wire": _values("wire", page.wire_counters),
            "fdb": _values("fdb", page.fdb_counters),
        },
        heartbeat=heartbeat_of(page.worker),
        ports={
            index: _port(page.ports[index])
            for index in range(page.port_count)
            if page.ports[index].used
        },
    )


class Page:
    """The page of a switch in another process, by a descriptor that it gave away.

    All calls may come from any thread.

    Args:
        fd: `Switch.page_fd`, received over a UNIX socket or inherited; it may be closed after.

    Raises:
        SwitchError: It is no page, or one of another version.
    """

    def __init__(self, fd: int) -> None:
        page = lib.nd_page_map(fd)
        if not page:
            raise SwitchError("the descriptor is no page of a switch of this version", errno.EPROTO)
        self._page: nd_page | None = page
        self._lock = threading.RLock()
        """Of the mapping, and of the copy until it has been told."""
        self._copy = ffi.new("struct nd_page *")
        tell_of_forks(self)

    def disown(self) -> None:
        """In the child of a fork: a mapping of its own, which may be read and closed."""
        self._lock = threading.RLock()

    def read(self) -> Reading:
        """One moment.

        Raises:
            SwitchError: The switch died in the middle of writing, or the page is closed.
        """
        with self._lock:
            if self._page is None:
                raise SwitchError("the page is closed")
            status = lib.nd_page_read(self._page, self._copy)
            if status < 0:
                raise SwitchError(f"the page is not readable: {os.strerror(-status)}", -status)
            return reading_of(self._copy)

    def close(self) -> None:
        """Unmaps it; may be called again."""
        with self._lock:
            page, self._page = self._page, None
            if page is not None:
                lib.nd_page_unmap(page)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
