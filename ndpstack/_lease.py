"""Received messages as memoryviews: copied when small, else leased from the stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from ndpstack import _core

if TYPE_CHECKING:
    from ndpstack._event import Event

lib, ffi = _core.lib, _core.ffi

COPY_BYTES: Final = lib.ND_APP_COPY_BYTES
"""Messages up to this size are copied, which is quicker than keeping a lease on them."""


class Owner(Protocol):
    """Whose message it is until it has been read."""

    unread: Event | None


def lease(app: _core.nd_app, event: Event, owner: Owner) -> memoryview:
    """The bytes of a received message, writable, valid as long as anything refers to them.

    A longer message stays in the stack's memory and counts against the credit of this application
    until the view, and all that was made from it, is gone: `with view:` ends it early.

    Args:
        app: The stack's.
        event: What brought the message.
        owner: It owns the message no more from the moment when it is given back or leased, which
            an interrupt cannot divide.
    """
    address = ffi.cast("uint8_t *", event.payload)
    protocol, identity, message = event.protocol, event.id, event.message
    if event.bytes <= COPY_BYTES:
        copy = memoryview(bytearray(ffi.buffer(address, event.bytes)))
        owner.unread = None
        lib.nd_app_release_later(app, protocol, identity, message)
        return copy
    owner.unread = None
    kept = ffi.gc(address, lambda _: lib.nd_app_release(app, protocol, identity, message))
    return memoryview(ffi.buffer(kept, event.bytes))


def drop(app: _core.nd_app, event: Event) -> None:
    """Gives a message back that nobody is going to read."""
    lib.nd_app_release(app, event.protocol, event.id, event.message)
