"""Messages of one connection, put into the order in which they were sent."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import collections

    from ndpstack._event import Event


class Order:
    """What came before its turn; numbers begin at 0."""

    __slots__ = ("early", "next")

    def __init__(self) -> None:
        self.early: dict[int, Event | None] = {}
        """By number; None where the sender gave the message up, for which nobody waits."""
        self.next = 0
        """The number whose turn it is."""

    def is_next(self, number: int) -> bool:
        """True when a message may go past what is early."""
        return number == self.next and not self.early

    def pass_on(self, inbox: collections.deque[Event]) -> None:
        """Gives the inbox those whose turn has come; an interrupt leaves none out."""
        while self.next in self.early:
            first = self.early[self.next]
            if first is not None:
                inbox += (first,)
            del self.early[self.next]
            self.next += 1

    def empty_into(self, inbox: collections.deque[Event]) -> None:
        """Gives the inbox those as well that have not had their turn, in any order."""
        with contextlib.suppress(KeyError):  # Another thread does it, too.
            while self.early:
                _, first = self.early.popitem()
                if first is not None:
                    inbox += (first,)
