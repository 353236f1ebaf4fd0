"""Received messages as memoryviews: copied when small, else leased from the stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ndpstack import _core

if TYPE_CHECKING:
    from ndpstack._dispatch import Event

lib, ffi = _core.lib, _core.ffi

COPY_BYTES: Final = 4096
"""Messages up to this size are copied, which is quicker than keeping a lease on them."""


def lease(app: _core.nd_app, event: Event) -> memoryview:
    """The bytes of a received message, writable, valid as long as anything refers to them.

    A longer message stays in the stack's memory and counts against the credit of this application
    until the view, and all that was made from it, is gone: `with view:` ends it early.
    """
    address = ffi.cast("uint8_t *", event.payload)
    if event.bytes <= COPY_BYTES:
        copy = memoryview(bytearray(ffi.buffer(address, event.bytes)))
        lib.nd_app_release_later(app, event.protocol, event.id, event.message)
        return copy
    protocol, identity, message = event.protocol, event.id, event.message
    kept = ffi.gc(address, lambda _: lib.nd_app_release(app, protocol, identity, message))
    return memoryview(ffi.buffer(kept, event.bytes))


def drop(app: _core.nd_app, event: Event) -> None:
    """Gives a message back that nobody is going to read."""
    lib.nd_app_release(app, event.protocol, event.id, event.message)
