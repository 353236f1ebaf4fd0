"""Frames as pcapng: what wireshark and tcpdump read, with the names of the ports."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from switchd.dataplane import Frame

_ETHERNET = 1
_NANOSECONDS = 9
_INBOUND, _OUTBOUND = 1, 2


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _block(kind: int, body: bytes) -> bytes:
    size = len(body) + 12
    return struct.pack("<II", kind, size) + body + struct.pack("<I", size)


def header(ports: Sequence[str], snaplen: int) -> bytes:
    """The begin of a file: a section, and an interface for each port, in that order."""
    application = _option(4, b"ndpstack switchd") + _option(0, b"")
    section = _block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + application)
    interfaces = [
        _block(
            1,
            struct.pack("<HHI", _ETHERNET, 0, snaplen)
            + _option(2, name.encode())
            + _option(9, bytes([_NANOSECONDS]))
            + _option(0, b""),
        )
        for name in ports
    ]
    return section + b"".join(interfaces)


def packet(frame: Frame, interface: int) -> bytes:
    """A frame of the interface of that index."""
    flags = _INBOUND if frame.direction == "rx" else _OUTBOUND
    body = struct.pack(
        "<IIIII",
        interface,
        frame.time_ns >> 32,
        frame.time_ns & 0xFFFFFFFF,
        len(frame.data),
        frame.original_bytes,
    )
    options = _option(2, struct.pack("<I", flags)) + _option(0, b"")
    return _block(6, body + _padded(frame.data) + options)
