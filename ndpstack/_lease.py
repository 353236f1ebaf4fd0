"""Received messages as memoryviews: copied when small, else leased from the stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from ndpstack import _core

if TYPE_CHECKING:
    from ndpstack._dispatch import Dispatcher
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


def copy_of(dispatcher: Dispatcher, size: int, payload: int) -> memoryview:
    """A copy of a received message of up to COPY_BYTES that lies at this address, writable."""
    at = payload - dispatcher.memory_at
    return memoryview(bytearray(dispatcher.memory[at : at + size]))


def lend(
    dispatcher: Dispatcher, protocol: int, identity: int, message: int, size: int, payload: int
) -> tuple[memoryview, Lease]:
    """The bytes of a received message, writable, valid as long as anything refers to them.

    They stay in the stack's memory and count against the credit of this application until the
    view, and all that was made from it, is gone: `with view:` ends it early.

    Args:
        dispatcher: The stack's.
        protocol: With the next two, what names the message when it is given back.
        identity: Of the RPC or connection.
        message: NDP: its number.
        size: Bytes.
        payload: Their address.

    Returns:
        The view, and the lease to hold once it belongs to an owner.
    """
    loan = Lease(dispatcher.app, protocol, identity, message)
    address = ffi.cast("uint8_t *", payload)
    return memoryview(ffi.buffer(ffi.gc(address, loan), size)), loan


def lease(dispatcher: Dispatcher, event: Event, owner: Owner) -> memoryview:
    """The view of a message that its owner has kept unread.

    Args:
        dispatcher: The stack's.
        event: What brought the message.
        owner: It has either the event or the view; an interrupt finds it with one of them.
    """
    protocol, identity, message = event.protocol, event.id, event.message
    if event.bytes <= COPY_BYTES:
        view = copy_of(dispatcher, event.bytes, event.payload)
        # No call stands between these, so no interrupt can.
        owner.unread, owner.view = None, view
        lib.nd_app_release_later(dispatcher.app, protocol, identity, message)
    else:
        view, loan = lend(dispatcher, protocol, identity, message, event.bytes, event.payload)
        # Nor between these.
        owner.unread, owner.view = None, view
        loan.held = True
    return view


def drop(app: _core.nd_app, event: Event) -> None:
    """Gives a message back that nobody is going to read."""
    lib.nd_app_release(app, event.protocol, event.id, event.message)
