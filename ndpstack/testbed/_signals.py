"""Makes every polite way of ending a process unwind it, so that what it made is taken down."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


_lost: list[int] = []
"""Signals that came: the interpreter ignores an exception that hits a callback of its own."""


def stop_if_told() -> None:
    """Raises again what `interruptible` raised where nobody could hear it."""
    if _lost:
        raise KeyboardInterrupt


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Within it SIGTERM and SIGHUP do what Ctrl-C does, which is heard; main thread only."""
    owner = os.getpid()

    def interrupt(number: int, _frame: FrameType | None) -> None:
        if os.getpid() == owner:
            _lost.append(number)
            raise KeyboardInterrupt
        # A child that a library forked, and ends this way: what is up is not its to take down.
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, interrupt) for number in numbers}
    _lost.clear()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Within it such signals wait: what is made has a name by which it can be taken down.

    So do they while it is: who says twice that it shall end does not want half of it to stay.
    """
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    )
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
