"""Who gets events from the dispatcher, and what it asks of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from ndpstack._waitable import Waitable

if TYPE_CHECKING:
    from ndpstack import _core
    from ndpstack._event import Event

T = TypeVar("T")


class Ending(Protocol):
    """Who hears of the end."""

    def on_end(self) -> None:
        """The stack is closed or gone: whoever waits is to look again."""


class Target(Ending, Protocol):
    """Who gets the events of a key, a connection or an RPC."""

    def on_event(self, event: Event, again: bool) -> None:
        """Takes an event, which may come again after an interrupt.

        Args:
            event: What happened. A received message is the target's once it says so in
                `Dispatcher.owned`, in one statement with that which keeps the event.
            again: The call before this one was cut short: what it did must not be done twice.
        """


class Named(Target, Protocol):
    """Who gets the events of a key, and keeps it."""

    key: int


class Accepting(Protocol[T]):
    """What takes a short message without a detour when that is all that came."""

    def is_ready(self) -> bool:
        """True when it has something else to give, or never will."""

    def accept(self, message: _core.nd_app_message, data: memoryview, batches: int) -> T | None:
        """Makes of the message what is returned, and counts the batch as done with.

        Args:
            message: What came, and to whom.
            data: Its bytes, to be copied.
            batches: Those that were done with when it came; if more are now, a signal handler
                has waited for the stack, and the message came as any other.

        Returns:
            That; None: the message is to come as any other, or has.
        """

    def put_back(self, taken: T) -> None:
        """An interrupt kept what accept() returned from the application: it is the next again."""


class Keyed(Named, Protocol):
    """A call under way, which keeps what it is named by."""

    buffer: int
    owner: int
    """The socket that it is of."""

    def end(self, code: int, state: str) -> bool:
        """Ends it here with an error."""


class Loop(Protocol):
    """An event loop that serves this stack."""

    def kick(self) -> None:
        """Makes it look for events soon; from any thread."""


class Answer(Waitable):
    """The answer to a command; later events of its key go to another target."""

    __slots__ = ("_then", "event", "key")

    def __init__(self, then: Target | None = None) -> None:
        super().__init__()
        self.key = 0
        self.event: Event | None = None
        self._then = then

    def is_ready(self) -> bool:
        return self.event is not None

    def on_event(self, event: Event, again: bool) -> None:
        if self.event is None or again:
            self.event = self.event or event
            self.wake()
        elif self._then is not None:
            self._then.on_event(event, again)

    def on_end(self) -> None:
        self.wake()
        if self._then is not None:
            self._then.on_end()
