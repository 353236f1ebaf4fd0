"""What travels in an RPC: a fixed head, the method's name, and a body that a codec packs.

| bytes | request | reply |
|---|---|---|
| 1 | version | version |
| 1 | flags: 1 one-way, 2 the reply is a stream | status: 0 value, 1 error, 2 part, 3 end, 4 late |
| 2 | length of the method's name | 0 |
| 8 | nanoseconds until the deadline, 0: none; a stream's: for each value | stream: its cursor |
| ... | method's name, then the body | body |
"""

from __future__ import annotations

import errno
import struct
from typing import Final, NamedTuple, Protocol

import msgpack

from ndpstack.errors import NdpError

VERSION: Final = 1
HEAD: Final = struct.Struct("<BBHQ")

ONE_WAY: Final = 1
STREAM: Final = 2

VALUE: Final = 0
ERROR: Final = 1
PART: Final = 2
END: Final = 3
LATE: Final = 4
"""The deadline passed before the method had ended; the server's clock was the quicker one."""

NEXT: Final = "\0next"
CLOSE: Final = "\0close"
"""In place of a method's name: what is to become of a stream, whose cursor is in the time left."""

NAME_BYTES_MAX: Final = 255


class RemoteError(NdpError):
    """A method raised an error at the server.

    Attributes:
        kind: Name of the error's type there.
        text: Its message.
        peer: Address of the server.
    """

    def __init__(self, kind: str, text: str, *, peer: str | None = None) -> None:
        super().__init__(errno.EREMOTEIO, f"{kind}: {text}" if text else kind, peer=peer)
        self.kind = kind
        self.text = text


class Codec(Protocol):
    """Packs values into bytes and back. msgspec's encoders fit behind it for hot typed calls."""

    def pack(self, value: object) -> bytes:
        """Bytes of a value; ValueError, or TypeError when it does not know a type in it.

        Then it is asked again, with dictionaries in place of dataclasses and values in place of
        members of enums.
        """

    def unpack(self, data: memoryview) -> object:
        """The value of bytes; ValueError when they are none."""


class MsgpackCodec:
    """The default: msgpack, with limits taken from the message's own length."""

    def pack(self, value: object) -> bytes:
        """Bytes of a value."""
        packed = msgpack.packb(value)
        assert isinstance(packed, bytes)
        return packed

    def unpack(self, data: memoryview) -> object:
        """The value of bytes.

        Raises:
            ValueError: They are no msgpack, claim more than there is, or are a map with keys that
                no dictionary has.
        """
        try:
            return msgpack.unpackb(data, strict_map_key=False)
        except TypeError as error:  # A tuple that is a key travels as a list.
            raise ValueError(f"a map has a key that no dictionary can have: {error}") from None


class RequestHead(NamedTuple):
    """A request taken apart; the body is still packed."""

    method: str
    flags: int
    left_ns: int
    body: memoryview


class ReplyHead(NamedTuple):
    """A reply taken apart; the body is still packed."""

    status: int
    cursor: int
    body: memoryview


def pack_name(method: str) -> bytes:
    """A method's name as it travels.

    Raises:
        TypeError: The name is no text.
        ValueError: It is longer than NAME_BYTES_MAX.
    """
    if not isinstance(method, str):
        kind = type(method).__name__
        raise TypeError(f"a method's name is a str, not {kind}: give the name it is served under")
    name = method.encode()
    if len(name) > NAME_BYTES_MAX:
        raise ValueError(f"method name of {len(name)} bytes, the limit is {NAME_BYTES_MAX}")
    return name


def pack_request(method: str, flags: int, left_ns: int, body: bytes) -> bytes:
    """The bytes of a request.

    Raises:
        TypeError: The method's name is no text.
        ValueError: It is longer than NAME_BYTES_MAX.
    """
    name = pack_name(method)
    return HEAD.pack(VERSION, flags, len(name), left_ns) + name + body


def unpack_request(data: memoryview) -> RequestHead:
    """Takes a request apart.

    Raises:
        ValueError: It is no request of this version.
    """
    if len(data) < HEAD.size:
        raise ValueError(f"request of {len(data)} bytes is shorter than its head")
    version, flags, name_bytes, left_ns = HEAD.unpack_from(data)
    if version != VERSION:
        raise ValueError(f"request of version {version}, this is version {VERSION}")
    end = HEAD.size + name_bytes
    if name_bytes > NAME_BYTES_MAX or end > len(data):
        raise ValueError(f"method name of {name_bytes} bytes in a request of {len(data)}")
    return RequestHead(str(data[HEAD.size : end], "utf-8"), flags, left_ns, data[end:])


def pack_reply(status: int, body: bytes, cursor: int = 0) -> bytes:
    """The bytes of a reply."""
    return HEAD.pack(VERSION, status, 0, cursor) + body


def unpack_reply(data: memoryview) -> ReplyHead:
    """Takes a reply apart.

    Raises:
        ValueError: It is no reply of this version.
    """
    if len(data) < HEAD.size:
        raise ValueError(f"reply of {len(data)} bytes is shorter than its head")
    version, status, _, cursor = HEAD.unpack_from(data)
    if version != VERSION:
        raise ValueError(f"reply of version {version}, this is version {VERSION}")
    return ReplyHead(status, cursor, data[HEAD.size :])
