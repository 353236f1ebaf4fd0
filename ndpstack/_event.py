"""Events as the core makes them, and as sockets see them."""

from __future__ import annotations

import struct
from functools import partial
from typing import Final, NamedTuple

from ndpstack import _core

lib = _core.lib

NDP: Final = lib.ND_PROTO_NDP
HOMA: Final = lib.ND_PROTO_HOMA

ACCEPTED: Final = lib.ND_EVENT_ACCEPTED
MESSAGE: Final = lib.ND_EVENT_MESSAGE
ABANDONED: Final = lib.ND_EVENT_ABANDONED
SENT: Final = lib.ND_EVENT_SENT
FAILED: Final = lib.ND_EVENT_FAILED
CLOSED: Final = lib.ND_EVENT_CLOSED
OPENED: Final = lib.ND_EVENT_OPENED
"""Looked up once: an attribute of `lib` takes as long as a function call."""

_EVENT: Final = struct.Struct("<BxxxiIHBxIIQQQQ")

EVENT_BYTES: Final = _EVENT.size


class Event(NamedTuple):
    """What sockets use of one struct nd_event; payload is an address."""

    kind: int
    error: int
    peer: int
    port: int
    protocol: int
    bytes: int
    detail: int
    id: int
    message: int
    cookie: int
    payload: int


def event_at(events: memoryview, index: int) -> Event:
    """One event of an array of struct nd_event."""
    return _MAKE(_EVENT.unpack_from(events, index * EVENT_BYTES))


_MAKE: Final = partial(tuple.__new__, Event)
"""Event._make() without a look at the length, which the format guarantees."""
