"""What threads and tasks wait for, and how a thread is woken."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable


class Waitable:
    """Something that a thread or a task waits for."""

    __slots__ = ("_bell", "waiters")

    def __init__(self) -> None:
        self.waiters: list[Callable[[], object]] = []
        """Called when it may have become ready."""
        self._bell = -1

    def is_ready(self) -> bool:
        """True when there is nothing to wait for any more."""
        raise NotImplementedError

    def add_waiter(self, waiter: Callable[[], object]) -> None:
        """Calls it when this may have become ready, from any thread, once."""
        self.waiters.append(waiter)

    def remove_waiter(self, waiter: Callable[[], object]) -> None:
        """Forgets it, called or not."""
        if waiter in self.waiters:
            with contextlib.suppress(ValueError):  # It is being called in another thread.
                self.waiters.remove(waiter)

    def ring(self, bell: int) -> None:
        """From now on makes an eventfd readable while this may be ready; -1: none."""
        self._bell = bell
        if bell >= 0 and self.is_ready():
            os.eventfd_write(bell, 1)

    def hush(self) -> None:
        """Silences the eventfd; is_ready() is to be asked again after it."""
        if self._bell >= 0:
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(self._bell)

    def wake(self) -> None:
        """Calls all who wait; they look for themselves."""
        if self._bell >= 0:
            os.eventfd_write(self._bell, 1)
        while self.waiters:
            try:
                waiter = self.waiters.pop()
            except IndexError:  # Another thread was quicker.
                return
            waiter()


class Never(Waitable):
    """What is waited for only to let time pass."""

    def is_ready(self) -> bool:
        return False

    def add_waiter(self, waiter: Callable[[], object]) -> None:
        """Nobody will call it."""

    def remove_waiter(self, waiter: Callable[[], object]) -> None:
        """It was never kept."""


class Release:
    """Wakes a follower; it may be called twice."""

    __slots__ = ("_lock",)

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock

    def __call__(self) -> None:
        if self._lock.locked():
            try:
                self._lock.release()
            except RuntimeError:  # Another thread was quicker.
                return
