"""One event loop's part in a stack: it is woken by the descriptor and takes a batch at a time."""

from __future__ import annotations

import asyncio
import os
import weakref
from functools import partial
from typing import TYPE_CHECKING, Final

from ndpstack._dispatch import BATCH
from ndpstack._messages import complete, new_future

if TYPE_CHECKING:
    from collections.abc import Callable

    from ndpstack._dispatch import Dispatcher
    from ndpstack._waitable import Waitable


AT_ONCE_MAX: Final = 4
"""Answers in a row to single messages, before all tasks have their turn."""


class LoopDriver:
    """Feeds one dispatcher from one event loop, as long as sockets are open there."""

    def __init__(self, dispatcher: Dispatcher, loop: asyncio.AbstractEventLoop) -> None:
        self._dispatcher = dispatcher
        self.loop: Final = loop
        self._descriptor = -1
        """Open as long as the loop watches it: the stack closes in any thread."""
        self._users = 0
        self._again: asyncio.Handle | None = None
        self._unsent = False
        """There is something to send or to take at the end of this turn."""
        self._single = False
        """What came last was one message, and its task is in the turn that this began."""
        self._at_once = 0
        """Answers that may still be sent in this turn without waiting for its end."""

    def acquire(self) -> None:
        """A socket of this loop is opened.

        Raises:
            NdpError: The stack has ended.
        """
        self._dispatcher.check_alive()
        self._users += 1
        if self._users == 1:
            try:
                self._watch()
            except BaseException:
                self._users = 0
                self._leave()
                raise

    def _watch(self) -> None:
        self._descriptor = self._dispatcher.raw_descriptor()
        self.loop.add_reader(self._descriptor, self._on_readable)
        self._dispatcher.add_loop(self)

    def release(self) -> None:
        """A socket of this loop is closed."""
        if self._dispatcher.forked:
            return  # The loop's descriptors are the parent's: it would go on without this one.
        self._users -= 1
        if self._users == 0:
            self._leave()

    def _leave(self) -> None:
        self._stop_watching()
        if self in self._dispatcher.loops:
            self._dispatcher.remove_loop(self)
        of_loop = _drivers.get(self.loop)
        if of_loop is not None:  # A destructor may run where the loop is gone, too.
            of_loop.pop(self._dispatcher, None)

    def _stop_watching(self) -> None:
        if self._descriptor >= 0:
            if not self.loop.is_closed():
                self.loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def release_soon(self) -> None:
        """The same from any thread."""
        if not self._call_soon(self.release):
            self.release()

    def kick(self) -> None:
        """Has the loop look for events soon; from any thread."""
        self._call_soon(self._on_readable)

    def _call_soon(self, function: Callable[[], None]) -> bool:
        """Has the loop call it, from any thread; false: the loop is closed."""
        try:
            self.loop.call_soon_threadsafe(function)
        except RuntimeError:
            if not self.loop.is_closed():
                raise
            return False
        return True

    def flush_soon(self) -> None:
        """What was left to be sent leaves when all tasks had their turn."""
        self._unsent = True
        if self._again is None:
            self._again = self.loop.call_soon(self._end_turn)

    def answer(self) -> None:
        """As flush_soon(); at once when this answers the only message that came.

        What comes of it is taken with it, so that a task that asks or serves one after the other
        need not wait for the loop's next turn each time; only for some in a row, for the sake of
        the loop's other tasks.
        """
        if self._single and self._at_once > 0:
            self._at_once -= 1
            self._take(False)
            return
        self._unsent = True  # As flush_soon(), without another call for each message.
        if self._again is None:
            self._again = self.loop.call_soon(self._end_turn)

    def _on_readable(self) -> None:
        self._poll(True)

    def _end_turn(self) -> None:
        self._again = None
        self._single = False
        if self._unsent:
            self._poll(False)

    def _poll(self, woken: bool) -> None:
        """Takes one batch; the rest is for the next turn, so that other tasks get theirs.

        What the tasks send that it woke leaves right behind them, at the end of that turn.
        """
        self._at_once = AT_ONCE_MAX
        self._take(woken)

    def _take(self, woken: bool) -> None:
        try:
            count = self._dispatcher.poll(woken)
        except BaseException:
            self._single = False
            for _ in range(2):  # What was taken comes again, and nothing else with it.
                self.loop.call_soon(self._poll, False)
            raise
        self._unsent, self._single = count == BATCH, count == 1
        if self._dispatcher.ended is not None and not self._dispatcher.forked:
            self._stop_watching()
        if count and self._again is None:
            self._again = self.loop.call_soon(self._end_turn)

    async def wait(self, target: Waitable) -> None:
        """Suspends the task until the target is ready.

        Raises:
            NdpError: The stack has ended.
            RuntimeError: Another loop runs than the one this belongs to.
        """
        ready = False
        while not ready:
            future = new_future(self.loop)
            waiter = partial(complete, self.loop, future)
            target.add_waiter(waiter)
            try:
                if target.is_ready():  # Not before: another thread may make it so at any time.
                    return
                if self._dispatcher.ended is not None:
                    self._dispatcher.check_alive()
                await future
            finally:
                if target.waiters:
                    target.remove_waiter(waiter)
            ready = target.is_ready()


_drivers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Dispatcher, LoopDriver]] = (
    weakref.WeakKeyDictionary()
)


def driver_of(dispatcher: Dispatcher) -> LoopDriver:
    """The driver of a dispatcher in the running loop."""
    loop = asyncio.get_running_loop()
    of_loop = _drivers.setdefault(loop, {})
    driver = of_loop.get(dispatcher)
    if driver is None:
        driver = of_loop[dispatcher] = LoopDriver(dispatcher, loop)
    return driver
