"""Makes every polite way of ending a process unwind it, so that what it made is taken down."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
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


def run_in_our_place(argv: Sequence[str]) -> int:
    """Runs a command to its end, which signals are for; main thread only.

    Ctrl-C it gets from the terminal, as we do, and it may go on: a shell does. Of what is sent to
    us alone it hears by us.

    Returns:
        Its exit status, or less than 0: the signal that ended it.
    """
    running: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGINT:
            return
        if running:
            running[0].send_signal(number)
        else:
            early.append(number)  # It begins before we know it.

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    heard = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, pass_on) for number in heard}
    try:
        with subprocess.Popen(argv) as process:
            running.append(process)
            for number in early:
                process.send_signal(number)
            return process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
