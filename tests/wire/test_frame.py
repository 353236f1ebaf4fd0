"""Frames: what is written is what is read, cut or not, and damage never passes for data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine_rig import new_packet, pattern
from hypothesis import given
from hypothesis import strategies as st

from ndpstack._core import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Callable

    from ndpstack._core import nd_frame_peer, nd_packet

ROOM = 9216
HEADERS = 14 + 20 + 8
"""Ethernet, IPv4 and UDP in front of an NDP header."""
NDP_HEADER = 40
CONFIG = ffi.new("struct nd_frame_config *", lib.nd_frame_config_default())
CONFIG.verify = 1

u16, u32 = st.integers(0, 0xFFFF), st.integers(0, 0xFFFFFFFF)


def peer(*, version: int = 4) -> nd_frame_peer:
    """Two hosts on an untagged link."""
    ends = ffi.new("struct nd_frame_peer *")
    prefix = bytes(10) + b"\xff\xff" if version == 4 else bytes.fromhex("20010db8") + bytes(8)
    for i, name in enumerate(("source", "target")):
        ffi.memmove(getattr(ends, name), prefix + bytes([10, 0, 0, i + 1]), 16)
        ffi.memmove(getattr(ends, f"{name}_mac"), bytes([2, 0, 0, 0, 0, i + 1]), 6)
    ends.vlan = 0xFFFF
    return ends


@st.composite
def ndp_data(draw: Callable[[st.SearchStrategy[int]], int]) -> tuple[nd_packet, bytes]:
    """An NDP DATA packet and its payload."""
    packet = new_packet()
    payload = pattern(draw(st.integers(0, 99)), draw(st.integers(1, 8000)))
    packet.protocol, packet.type = lib.ND_PROTO_NDP, lib.ND_NDP_DATA
    packet.payload = ffi.from_buffer("uint8_t[]", payload)
    packet.payload_bytes = len(payload)
    packet.marks = lib.ND_MARK_TRIMMABLE
    packet.path, packet.priority = draw(u16), draw(st.integers(0, 7))
    packet.flags = draw(st.integers(0, 0x1F))
    header = packet.ndp
    header.connection, header.sequence = draw(u32), draw(u32)
    header.service, header.message, header.backlog = draw(u16), draw(u16), draw(u16)
    header.offset = draw(st.integers(0, 1 << 26))
    header.message_bytes = header.offset + len(payload) + draw(st.integers(0, 1 << 20))
    return packet, payload


def encode(packet: nd_packet, ends: nd_frame_peer) -> bytearray:
    """The frame."""
    frame = ffi.new("uint8_t[]", ROOM)
    template = ffi.new("struct nd_frame_template *")
    lib.nd_frame_prepare(CONFIG, ends, template)
    length = lib.nd_frame_encode(template, packet, frame, ROOM)
    assert length > 0
    return bytearray(ffi.buffer(frame, length)[:])


def decode(frame: bytearray) -> tuple[int, nd_packet, bytes]:
    """The error, the packet, and its payload."""
    packet, ends = new_packet(), ffi.new("struct nd_frame_peer *")
    memory = ffi.from_buffer("uint8_t[]", frame)
    error = lib.nd_frame_decode(CONFIG, memory, len(frame), ends, packet)
    payload = b""
    if error == lib.ND_WIRE_OK and packet.payload:
        payload = bytes(ffi.buffer(packet.payload, packet.payload_bytes))
    return error, packet, payload


def fields(packet: nd_packet) -> tuple[int, ...]:
    """What must survive the wire."""
    header = packet.ndp
    return (
        packet.type,
        packet.flags,
        packet.priority,
        packet.path,
        packet.payload_bytes,
        header.connection,
        header.sequence,
        header.service,
        header.message_bytes,
        header.offset,
        header.message,
        header.backlog,
    )


@given(ndp_data(), st.sampled_from([4, 6]))
def test_data_survives_the_wire(sent: tuple[nd_packet, bytes], version: int) -> None:
    packet, payload = sent
    error, arrived, data = decode(encode(packet, peer(version=version)))
    assert error == lib.ND_WIRE_OK
    assert fields(arrived) == fields(packet)
    assert data == payload


@given(ndp_data(), st.integers(0, 1024))
def test_a_header_survives_any_cut(sent: tuple[nd_packet, bytes], kept: int) -> None:
    """R-NSW-03: hardware cuts anywhere behind the header and rewrites no length."""
    packet, payload = sent
    frame = encode(packet, peer())[: HEADERS + NDP_HEADER + kept]
    error, arrived, data = decode(frame)
    assert error == lib.ND_WIRE_OK
    assert fields(arrived) == fields(packet)
    whole = kept >= len(payload)
    assert bool(arrived.marks & lib.ND_MARK_TRIMMED) != whole
    assert data == (payload if whole else b"")


@given(ndp_data())
def test_our_trimming_is_a_cut_with_right_lengths(sent: tuple[nd_packet, bytes]) -> None:
    packet, _ = sent
    frame = encode(packet, peer())
    trim = ffi.new("struct nd_frame_trim *")
    trim.dscp, trim.pcp = CONFIG.dscp_trimmed, 0xFF
    memory = ffi.from_buffer("uint8_t[]", frame)
    length = lib.nd_frame_trim(CONFIG, memory, len(frame), trim)
    assert length == HEADERS + NDP_HEADER
    error, arrived, data = decode(frame[:length])
    assert error == lib.ND_WIRE_OK
    assert fields(arrived) == fields(packet)
    assert arrived.marks & lib.ND_MARK_TRIMMED
    assert data == b""


@given(ndp_data(), st.data())
def test_a_flipped_bit_is_found(sent: tuple[nd_packet, bytes], data: st.DataObject) -> None:
    """Header and payload have checks of their own: no damage is taken for data."""
    frame = encode(sent[0], peer())
    at = data.draw(st.integers(HEADERS, len(frame) - 1))
    frame[at] ^= 1 << data.draw(st.integers(0, 7))
    error, *_ = decode(frame)
    assert error != lib.ND_WIRE_OK


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(junk: bytes) -> None:
    error, packet, _ = decode(bytearray(junk))
    assert error == lib.ND_WIRE_OK or packet.protocol == lib.ND_PROTO_OTHER
