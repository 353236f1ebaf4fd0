"""A network of endpoints whose every step and fault somebody else decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine_rig import NEVER, Packet, bounced, trimmed

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine_rig import Endpoint

FLIGHT_MAX = 256
"""Packets on their way at once; endpoints have to wait beyond."""


class Network:
    """Endpoints by handle, the packets between them, and the time."""

    def __init__(self, endpoints: list[Endpoint]) -> None:
        self.endpoints = {endpoint.handle: endpoint for endpoint in endpoints}
        self.flight: list[Packet] = []
        self.now = 1_000_000
        self.on_send: Callable[[Packet], None] = lambda _packet: None
        self.on_arrive: Callable[[Packet], None] = lambda _packet: None

    def send(self, handle: int, limit: int) -> int:
        """Lets an endpoint's NIC send up to limit packets; returns how many it had."""
        count = 0
        while count < limit and len(self.flight) < FLIGHT_MAX:
            packet = self.endpoints[handle].transmit(self.now)
            if packet is None:
                break
            self.on_send(packet)
            self.flight.append(packet)
            count += 1
        return count

    def deliver(self, index: int) -> None:
        """One packet arrives, whichever was sent first."""
        packet = self.flight.pop(index)
        endpoint = self.endpoints.get(packet.unpack().target)
        if endpoint is not None:
            self.on_arrive(packet)
            endpoint.receive(packet, self.now)

    def lose(self, index: int) -> None:
        """One packet is gone."""
        self.flight.pop(index)

    def duplicate(self, index: int) -> None:
        """One packet becomes two."""
        self.flight.append(self.flight[index])

    def trim(self, index: int, *, last_hop: bool) -> None:
        """One packet loses its payload, or is lost when it cannot be cut."""
        self._replace(index, trimmed(self.flight[index], last_hop=last_hop))

    def bounce(self, index: int) -> None:
        """One packet's header turns around, or is lost when it cannot."""
        self._replace(index, bounced(self.flight[index]))

    def _replace(self, index: int, packet: Packet | None) -> None:
        if packet is None:
            self.lose(index)
        else:
            self.flight[index] = packet

    def pass_time(self, duration: int) -> None:
        """Time goes by; what was due on the way is done on the way."""
        end = self.now + duration
        while True:
            due = min(self.endpoints.values(), key=lambda endpoint: endpoint.deadline())
            if due.deadline() > end:
                break
            self.now = max(self.now, due.deadline())
            due.on_deadline(self.now)
            # What is still due is a paced packet, which only the NIC can take.
            if due.deadline() <= self.now and not self.send(due.handle, 1):
                self.now += 1
        self.now = end

    def settle(self, idle: Callable[[], bool], step: Callable[[], None], *, limit: int) -> bool:
        """Runs without faults until idle, delivering in order; False when that takes too long."""
        for _ in range(limit):
            step()
            for handle in self.endpoints:
                self.send(handle, FLIGHT_MAX)
            if self.flight:
                self.now += 1000
                self.deliver(0)
                continue
            step()
            if idle() and not any(self.send(handle, 1) for handle in self.endpoints):
                return True
            due = min(endpoint.deadline() for endpoint in self.endpoints.values())
            if not self.flight and due == NEVER:
                return idle()
            self.pass_time(max(due - self.now, 1000) if due != NEVER else 1000)
        return False
