"""What threads and tasks wait for, and how a thread is woken."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from ndpstack import _messages

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable


class Owned:
    """A descriptor that is open as long as anybody refers to it."""

    __slots__ = ("descriptor",)

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __del__(self) -> None:
        descriptor = getattr(self, "descriptor", -1)  # An interrupted __init__() leaves none.
        if descriptor >= 0:
            os.close(descriptor)


class Bell(Owned):
    """An eventfd, which stays open as long as anybody may ring it."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC))

    def ring(self) -> None:
        """Makes the descriptor readable."""
        os.eventfd_write(self.descriptor, 1)

    def hush(self) -> None:
        """Makes it unreadable."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self.descriptor)


class Waitable(_messages.Waitable):
    """Something that a thread or a task waits for."""

    __slots__ = ()

    def is_ready(self) -> bool:
        """True when there is nothing to wait for any more."""
        raise NotImplementedError

    def add_waiter(self, waiter: Callable[[], object]) -> None:
        """Calls it when this may have become ready, from any thread, once.

        It must not wait for the stack itself: that raises RuntimeError there. What it raises ends
        the call that took the event, in whatever thread, or goes to the event loop's exception
        handler; an interrupt may have done that, so it is called once more, and then forgotten.
        """
        self.waiters.append(waiter)

    def remove_waiter(self, waiter: Callable[[], object]) -> None:
        """Forgets it, called or not."""
        if waiter in self.waiters:
            with contextlib.suppress(ValueError):  # It is being called in another thread.
                self.waiters.remove(waiter)

    def ring(self, bell: Bell | None) -> None:
        """From now on rings the bell while this may be ready; None: no bell."""
        self._bell = bell
        if bell is not None and self.is_ready():
            bell.ring()

    def hush(self) -> None:
        """Silences the bell; is_ready() is to be asked again after it."""
        bell = self._bell
        if bell is not None:
            bell.hush()

    def wake(self) -> None:
        """Calls all who wait; they look for themselves."""
        bell = self._bell
        if bell is not None:
            bell.ring()
        while self.waiters:
            try:
                # No call stands between these, so no interrupt can.
                waiter = self.waiters[-1]
                del self.waiters[-1]
            except IndexError:  # Another thread was quicker.
                return
            try:
                waiter()
            except BaseException:
                if waiter is self._raised:
                    self._raised = None
                else:
                    self._raised = waiter
                    self.waiters.append(waiter)
                raise
            if waiter is self._raised:
                self._raised = None


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
