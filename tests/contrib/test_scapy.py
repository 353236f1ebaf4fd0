"""The scapy layers against captured packets and against our codec, in both directions.

The layers are written from the specifications, so where they and the codec agree, two readers of
the specifications do.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from ndpstack._core import ffi, lib
from ndpstack.contrib.scapy import (
    NDP,
    Homa,
    HomaAck,
    HomaAckEntry,
    HomaCutoffs,
    HomaData,
    HomaGrant,
    HomaResend,
    crc32c,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from scapy.packet import Packet

    from ndpstack._core import nd_frame_peer, nd_packet

CONFIG = ffi.new("struct nd_frame_config *", lib.nd_frame_config_default())
ROOM = 4096
SPEAKER = 0xD5  # wire byte 8 of our own endpoints
u8, u16, u32 = st.integers(0, 0xFF), st.integers(0, 0xFFFF), st.integers(0, 0xFFFFFFFF)
u64 = st.integers(0, (1 << 64) - 1)

CLIENT, SERVER = "10.0.0.11", "10.0.0.10"
COMMON = "50060000{}b97d"

GOLDEN = {
    # Captured from a kernel peer: who sends, then the Homa packet.
    "RESEND": (CLIENT, "80000fa00000000000000012" + COMMON.format("4b87") + "0000000000000002"
               "00000000ffffffff07"),
    "CUTOFFS": (SERVER, "0fa080000000000000000015" + COMMON.format("c9c9") + "0000000000000003"
                "00000000000000000000000000000000000f424000003a9800000af0000000c80001"),
    "BUSY": (SERVER, "0fa080000000000000000014" + COMMON.format("528d") + "0000000000000003"),
    "NEED_ACK": (SERVER, "0fa080000000000000000017" + COMMON.format("528a") + "0000000000000003"),
    "ACK": (CLIENT, "80000fa00000000000000018" + COMMON.format("42b3") + "0000000000000002"
            "000100000000000000020fa0" + "00" * 40),
    "RPC_UNKNOWN": (SERVER, "0fa080000000000000000013" + COMMON.format("4e70")
                    + "0000000000000421"),
}  # fmt: skip


NDP_FRAMES = {
    # Worked out by hand from docs/protocol-ndp.md, which shows them: neither reader made them.
    "DATA": "02000000000a02000000000b0800452c004900004000401126640a00000b0a00000ac00712bd00350000"
            "1103a00a010203040000000013880000000000050000000000000007000500019a71bb4c5b821546"
            "68656c6c6f",
    "trimmed": "02000000000a02000000000b0800"
               "45ac004400004000401125e90a00000b0a00000ac00712bd00300000"
               "1103a80a010203040000000013880000000000050000000000000007000500019a71bb4ca212d0dd",
    "ACK": "02000000000b02000000000a86dd"
           "6b80c00900301140fd00000000000000000000000000000afd00000000000000000000000000000b"
           "c00912bd00300000"
           "1228e00a01020304000000000000000100000005000000010000000900000000000000006d1eb18b",
    "NACK": "02000000000b02000000000a080045b8004400004000401125dd0a00000a0a00000bc00912bd00300000"
            "1308e00a010203040000000000000000000000050000000000000009000000000000000021013a37",
    "PULL": "02000000000b02000000000a080045b8004400004000401125dd0a00000a0a00000bc00912bd00300000"
            "1408e00a010203040000000000000002000000000000000000000009000000000000000085e9380b",
    "CLOSE": "02000000000b02000000000a080045b8004400004000401125dd0a00000a0a00000bc00912bd00300000"
             "1508e00a01020304000000010000000000000000000000000000000900000000000000008205b3f0",
}  # fmt: skip

_FIRST = {
    "type": 1, "flags": 0x03, "priority": 5, "service": 5000, "base": 0, "message_bytes": 5,
    "path": 7, "payload_bytes": 5, "backlog": 1, "payload_check": 0x9A71BB4C,
}  # fmt: skip
NDP_FIELDS: dict[str, dict[str, int]] = {
    "DATA": _FIRST,
    "trimmed": {**_FIRST, "trim_location": 1},
    "ACK": {"type": 2, "flags": 0x28, "pull": 1, "message_bytes": 5, "arrived": 1},
    "NACK": {"type": 3, "flags": 0x08, "message_bytes": 5},
    "PULL": {"type": 4, "flags": 0x08, "pull": 2},
    "CLOSE": {"type": 5, "flags": 0x08, "sequence": 1},
}
"""What they say; of what is not here, `NDP_USUAL`, else 0."""
NDP_USUAL = {
    "version": 1, "priority": 7, "header_words": 10, "connection": 0x01020304, "path": 9,
}  # fmt: skip


def golden(name: str) -> tuple[Homa, bytes]:
    """The packet as scapy reads it, and its bytes."""
    source, text = GOLDEN[name]
    data = bytes.fromhex(text)
    target = SERVER if source == CLIENT else CLIENT
    packet = IP(bytes(IP(src=source, dst=target, proto=146) / data))
    return packet[Homa], data


def test_crc32c() -> None:
    assert crc32c(b"123456789") == 0xE3069283


@pytest.mark.parametrize("name", GOLDEN)
def test_captured_packets(name: str) -> None:
    """HM#4: what a kernel sent is read, its checksum holds, and it is written again alike."""
    packet, data = golden(name)
    assert packet.sprintf("%Homa.type%") == name
    assert packet.checksum_holds()
    assert packet.sender_id == int.from_bytes(data[20:28])
    around = packet.underlayer
    assert around is not None
    packet.checksum = packet.header_length = None
    again = bytes(IP(src=around.src, dst=around.dst, proto=146) / packet)[20:]
    assert again[: len(data)] == data


def test_captured_bodies() -> None:
    assert golden("RESEND")[0][HomaResend].length == -1
    assert golden("CUTOFFS")[0][HomaCutoffs].cutoff_5 == 15000
    acks = golden("ACK")[0][HomaAck]
    assert (acks.ack_count, acks.acks[0].ack_id, acks.acks[0].ack_port) == (1, 2, 4000)


def test_captured_grant_and_data() -> None:
    """Their checksums were left to a NIC or cover payload that was not kept."""
    grant = bytes.fromhex("0fa08005000000000000001150060000143cb97d000000000000d4490000ea6000")
    assert Homa(grant)[HomaGrant].offset == 60000
    data = bytes.fromhex(
        "80000fa00000000000000010e00600001db7b97d0000000000000002"
        "0000006400000064000000000000000000000000"
        "00000000ffffffff"
    )
    assert Homa(data)[HomaData].offset == -1
    assert Homa(data)[HomaData].message_bytes == 100


def test_a_resend_without_priority() -> None:
    """Kernels without priorities leave the level out."""
    short = bytes.fromhex(GOLDEN["RESEND"][1])[:-1]
    assert Homa(short)[HomaResend].level == 7


# ---- frames of NDP that do not change ----


def said(name: str, field: str) -> int:
    """What a frame says in a field."""
    return NDP_FIELDS[name].get(field, NDP_USUAL.get(field, 0))


@pytest.mark.parametrize("name", NDP_FRAMES)
def test_scapy_reads_and_writes_ndps_frames(name: str) -> None:
    frame = bytes.fromhex(NDP_FRAMES[name])
    read = Ether(frame)
    seen = read[NDP]
    fields = {key: int(value) for key, value in seen.fields.items() if isinstance(value, int)}
    checked = {key: said(name, key) for key in fields if key != "header_check"}
    assert {key: fields[key] for key in checked} == checked
    assert checked.keys() >= NDP_FIELDS[name].keys() - {"flags"}
    assert int(seen.flags) == said(name, "flags")
    assert seen.header_check_holds()
    assert seen.is_trimmed() == (name == "trimmed")
    seen.header_check = None
    assert bytes(read) == frame


@pytest.mark.parametrize("name", NDP_FRAMES)
def test_our_codec_reads_and_writes_ndps_frames(name: str) -> None:
    frame = bytes.fromhex(NDP_FRAMES[name])
    peer = ffi.new("struct nd_frame_peer *")
    error, packet = decode(frame, peer)
    assert error == lib.ND_WIRE_OK
    header, answer = packet.ndp, name in ("ACK", "NACK")
    named = ("type", "flags", "priority", "path", "payload_bytes")
    assert [getattr(packet, each) for each in named] == [said(name, each) for each in named]
    named = ("connection", "sequence", "message_bytes", "message", "backlog")
    assert [getattr(header, each) for each in named] == [said(name, each) for each in named]
    assert header.offset == said(name, "arrived" if answer else "offset")
    if packet.type == lib.ND_NDP_DATA:
        assert (header.service, header.base) == (said(name, "service"), said(name, "base"))
    else:
        assert header.pull == said(name, "pull")
    assert bool(packet.marks & lib.ND_MARK_TRIMMED) == (name == "trimmed")
    if name != "trimmed":
        assert encode(packet, peer) == frame


def test_our_switch_trims_to_the_frame() -> None:
    frame = bytearray.fromhex(NDP_FRAMES["DATA"])
    assert frame[: trim(frame)] == bytes.fromhex(NDP_FRAMES["trimmed"])


def test_the_specification_shows_the_frames() -> None:
    """Those who write a reader of their own begin with them."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "protocol-ndp.md").read_text()
    shown = "".join(page.split())
    assert all(f"{name}{text}" in shown for name, text in NDP_FRAMES.items())


# ---- our codec and scapy ----


def ends(version: int, tagged: bool) -> nd_frame_peer:
    """Addresses of 10.0.0.x or fd00::x."""
    peer = ffi.new("struct nd_frame_peer *")
    lead = bytes(10) + b"\xff\xff\x0a\0\0" if version == 4 else b"\xfd" + bytes(14)
    for name, last in (("source", 11), ("target", 10)):
        ffi.memmove(getattr(peer, name), lead + bytes([last]), 16)
        ffi.memmove(getattr(peer, f"{name}_mac"), bytes([2, 0, 0, 0, 0, last]), 6)
    peer.vlan = 42 if tagged else 0xFFFF
    return peer


def encode(packet: nd_packet, peer: nd_frame_peer) -> bytes:
    """The frame by our codec."""
    frame, template = ffi.new("uint8_t[]", ROOM), ffi.new("struct nd_frame_template *")
    lib.nd_frame_prepare(CONFIG, peer, template)
    length = lib.nd_frame_encode(template, packet, frame, ROOM)
    assert length > 0
    return bytes(ffi.buffer(frame, length)[:])


def decode(frame: bytes, peer: nd_frame_peer | None = None) -> tuple[int, nd_packet]:
    """Error and packet by our codec."""
    packet = ffi.new("struct nd_packet *")
    # The payload points into the frame: whoever follows it keeps that.
    error = lib.nd_frame_decode(
        CONFIG, ffi.from_buffer("uint8_t[]", frame), len(frame), peer or ffi.NULL, packet
    )
    return error, packet


def trim(frame: bytearray) -> int:
    """Cuts a frame as a port in the fabric does; its new length."""
    how = ffi.new("struct nd_frame_trim *")
    how.dscp, how.pcp, how.location = 43, 0xFF, 1
    return lib.nd_frame_trim(CONFIG, ffi.from_buffer("uint8_t[]", frame), len(frame), how)


@st.composite
def ndp_packets(draw: Callable[[st.SearchStrategy[int]], int]) -> tuple[nd_packet, bytes]:
    """Any NDP packet, and its payload."""
    packet = ffi.new("struct nd_packet *")
    kind = draw(st.integers(1, 5))
    payload = bytes(draw(u8) for _ in range(draw(st.integers(1, 40)))) if kind == 1 else b""
    packet.protocol, packet.type = lib.ND_PROTO_NDP, kind
    packet.payload, packet.payload_bytes = ffi.from_buffer("uint8_t[]", payload), len(payload)
    packet.marks = lib.ND_MARK_TRIMMABLE if kind == 1 else lib.ND_MARK_CONTROL
    packet.path, packet.priority, packet.flags = draw(u16), draw(st.integers(0, 7)), draw(u8) & 127
    header = packet.ndp
    header.connection, header.sequence, header.pull = draw(u32), draw(u32), draw(u32)
    header.message, header.backlog = draw(u16), draw(u16)
    header.offset = draw(st.integers(0, 1 << 26))
    header.message_bytes = header.offset + len(payload) + draw(u16)
    return packet, payload


def check_ndp(seen: NDP, packet: nd_packet) -> None:
    """Every field of the header."""
    header = packet.ndp
    assert seen.version == 1
    assert (seen.type, int(seen.flags), seen.priority) == (
        packet.type,
        packet.flags,
        packet.priority,
    )
    assert (seen.connection, seen.sequence) == (header.connection, header.sequence)
    assert seen.message_bytes == header.message_bytes
    answer = packet.type in (lib.ND_NDP_ACK, lib.ND_NDP_NACK)
    assert (seen.arrived if answer else seen.offset) == header.offset
    assert (seen.message, seen.backlog) == (header.message, header.backlog)
    assert (seen.path, seen.payload_bytes) == (packet.path, packet.payload_bytes)
    if packet.type == lib.ND_NDP_DATA:
        assert (seen.service, seen.base) == (header.service, header.base)
    else:
        assert seen.pull == header.pull


@given(ndp_packets(), st.sampled_from([4, 6]), st.booleans())
def test_scapy_reads_our_ndp(sent: tuple[nd_packet, bytes], version: int, tagged: bool) -> None:
    packet, payload = sent
    frame = Ether(encode(packet, ends(version, tagged)))
    assert frame.haslayer(Dot1Q) == tagged
    seen = frame[NDP]
    check_ndp(seen, packet)
    assert seen.header_check_holds()
    assert bytes(seen.payload) == payload
    assert seen.payload_check == (crc32c(payload) if payload else 0)
    assert not seen.is_trimmed()
    assert frame[UDP].dport == 4797
    assert frame[UDP].sport == 49152 + packet.path % 16384
    if version == 4:
        assert frame[IP].flags == "DF"
        assert IP(bytes(IP(**{**frame[IP].fields, "chksum": None}))).chksum == frame[IP].chksum
    else:
        assert frame[IPv6].fl == frame[UDP].sport


@given(ndp_packets(), st.sampled_from([4, 6]), st.booleans())
def test_scapy_reads_trimmed_packets(
    sent: tuple[nd_packet, bytes], version: int, by_us: bool
) -> None:
    """R-NSW-03: cut by our switch, which says so, or by hardware, which does not."""
    packet, payload = sent
    frame = bytearray(encode(packet, ends(version, tagged=False)))
    if packet.type != lib.ND_NDP_DATA:
        return
    length = trim(frame) if by_us else len(frame) - len(payload)
    seen = Ether(bytes(frame[:length]))[NDP]
    check_ndp(seen, packet)
    assert seen.is_trimmed()
    assert seen.header_check_holds()
    assert seen.trim_location == (1 if by_us else 0)


def around(version: int, payload: Packet) -> bytes:
    """A frame by scapy."""
    mac = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    if version == 4:
        return bytes(mac / IP(src=CLIENT, dst=SERVER) / payload)
    return bytes(mac / IPv6(src="fd00::b", dst="fd00::a") / payload)


@given(ndp_packets(), st.sampled_from([4, 6]))
def test_we_read_scapys_ndp(sent: tuple[nd_packet, bytes], version: int) -> None:
    packet, payload = sent
    header = packet.ndp
    built = NDP(
        type=packet.type,
        flags=packet.flags,
        priority=packet.priority,
        connection=header.connection,
        sequence=header.sequence,
        service=header.service,
        base=header.base,
        pull=header.pull,
        message_bytes=header.message_bytes,
        offset=header.offset,
        arrived=header.offset,
        message=header.message,
        path=packet.path,
        backlog=header.backlog,
    )
    frame = around(version, UDP(sport=50000, chksum=0) / built / payload)
    error, seen = decode(frame)
    assert error == lib.ND_WIRE_OK
    assert seen.type == packet.type
    assert seen.path == packet.path
    assert seen.priority == packet.priority
    assert seen.ndp.pull == header.pull
    assert seen.ndp.connection == header.connection
    assert seen.ndp.message_bytes == header.message_bytes


@st.composite
def homa_packets(draw: Callable[[st.SearchStrategy[int]], int]) -> tuple[nd_packet, bytes]:
    """Any Homa packet, and its payload."""
    packet = ffi.new("struct nd_packet *")
    kind = draw(st.integers(0x10, 0x18))
    payload = bytes(draw(u8) for _ in range(draw(st.integers(0, 40)))) if kind == 0x10 else b""
    packet.protocol, packet.type = lib.ND_PROTO_HOMA, kind
    packet.payload, packet.payload_bytes = ffi.from_buffer("uint8_t[]", payload), len(payload)
    packet.priority = draw(st.integers(0, 7))
    header = packet.homa
    header.sender_id, header.source_port, header.target_port = draw(u64), draw(u16), draw(u16)
    header.speaker, header.note = SPEAKER, draw(u8)
    header.offset = draw(st.integers(0, 1 << 26))
    header.level = draw(st.integers(0, 7))
    header.length = draw(st.integers(0, (1 << 31) - 1))
    header.cutoff_version = draw(u16)
    if kind == 0x10:
        header.message_bytes = header.offset + len(payload) + draw(u16)
        header.retransmit = draw(st.integers(0, 1))
    if kind == 0x15:
        for priority in range(8):
            header.cutoffs[priority] = draw(u32)
    if kind == 0x18:
        header.ack_count = draw(st.integers(0, 5))
        for i in range(header.ack_count):
            header.ack_ids[i], header.ack_ports[i] = draw(u64), draw(u16)
    return packet, payload


def check_homa(seen: Homa, packet: nd_packet) -> None:
    """Every field of the header and the body."""
    header = packet.homa
    assert (seen.type, seen.sender_id) == (packet.type, header.sender_id)
    assert (seen.sport, seen.dport) == (header.source_port, header.target_port)
    assert (seen.speaker, seen.note) == (header.speaker, header.note)
    body = seen.payload
    match packet.type:
        case lib.ND_HOMA_DATA:
            assert body.message_bytes == header.message_bytes
            assert (body.incoming, body.offset) == (header.length, header.offset)
            assert seen.sequence == header.offset
            assert body.retransmit == header.retransmit
            assert body.cutoff_version == header.cutoff_version
        case lib.ND_HOMA_GRANT:
            assert (body.offset, body.level) == (header.offset, header.level)
        case lib.ND_HOMA_RESEND:
            assert (body.offset, body.length) == (header.offset, header.length)
            assert body.level == header.level
        case lib.ND_HOMA_CUTOFFS:
            cutoffs = [getattr(body, f"cutoff_{priority}") for priority in range(8)]
            assert cutoffs == list(header.cutoffs)
            assert body.cutoff_version == header.cutoff_version
        case lib.ND_HOMA_ACK:
            count = header.ack_count
            assert body.ack_count == count
            entries = [(entry.ack_id, entry.ack_port) for entry in body.acks[:count]]
            assert entries == list(
                zip(list(header.ack_ids)[:count], list(header.ack_ports)[:count], strict=True)
            )


@given(homa_packets(), st.sampled_from([4, 6]), st.booleans())
def test_scapy_reads_our_homa(sent: tuple[nd_packet, bytes], version: int, tagged: bool) -> None:
    packet, payload = sent
    frame = Ether(encode(packet, ends(version, tagged)))
    seen = frame[Homa]
    check_homa(seen, packet)
    assert seen.checksum_holds()
    traffic_class = frame[IP].tos if version == 4 else frame[IPv6].tc
    assert traffic_class == packet.priority << 5
    if packet.type == lib.ND_HOMA_DATA:
        assert bytes(seen[HomaData].payload) == payload


@given(homa_packets(), st.sampled_from([4, 6]), st.booleans())
def test_we_read_scapys_homa(sent: tuple[nd_packet, bytes], version: int, in_udp: bool) -> None:
    packet, payload = sent
    header = packet.homa
    common = Homa(
        type=packet.type,
        sport=header.source_port,
        dport=header.target_port,
        sender_id=header.sender_id,
        speaker=header.speaker,
        note=header.note,
    )
    bodies: dict[int, Packet] = {
        lib.ND_HOMA_DATA: HomaData(
            message_bytes=header.message_bytes, incoming=header.length, offset=header.offset
        )
        / payload,
        lib.ND_HOMA_GRANT: HomaGrant(offset=header.offset, level=header.level),
        lib.ND_HOMA_RESEND: HomaResend(
            offset=header.offset, length=header.length, level=header.level
        ),
        lib.ND_HOMA_CUTOFFS: HomaCutoffs(cutoff_3=header.cutoffs[3]),
        lib.ND_HOMA_ACK: HomaAck(
            acks=[
                HomaAckEntry(ack_id=header.ack_ids[i], ack_port=header.ack_ports[i])
                for i in range(header.ack_count)
            ]
        ),
    }
    message = common / bodies[packet.type] if packet.type in bodies else common
    error, seen = decode(around(version, UDP(chksum=0) / message if in_udp else message))
    assert error == lib.ND_WIRE_OK
    assert (seen.type, seen.homa.sender_id) == (packet.type, header.sender_id)
    assert (seen.homa.source_port, seen.homa.note) == (header.source_port, header.note)
    match packet.type:
        case lib.ND_HOMA_DATA | lib.ND_HOMA_GRANT | lib.ND_HOMA_RESEND:
            assert seen.homa.offset == header.offset
        case lib.ND_HOMA_CUTOFFS:
            assert seen.homa.cutoffs[3] == header.cutoffs[3]
        case lib.ND_HOMA_ACK:
            assert (
                list(seen.homa.ack_ids)[: header.ack_count]
                == (list(header.ack_ids)[: header.ack_count])
            )


@given(ndp_packets(), st.integers(0, 39), st.integers(0, 7))
def test_a_flipped_bit_is_seen(sent: tuple[nd_packet, bytes], at: int, bit: int) -> None:
    frame = bytearray(encode(sent[0], ends(4, tagged=False)))
    frame[42 + at] ^= 1 << bit
    assert not Ether(bytes(frame))[NDP].header_check_holds()
