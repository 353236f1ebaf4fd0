"""A frame's NDP or Homa packet, by the core's codec and its one table of fields."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ndpstack._core import ffi, lib

if TYPE_CHECKING:
    from ndpstack._core import CData, nd_frame_config, nd_frame_peer, nd_packet

PROTOCOLS = {lib.ND_PROTO_NDP: "ndp", lib.ND_PROTO_HOMA: "homa"}

HOMA_DATA_BYTES = 56
"""Of Homa's header before a payload."""

FRAME_BYTES_MAX = 0xFFFF
"""Longer ones the codec refuses."""

Value = int | str | list[int] | list[str]


@dataclass(frozen=True)
class Decoded:
    """What a packet says."""

    protocol: str
    type: str
    source: str
    target: str
    trimmed: bool
    fields: dict[str, Value]
    """By the names of the format table; named values as names, flags as lists of names."""
    error: str
    """Counter of the reason why a receiver drops it, or empty."""

    @property
    def id(self) -> int | None:
        """NDP: the connection. Homa: the RPC as the client knows it."""
        value = self.fields.get("connection" if self.protocol == "ndp" else "sender_id")
        if not isinstance(value, int):
            return None
        return value if self.protocol == "ndp" else value & ~1


@dataclass(frozen=True)
class _Names:
    fields: dict[tuple[int, str], dict[int, str]]

    def of(self, protocol: int, field: str) -> dict[int, str]:
        return self.fields.get((protocol, field), {})


def _text(pointer: CData) -> str:
    return ffi.string(pointer).decode()


@cache
def _names() -> _Names:
    names: dict[tuple[int, str], dict[int, str]] = {}
    for i in range(lib.nd_field_values_count):
        value = ffi.addressof(lib.nd_field_values[i])
        key = (value.protocol, _text(value.field))
        names.setdefault(key, {})[value.value] = _text(value.name)
    return _Names(names)


def _show(view: int, bits: int, width: int, names: dict[int, str]) -> int | str | list[str]:
    if view == lib.ND_FIELD_NAMED:
        return names.get(bits, str(bits))
    if view == lib.ND_FIELD_FLAGS:
        return [name for mask, name in names.items() if bits & mask]
    if view == lib.ND_FIELD_SIGNED and bits >> (width - 1):
        return bits - (1 << width)
    return bits


def _fields(protocol: int, header: bytes) -> dict[str, Value]:
    """The table's fields of this header, as far as it reaches."""
    at = 0 if protocol == lib.ND_PROTO_NDP else 11
    if len(header) <= at:
        return {}
    kind = (header[0] & 15 if at == 0 else header[at]) - lib.nd_field_type_base(protocol)
    memory, value = ffi.from_buffer("uint8_t[]", header), ffi.new("uint64_t *")
    shown: dict[str, Value] = {}
    for i in range(lib.nd_fields_count):
        field = ffi.addressof(lib.nd_fields[i])
        if field.protocol != protocol or kind < 0 or not field.types >> kind & 1:
            continue
        name, names = _text(field.name), _names().of(protocol, _text(field.name))
        values = [
            _show(field.view, value[0], field.bit_width, names)
            for occurrence in range(field.repeat)
            if lib.nd_field_get(field, occurrence, memory, len(header), value)
        ]
        if field.repeat > 1:
            shown[name] = [one for one in values if isinstance(one, int)]
        elif values:
            shown[name] = values[0]
    return shown


def _address(octets: CData) -> str:
    address = ipaddress.IPv6Address(bytes(ffi.buffer(octets, 16)))
    return str(address.ipv4_mapped or address)


def _ends(frame: bytes, at: int) -> tuple[str, str]:
    """Addresses of a frame that the codec refuses, from the IP header that lies before `at`."""
    start = 18 if frame[12:14] == b"\x81\0" else 14
    width, first = (4, start + 12) if frame[start] >> 4 == 4 else (16, start + 8)
    ends = frame[first : first + 2 * width] if at else b""
    return str(ipaddress.ip_address(ends[:width])), str(ipaddress.ip_address(ends[width:]))


@dataclass(frozen=True)
class _Read:
    packet: nd_packet
    peer: nd_frame_peer
    error: str


def _read(config: nd_frame_config, frame: bytes) -> _Read:
    """What the codec makes of a frame."""
    packet, peer = ffi.new("struct nd_packet *"), ffi.new("struct nd_frame_peer *")
    memory = ffi.from_buffer("uint8_t[]", frame)
    error = lib.nd_frame_decode(config, memory, len(frame), peer, packet)
    if error == lib.ND_WIRE_OK:
        return _Read(packet, peer, "")
    return _Read(packet, peer, _text(lib.nd_wire_counters_table.texts[error - 1].name))


def _lacks_payload(read: _Read, message_bytes: int) -> bool:
    """Whether payload is missing from a frame, and nothing else."""
    if read.error == "homa_cut":
        return message_bytes >= HOMA_DATA_BYTES
    return bool(read.packet.marks & lib.ND_MARK_TRIMMED)


def decode_frame(frame: bytes, wire_bytes: int = 0) -> Decoded | None:
    """What a frame says, or None when it is neither NDP nor Homa.

    Args:
        frame: All of it, or what a capture kept.
        wire_bytes: Its length on the wire: payload that a capture left out was not trimmed.
    """
    config = ffi.new("struct nd_frame_config *", lib.nd_frame_config_default())
    config.verify = lib.ND_FRAME_VERIFY_NONE
    at = lib.nd_frame_message_at(config, ffi.from_buffer("uint8_t[]", frame), len(frame))
    if at == 0:
        return None
    header, read = frame[at:], _read(config, frame)
    if len(frame) < wire_bytes and _lacks_payload(read, len(header)):
        read = _read(config, frame.ljust(min(wire_bytes, FRAME_BYTES_MAX), b"\0"))
    source, target = _address(read.peer.source), _address(read.peer.target)
    protocol = read.packet.protocol
    if read.error:
        protocol = lib.ND_PROTO_NDP if read.error.startswith("ndp") else lib.ND_PROTO_HOMA
        if not read.error.startswith(("ndp", "homa")):
            protocol = lib.ND_PROTO_HOMA if header[18:20] == b"\xb9\x7d" else lib.ND_PROTO_NDP
        source, target = _ends(frame, at)
    fields = _fields(protocol, header)
    return Decoded(
        PROTOCOLS[protocol],
        str(fields.get("type", "")),
        source,
        target,
        bool(read.packet.marks & lib.ND_MARK_TRIMMED),
        fields,
        read.error,
    )
