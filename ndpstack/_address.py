"""Addresses as the core knows them: 16 bytes, IPv4 mapped into IPv6."""

from __future__ import annotations

import ipaddress
import operator
import socket
import struct
from typing import TYPE_CHECKING, final

from ndpstack._ask import ask_core
from ndpstack.errors import NdpError

if TYPE_CHECKING:
    from ndpstack._dispatch import Dispatcher

_MAPPED = bytes(10) + b"\xff\xff"

PORT_MAX = 0xFFFF


def pack(text: str) -> bytes:
    """The 16 bytes of an IP address.

    Raises:
        ValueError: It is no IP address; names are not resolved here.
    """
    try:
        return _MAPPED + socket.inet_pton(socket.AF_INET, text)
    except OSError:
        pass
    try:
        return ipaddress.IPv6Address(text).packed
    except ValueError:
        raise ValueError(
            f"{text!r} is no IP address, such as 10.0.0.1 or fd00::1; names are not resolved, "
            "and a port is given beside it"
        ) from None


def is_ipv4(raw: bytes) -> bool:
    """True for 16 bytes that stand for an IPv4 address."""
    return raw.startswith(_MAPPED)


def unpack(raw: bytes) -> str:
    """The text of 16 bytes."""
    if is_ipv4(raw):
        return socket.inet_ntop(socket.AF_INET, raw[12:])
    return socket.inet_ntop(socket.AF_INET6, raw)


def check_port(port: int) -> int:
    """The port if it can be one.

    Raises:
        TypeError: It is no whole number.
        ValueError: It is not in 1..65535.
    """
    number = operator.index(port)
    if not 0 < number <= PORT_MAX:
        raise ValueError(f"port {port} is not in 1..{PORT_MAX}")
    return number


@final
class Peer:
    """Another host, resolved once: what `Stack.peer` returns and every call takes as an address."""

    __slots__ = ("_address", "_dispatcher", "handle")

    def __init__(self, dispatcher: Dispatcher, handle: int, address: str | None = None) -> None:
        self._dispatcher = dispatcher
        self._address = address
        self.handle = handle

    @property
    def address(self) -> str:
        """Its IP address; of one that came to us, the core is asked once."""
        if self._address is None:
            event = ask_core(self._dispatcher, b"", self.handle)
            self._address = unpack(struct.pack("<QQ", event.id, event.message))
        return self._address

    def text(self) -> str:
        """For error messages: the address, or the handle when the core no longer answers."""
        try:
            return self.address
        except NdpError:
            return f"#{self.handle}"

    def forget(self) -> None:
        """From the dispatcher: it has made room for other hosts, and is to be resolved again."""
        known = self._dispatcher.peers
        if self._address is not None and known.get(self._address) is self:
            known.pop(self._address, None)

    def __repr__(self) -> str:
        return f"Peer({self.text()})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Peer):
            return NotImplemented
        return self.handle == other.handle and self._dispatcher is other._dispatcher

    def __hash__(self) -> int:
        return hash((id(self._dispatcher), self.handle))
