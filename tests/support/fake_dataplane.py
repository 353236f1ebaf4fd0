"""A data path in memory: it opens what exists, counts what tests say, and fails when told to."""

from __future__ import annotations

import copy
import dataclasses
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ndpstack.switch import Depth, Heartbeat
from switchd.dataplane import (
    DataPlaneError,
    PortReading,
    SwitchReading,
)
from switchd.plan import Forwarding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ndpstack.switch import Address, Opening, PortConfig
    from switchd.dataplane import Direction
    from switchd.plan import BasePlan

TEXTS = {
    "port": {
        "rx_frames": "Frames received.",
        "rx_bytes": "Bytes received.",
        "tx_frames": "Frames sent.",
        "tx_bytes": "Bytes sent.",
        "rx_dropped_short": "Frames dropped because they are short.",
        "rx_ring_full": "Frames dropped because the ring was full.",
    },
    "queue": {
        "enqueued_packets": "Packets offered.",
        "enqueued_bytes": "Bytes offered.",
        "dequeued_packets": "Packets served.",
        "dequeued_bytes": "Bytes served.",
        "dropped_packets": "Packets dropped.",
        "dropped_bytes": "Bytes dropped.",
        "evicted_packets": "Packets evicted.",
        "marked_packets": "Packets marked.",
        "trimmed_packets": "Packets trimmed.",
        "trimmed_bytes": "Bytes cut.",
        "trimmed_arrived_packets": "Packets that came trimmed.",
        "trimmed_sent_packets": "Headers served.",
        "trimmed_dropped_packets": "Headers dropped.",
        "returned_packets": "Headers returned.",
        "returned_bytes": "Bytes returned.",
        "control_dropped_packets": "Control packets dropped.",
    },
    "phantom": {
        "passed_packets": "Packets that passed.",
        "passed_bytes": "Bytes that passed.",
        "marked_packets": "Packets marked.",
        "unmarked_packets": "Packets not marked.",
    },
    "faults": {"lost": "Frames lost.", "corrupted": "Frames corrupted."},
    "switch": {
        "accepted": "Frames accepted.",
        "sent": "Frames sent.",
        "dropped_queue": "Frames dropped by a discipline.",
        "dropped_unknown": "Frames to nobody.",
    },
    "wire": {"short": "Frames too short."},
    "fdb": {"learned": "Addresses learned."},
}

CHUNK_BYTES = 2**18
"""Most that is read of a tap at once."""


@dataclass
class FakePort:
    """A port; tests write its state and counters."""

    plan: PortConfig
    counters: dict[str, dict[str, int]]
    state: str = "up"
    reason: str = ""
    link_up: bool = True
    open: bool = True
    serial: int = 0
    """Differs between two openings."""


@dataclass
class FakeTap:
    """Mirrored frames that the test put there."""

    ports: Sequence[str]
    snaplen: int
    blocks: list[bytes] = field(default_factory=list)
    lost: int = 0
    closed: bool = False

    def header(self) -> bytes:
        return b"<" + ",".join(self.ports).encode() + b">"

    def read(self, limit: int | None = None) -> bytes:
        data = b""
        room = CHUNK_BYTES if limit is None else min(limit, CHUNK_BYTES)
        while self.blocks and len(data) + len(self.blocks[0]) <= room:
            data += self.blocks.pop(0)
        return data

    def dropped(self) -> int:
        return self.lost

    def close(self) -> None:
        self.closed = True


def zeros(groups: tuple[str, ...]) -> dict[str, dict[str, int]]:
    return {group: dict.fromkeys(TEXTS[group], 0) for group in groups}


def without(port: str, forwarding: Forwarding) -> Forwarding:
    """What is left once a port is gone: nothing leads there any more."""
    return Forwarding(
        tuple(
            dataclasses.replace(group, ports=tuple(name for name in group.ports if name != port))
            for group in forwarding.groups
        ),
        {mac: to for mac, to in forwarding.addresses.items() if to != port},
        {prefix: route for prefix, route in forwarding.routes.items() if route.to != port},
    )


class FakeSwitch:
    """A switch of the fake."""

    def __init__(self, plane: FakeDataPlane, base: BasePlan) -> None:
        self.plane, self.base = plane, base
        self.ports: dict[str, FakePort] = {}
        self.forwarding = Forwarding()
        self.counters = zeros(("switch", "wire", "fdb"))
        self.entries: list[Address] = []
        self.taps: list[FakeTap] = []
        self.events_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def close(self) -> None:
        os.close(self.events_fd)

    def add_port(self, plan: PortConfig) -> None:
        self.plane.step(f"add {self.base.name}/{plan.name}")
        assert plan.name not in self.ports
        self.plane.take(plan.opening)
        self.plane.serial += 1
        counters = zeros(("port", "queue", "phantom", "faults"))
        self.ports[plan.name] = FakePort(plan, counters, serial=self.plane.serial)

    def remove_port(self, name: str) -> None:
        self.plane.note(f"remove {self.base.name}/{name}")
        port = self.ports.pop(name)
        if port.open:
            self.plane.give_back(port.plan.opening)
        self.forwarding = without(name, self.forwarding)

    def set_port(self, plan: PortConfig) -> None:
        self.plane.step(f"set {self.base.name}/{plan.name}")
        port = self.ports[plan.name]
        assert port.plan.opening == plan.opening
        port.plan = plan

    def reopen_port(self, plan: PortConfig) -> None:
        port = self.ports[plan.name]
        if port.open:
            self.plane.give_back(port.plan.opening)
        port.open = False
        self.plane.step(f"reopen {self.base.name}/{plan.name}")
        self.plane.take(plan.opening)
        self.plane.serial += 1
        port.plan = dataclasses.replace(port.plan, opening=plan.opening)
        port.serial, port.state, port.open = self.plane.serial, "up", True

    def set_forwarding(self, forwarding: Forwarding) -> None:
        self.plane.step(f"forward {self.base.name}")
        names = {*self.ports, *(group.name for group in forwarding.groups)}
        for group in forwarding.groups:
            assert set(group.ports) <= set(self.ports)
        assert {
            *forwarding.addresses.values(),
            *(r.to for r in forwarding.routes.values()),
        } <= names
        self.forwarding = forwarding

    def set_link(self, name: str, *, up: bool) -> None:
        self.ports[name].link_up = up

    def read(self) -> SwitchReading:
        ports = {
            name: PortReading(
                state=port.state,  # type: ignore[arg-type]
                reason=port.reason,
                mode=port.plan.opening.backend,
                mac="02:00:00:00:00:01",
                mtu=port.plan.opening.mtu or 1500,
                counters=copy.deepcopy(port.counters),
                depths={"data": Depth(1, 1500, 8, 12000)},
            )
            for name, port in list(self.ports.items())
        }
        return SwitchReading(copy.deepcopy(self.counters), ports, 1)

    def addresses(self) -> Sequence[Address]:
        return self.entries

    def clear_watermarks(self) -> None:
        self.plane.note(f"clear {self.base.name}")

    def audit(self) -> str | None:
        return None

    def tap(self, ports: Sequence[str], direction: Direction, snaplen: int) -> FakeTap:
        assert direction in ("rx", "tx", "both")
        tap = FakeTap(ports, snaplen)
        self.taps.append(tap)
        return tap


class FakeDataPlane:
    """The data path; what it was told is in `log`."""

    def __init__(self) -> None:
        self.switches: dict[str, FakeSwitch] = {}
        self.log: list[str] = []
        self.fail_at = -1
        """Steps that can fail until one does."""
        self.failure: type[Exception] = DataPlaneError
        """How it fails."""
        self.absent: set[str] = set()
        """Devices that cannot be opened."""
        self.open: set[tuple[str, str, str]] = set()
        self.serial = 0
        self.rounds = 1
        self.closed = False

    def note(self, what: str) -> None:
        self.log.append(what)

    def step(self, what: str) -> None:
        """A call that may fail."""
        if self.fail_at == 0:
            self.fail_at = -1
            raise self.failure(f"{what}: failed as the test wants")
        self.fail_at -= self.fail_at > 0
        self.note(what)

    def take(self, opening: Opening) -> None:
        key = (opening.backend, opening.netns, opening.device)
        if opening.device in self.absent:
            raise DataPlaneError(f"{opening.device}: no such device; create it")
        assert key not in self.open, f"{opening.device} is open already"
        self.open.add(key)

    def give_back(self, opening: Opening) -> None:
        self.open.remove((opening.backend, opening.netns, opening.device))

    def add_switch(self, base: BasePlan) -> FakeSwitch:
        self.step(f"add {base.name}")
        assert base.name not in self.switches
        self.switches[base.name] = FakeSwitch(self, base)
        return self.switches[base.name]

    def remove_switch(self, name: str) -> None:
        self.note(f"remove {name}")
        switch = self.switches.pop(name)
        for port in switch.ports.values():
            if port.open:
                self.give_back(port.plan.opening)
        switch.close()

    def heartbeat(self) -> Heartbeat:
        return Heartbeat(self.rounds, 1, 10, 1, 1000, 2000)

    def texts(self) -> dict[str, dict[str, str]]:
        return TEXTS

    def close(self) -> None:
        for name in list(self.switches):
            self.remove_switch(name)
        self.closed = True
