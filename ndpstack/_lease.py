"""Received messages as memoryviews: copied when small, else leased from the stack.

What is leased is writable, and valid as long as anything refers to it. It stays in the stack's
memory and counts against the credit of this application until the view, and all that was made from
it, is gone: `with view:` ends it early.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from ndpstack import _core
from ndpstack._messages import Lease

if TYPE_CHECKING:
    from ndpstack._dispatch import Dispatcher
    from ndpstack._event import Event

lib = _core.lib

COPY_BYTES: Final = lib.ND_APP_COPY_BYTES
"""Messages up to this size are copied, which is quicker than keeping a lease on them."""


class Owner(Protocol):
    """Whose message it is: in the core's event at first, then as the view that was made of it."""

    unread: Event | None
    view: memoryview | None


def lease(dispatcher: Dispatcher, event: Event, owner: Owner) -> memoryview:
    """The view of a message that its owner has kept unread.

    Args:
        dispatcher: The stack's.
        event: What brought the message.
        owner: It has either the event or the view; an interrupt finds it with one of them.
    """
    protocol, identity, message = event.protocol, event.id, event.message
    loan = Lease(dispatcher, protocol, identity, message, event.bytes, event.payload)
    if event.bytes <= COPY_BYTES:
        view = memoryview(bytearray(loan))
        # No call stands between these, so no interrupt can.
        owner.unread, owner.view = None, view
        lib.nd_app_release_later(dispatcher.app, protocol, identity, message)
    else:
        view = memoryview(loan)
        # Nor between these.
        owner.unread, owner.view = None, view
        loan.held = True
    return view


def drop(app: _core.nd_app, event: Event) -> None:
    """Gives a message back that nobody is going to read."""
    lib.nd_app_release(app, event.protocol, event.id, event.message)
