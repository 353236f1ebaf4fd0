"""Messages of one connection, put into the order in which they were sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ndpstack._event import Event


class Order:
    """What came before its turn; numbers begin at 0."""

    __slots__ = ("_early", "_next")

    def __init__(self) -> None:
        self._early: dict[int, Event | None] = {}
        self._next = 0

    def put(self, number: int, event: Event | None) -> Iterator[Event]:
        """Takes one message in, and gives those whose turn has come.

        Args:
            number: Of the message; one that was here before is left out.
            event: None where the sender gave the message up: nobody waits for it.
        """
        if number >= self._next:
            self._early[number] = event
        while self._next in self._early:
            first = self._early.pop(self._next)
            self._next += 1
            if first is not None:
                yield first

    def clear(self) -> list[Event]:
        """Forgets what has not had its turn, and tells what it was."""
        held = [event for event in self._early.values() if event is not None]
        self._early.clear()
        return held
