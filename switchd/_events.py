"""What happened to links, ports, routes and the configuration, for whoever looks or listens."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

EVENTS_MAX = 1024
"""Events that are kept; the oldest go first."""

Kind = Literal["link", "port", "routes", "config"]


@dataclass(frozen=True)
class Event:
    """Something that happened."""

    at: datetime
    kind: Kind
    what: str
    """A port as "tor0/h1", a switch, or what changed."""
    text: str


class Events:
    """The last events; may be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: deque[Event] = deque(maxlen=EVENTS_MAX)
        self._listeners: list[Callable[[Event], None]] = []

    def add(self, kind: Kind, what: str, text: str) -> None:
        """Keeps an event and tells listeners."""
        event = Event(datetime.now(UTC), kind, what, text)
        with self._lock:
            self._events.append(event)
        for listener in self._listeners:
            listener(event)

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Has it called for each event, from the thread in which that happens."""
        self._listeners.append(listener)

    def last(self) -> list[Event]:
        """Those that are kept, the oldest first."""
        with self._lock:
            return list(self._events)
