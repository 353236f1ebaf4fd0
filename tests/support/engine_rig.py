"""Endpoints and the packets between them, driven by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ndpstack._core import ffi, lib

if TYPE_CHECKING:
    from ndpstack._core import (
        CData,
        Struct,
        nd_command,
        nd_event,
        nd_packet,
        nd_rig_endpoint,
        nd_transport_ops,
    )

EVENTS_MAX = 64
NEVER = 2**64 - 1


def pattern(seed: int, size: int) -> bytes:
    """Bytes that tell messages, and places within one, apart."""
    block = bytes((seed * 131 + i * 7 + (i >> 8)) & 0xFF for i in range(min(size, 4096)))
    return (block * (size // 4096 + 1))[:size] if size else b""


@dataclass(frozen=True)
class Packet:
    """A packet on its way: the struct and the payload, both copied."""

    struct: bytes
    payload: bytes | None

    @staticmethod
    def copy(packet: nd_packet) -> Packet:
        """What an engine filled in; its payload may change after the message has ended."""
        payload = None
        if packet.payload:
            payload = bytes(ffi.buffer(packet.payload, packet.payload_bytes))
        return Packet(bytes(ffi.buffer(packet)[:]), payload)

    def unpack(self) -> nd_packet:
        """A struct with the payload behind it; valid while the result and this are held."""
        packet = new_packet()
        ffi.memmove(packet, self.struct, len(self.struct))
        if self.payload is not None:
            packet.payload = ffi.from_buffer("uint8_t[]", self.payload)
        return packet


def new_packet() -> nd_packet:
    """An empty packet with the alignment that its type wants."""
    return ffi.gc(lib.nd_rig_packet_new(), lib.nd_rig_packet_free)


class Endpoint:
    """One engine with its memory; time is the caller's."""

    def __init__(
        self,
        ops: nd_transport_ops,
        config: Struct,
        handle: int,
        *,
        seed: int = 0,
        rx_bytes: int = 1 << 20,
    ) -> None:
        error = ffi.new("struct nd_error *")
        rig = lib.nd_rig_endpoint_new(ops, config, handle, seed, rx_bytes, error)
        if not rig:
            raise ValueError(ffi.string(error.text).decode())
        self._rig: nd_rig_endpoint = ffi.gc(rig, lib.nd_rig_endpoint_free)
        self._ops = ops
        self._events = ffi.new("struct nd_event[]", EVENTS_MAX)
        self._payloads: list[CData] = []
        self.handle = handle

    def submit(self, command: nd_command, now: int) -> int:
        """0 or a negative errno."""
        return lib.nd_rig_endpoint_submit(self._rig, command, now)

    def command(
        self,
        kind: int,
        *,
        peer: int = 0,
        port: int = 0,
        ident: int = 0,
        message: int = 0,
        payload: bytes | None = None,
        cookie: int = 0,
        priority: int = 0,
    ) -> nd_command:
        """A command with its payload, which is kept for as long as the endpoint is."""
        command = ffi.new("struct nd_command *")
        command.kind, command.peer, command.port = kind, peer, port
        command.id, command.message, command.cookie = ident, message, cookie
        command.priority, command.deadline = priority, NEVER
        if payload is not None:
            memory = ffi.from_buffer("uint8_t[]", payload)
            self._payloads.append(memory)
            command.payload, command.bytes = memory, len(payload)
        return command

    def receive(self, packet: Packet, now: int) -> None:
        """One packet from the wire."""
        lib.nd_rig_endpoint_receive(self._rig, packet.unpack(), now)

    def transmit(self, now: int) -> Packet | None:
        """What the NIC would send next: control before data."""
        packet = new_packet()
        for kind in (lib.ND_CLASS_CONTROL, lib.ND_CLASS_DATA):
            if lib.nd_rig_endpoint_transmit(self._rig, packet, kind, now):
                return Packet.copy(packet)
        return None

    def deadline(self) -> int:
        """When on_deadline wants to run."""
        return lib.nd_rig_endpoint_deadline(self._rig)

    def on_deadline(self, now: int) -> None:
        """Timers."""
        lib.nd_rig_endpoint_on_deadline(self._rig, now)

    def events(self) -> list[nd_event]:
        """Everything that has happened; valid until the next call."""
        count = lib.nd_rig_endpoint_events(self._rig, self._events, EVENTS_MAX)
        return [self._events[i] for i in range(count)]

    def audit(self) -> str | None:
        """What is wrong, or None."""
        wrong = lib.nd_rig_endpoint_audit(self._rig)
        return ffi.string(wrong).decode() if wrong else None

    def counter(self, name: str) -> int:
        """One of the engine's counters."""
        words = lib.nd_rig_endpoint_counters(self._rig)
        table = self._ops.counters_table
        names = [ffi.string(table.texts[i].name).decode() for i in range(table.count)]
        return words[names.index(name)]

    def rx_used(self) -> int:
        """Bytes of receive memory that are out."""
        return lib.nd_rig_endpoint_rx_used(self._rig)

    def engine(self) -> CData:
        """The engine itself."""
        return lib.nd_rig_endpoint_engine(self._rig)


def received(event: nd_event) -> bytes:
    """The bytes of a message that arrived."""
    return bytes(ffi.buffer(event.payload, event.bytes)) if event.bytes else b""


def trimmed(packet: Packet, *, last_hop: bool = False) -> Packet | None:
    """The packet as a trimming switch passes it on; None when it cannot be cut."""
    struct = packet.unpack()
    cut = lib.ND_MARK_TRIMMABLE | lib.ND_MARK_TRIMMED | lib.ND_MARK_FLOOD
    if struct.marks & cut != lib.ND_MARK_TRIMMABLE:
        return None
    struct.wire_bytes = struct.header_bytes
    struct.payload = ffi.cast("uint8_t *", 0)
    struct.marks |= lib.ND_MARK_TRIMMED | (lib.ND_MARK_LAST_HOP if last_hop else 0)
    return Packet(bytes(ffi.buffer(struct)[:]), None)


def bounced(packet: Packet) -> Packet | None:
    """The trimmed header on its way back to its sender; None when it cannot be returned."""
    header = trimmed(packet)
    if header is None:
        return None
    struct = header.unpack()
    struct.source, struct.target = struct.target, struct.source
    struct.marks |= lib.ND_MARK_BOUNCED
    return Packet(bytes(ffi.buffer(struct)[:]), None)
