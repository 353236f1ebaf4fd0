"""Scapy layers for NDP and Homa, written from the specifications and not from our own codec.

Importing it teaches scapy both protocols: `sniff`, `rdpcap` and `Ether(data)` then dissect them.

    from scapy.layers.inet import IP, UDP
    from ndpstack.contrib.scapy import NDP

    IP(dst="10.0.0.2") / UDP(sport=49152, chksum=0) / NDP(type="DATA", message_bytes=5) / b"hello"

Lengths and checks that are left out are filled in. Needs the extra `ndpstack[scapy]`.
"""

from __future__ import annotations

import struct

from scapy.fields import (
    BitEnumField,
    BitField,
    ByteEnumField,
    ByteField,
    ConditionalField,
    FlagsField,
    IntField,
    LongField,
    PacketListField,
    ShortField,
    SignedIntField,
    StrField,
    StrLenField,
    ThreeBytesField,
    XByteField,
    XIntField,
    XShortField,
)
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet, bind_layers

NDP_PORT = 4797
HOMA_PORT = 4798
HOMA_PROTOCOL = 146

_NDP_DATA = 1
_NDP_ACK = 2
_NDP_NACK = 3
_NDP_WORDS = 10
_NDP_BYTES = 4 * _NDP_WORDS
_HOMA_DATA = 0x10
_HOMA_ACKS = 5
_TCP = 6

_NDP_TYPES = {1: "DATA", 2: "ACK", 3: "NACK", 4: "PULL", 5: "CLOSE"}
_HOMA_TYPES = {
    0x10: "DATA",
    0x11: "GRANT",
    0x12: "RESEND",
    0x13: "RPC_UNKNOWN",
    0x14: "BUSY",
    0x15: "CUTOFFS",
    0x16: "FREEZE",
    0x17: "NEED_ACK",
    0x18: "ACK",
}


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli) bit by bit, as RFC 3720 defines it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def _addresses(packet: Packet) -> bytes:
    """Source and target address of the IP header around a layer; empty when there is none."""
    layer = packet.underlayer
    while layer is not None and not isinstance(layer, IP | IPv6):
        layer = layer.underlayer
    if layer is None:
        return b""
    source, target = layer.get_field("src"), layer.get_field("dst")
    return bytes(source.i2m(layer, layer.src)) + bytes(target.i2m(layer, layer.dst))


def _check_prefix(addresses: bytes) -> bytes:
    """What the header check covers in front of the header: over IPv6, the addresses' XOR."""
    if len(addresses) != 32:
        return b""
    first, second, third, fourth = struct.unpack("!4Q", addresses)
    return struct.pack("!Q", first ^ second ^ third ^ fourth)


def _is_data(packet: Packet) -> bool:
    return bool(packet.type == _NDP_DATA)


def _is_answer(packet: Packet) -> bool:
    return packet.type in (_NDP_ACK, _NDP_NACK)


class NDP(Packet):
    """NDP, version 1: docs/protocol-ndp.md, section 2."""

    name = "NDP"
    fields_desc = [  # noqa: RUF012 - scapy's way
        BitField("version", 1, 4),
        BitEnumField("type", _NDP_DATA, 4, _NDP_TYPES),
        BitField("bounced", 0, 1),
        # 0x20 is PULL in ACK and NACK, VOID in DATA.
        FlagsField("flags", 0, 7, ["SYN", "LAST", "FIN", "REPLY", "RTX", "PULL", "CONGESTED"]),
        BitField("priority", 0, 3),
        BitEnumField("trim_location", 0, 2, {0: "none", 1: "fabric", 2: "last_hop"}),
        BitField("spare", 0, 3),
        ByteField("header_words", _NDP_WORDS),
        XIntField("connection", 0),
        IntField("sequence", 0),
        ConditionalField(ShortField("service", 0), _is_data),
        ConditionalField(ShortField("base", 0), _is_data),
        ConditionalField(IntField("pull", 0), lambda packet: not _is_data(packet)),
        IntField("message_bytes", 0),
        ConditionalField(IntField("offset", 0), lambda packet: not _is_answer(packet)),
        ConditionalField(IntField("arrived", 0), _is_answer),
        ShortField("message", 0),
        ShortField("path", 0),
        ShortField("payload_bytes", None),
        ShortField("backlog", 0),
        XIntField("payload_check", None),
        XIntField("header_check", None),
        StrLenField(
            "extra", b"", length_from=lambda packet: max(0, packet.header_words * 4 - _NDP_BYTES)
        ),
    ]

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        """Fills in the payload's length and both checks where they were left out."""
        header = bytearray(pkt)
        if self.payload_bytes is None:
            struct.pack_into("!H", header, 28, len(pay))
        if self.payload_check is None:
            struct.pack_into("!I", header, 32, crc32c(pay) if pay else 0)
        if self.header_check is None:
            check = crc32c(_check_prefix(_addresses(self)) + header[:36])
            struct.pack_into("!I", header, 36, check)
        return bytes(header) + pay

    def header_check_holds(self) -> bool:
        """True when the header is undamaged, and over IPv6 where it belongs."""
        header: bytes = self.original or bytes(self)
        check = crc32c(_check_prefix(_addresses(self)) + header[:36])
        return check == int.from_bytes(header[36:40])

    def is_trimmed(self) -> bool:
        """True for DATA that lost payload on the way: section 4.2."""
        return _is_data(self) and (
            self.trim_location != 0 or len(self.payload) < (self.payload_bytes or 0)
        )


class Homa(Packet):
    """The header that all Homa packets share; types with a body have it as the next layer."""

    name = "Homa"
    fields_desc = [  # noqa: RUF012
        ShortField("sport", 32768),
        ShortField("dport", 4000),
        IntField("sequence", 0),
        XByteField("speaker", 0),
        ByteField("note", 0),
        XByteField("acknowledgement", 0),
        ByteEnumField("type", _HOMA_DATA, _HOMA_TYPES),
        XByteField("header_length", None),
        XByteField("tcp_flags", 0x06),
        ShortField("window", 0),
        XShortField("checksum", None),
        XShortField("urgent", 0xB97D),
        LongField("sender_id", 2),
    ]

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        """Fills in TCP's header length and checksum where they were left out."""
        header = bytearray(pkt)
        if self.header_length is None:
            header[12] = 0xE0 if self.type == _HOMA_DATA else 0x50
        if self.checksum is None:
            value = _checksum(_addresses(self), bytes(header) + pay) or 0xFFFF
            struct.pack_into("!H", header, 16, value)
        return bytes(header) + pay

    def checksum_holds(self) -> bool:
        """True when the checksum is right, or 0, which means that nobody filled it in."""
        data: bytes = self.original or bytes(self)
        if len(data) < 18 or data[16:18] == b"\0\0":
            return True
        return _checksum(_addresses(self), data) == 0


def _checksum(addresses: bytes, data: bytes) -> int:
    """TCP's checksum, pseudo-header included; 0 over data whose own is right."""
    whole = addresses + struct.pack("!II", len(data), _TCP) + data + b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(whole) // 2}H", whole))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class HomaData(Packet):
    """DATA: a range of a message follows."""

    name = "Homa DATA"
    fields_desc = [  # noqa: RUF012
        IntField("message_bytes", 0),
        IntField("incoming", 0),
        LongField("ack_id", 0),
        ShortField("ack_port", 0),
        ShortField("cutoff_version", 0),
        ByteField("retransmit", 0),
        ThreeBytesField("pad", 0),
        SignedIntField("offset", 0),
    ]


class HomaGrant(Packet):
    """GRANT: everything below the offset may be sent."""

    name = "Homa GRANT"
    fields_desc = [  # noqa: RUF012
        IntField("offset", 0),
        ByteField("level", 0),
        # One byte that kernels up to 6.10 want, and whatever pads the frame.
        StrField("rest", b"\0"),
    ]


class HomaResend(Packet):
    """RESEND: a range is missing; length -1 means all that was sent so far."""

    name = "Homa RESEND"
    fields_desc = [  # noqa: RUF012
        IntField("offset", 0),
        SignedIntField("length", -1),
        ByteField("level", 7),
    ]

    def pre_dissect(self, s: bytes) -> bytes:
        """Kernels without priorities leave the level out."""
        return s + b"\x07" if len(s) == 8 else s


class HomaCutoffs(Packet):
    """CUTOFFS: the longest message of each unscheduled priority."""

    name = "Homa CUTOFFS"
    fields_desc = [  # noqa: RUF012
        *(IntField(f"cutoff_{priority}", 0) for priority in range(8)),
        ShortField("cutoff_version", 0),
    ]


class HomaAckEntry(Packet):
    """One RPC that has ended."""

    name = "Homa ACK entry"
    fields_desc = [LongField("ack_id", 0), ShortField("ack_port", 0)]  # noqa: RUF012

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes]:
        """What follows is the next entry."""
        return b"", s


class HomaAck(Packet):
    """ACK: room for five RPCs that have ended, of which the count says how many are."""

    name = "Homa ACK"
    fields_desc = [  # noqa: RUF012
        ShortField("ack_count", None),
        PacketListField("acks", [], HomaAckEntry, count_from=lambda _: _HOMA_ACKS),
    ]

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        """Fills in the count and the room."""
        if self.ack_count is None:
            pkt = struct.pack("!H", len(self.acks)) + pkt[2:]
        return pkt.ljust(2 + 10 * _HOMA_ACKS, b"\0") + pay


bind_layers(UDP, NDP, dport=NDP_PORT)
bind_layers(UDP, Homa, dport=HOMA_PORT)
bind_layers(IP, Homa, proto=HOMA_PROTOCOL)
bind_layers(IPv6, Homa, nh=HOMA_PROTOCOL)
for _type, _body in {
    0x10: HomaData,
    0x11: HomaGrant,
    0x12: HomaResend,
    0x15: HomaCutoffs,
    0x18: HomaAck,
}.items():
    bind_layers(Homa, _body, type=_type)
