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
    """Whose message it is: in the core's event at first, then as the view that was made of it."""

    unread: Event | None
    view: memoryview | None


class Lease:
    """Gives a message back when nothing refers to its bytes any more."""

    __slots__ = ("_app", "_message", "held")

    def __init__(self, app: _core.nd_app, protocol: int, identity: int, message: int) -> None:
        self._app = app
        self._message = (protocol, identity, message)
        self.held = False
        """Not before the view belongs to an owner."""

    def __call__(self, _: object) -> None:
        if self.held:
            lib.nd_app_release(self._app, *self._message)


def lease(app: _core.nd_app, event: Event, owner: Owner) -> memoryview:
    """The bytes of a received message, writable, valid as long as anything refers to them.

    A longer message stays in the stack's memory and counts against the credit of this application
    until the view, and all that was made from it, is gone: `with view:` ends it early.

    Args:
        app: The stack's.
        event: What brought the message.
        owner: It has either the event or the view; an interrupt finds it with one of them.
    """
    address = ffi.cast("uint8_t *", event.payload)
    protocol, identity, message = event.protocol, event.id, event.message
    if event.bytes <= COPY_BYTES:
        copy = memoryview(bytearray(ffi.buffer(address, event.bytes)))
        # No call stands between these, so no interrupt can.
        owner.unread, owner.view = None, copy
        lib.nd_app_release_later(app, protocol, identity, message)
        return copy
    loan = Lease(app, protocol, identity, message)
    view = memoryview(ffi.buffer(ffi.gc(address, loan), event.bytes))
    # No call stands between these, so no interrupt can.
    owner.unread, owner.view, loan.held = None, view, True
    return view


def drop(app: _core.nd_app, event: Event) -> None:
    """Gives a message back that nobody is going to read."""
    lib.nd_app_release(app, event.protocol, event.id, event.message)
