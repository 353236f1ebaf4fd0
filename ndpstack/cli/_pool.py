"""Processes that run points and experiments."""

from __future__ import annotations

import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from multiprocessing.context import BaseContext

P = ParamSpec("P")
T = TypeVar("T")


def _end_silently() -> None:
    """What a process begins with."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


class Pool(ProcessPoolExecutor):
    """Processes that Ctrl-C ends without a word: it reaches all of them, and we say it once.

    Args:
        jobs: How many there are at most.
        context: How they are started.
    """

    def __init__(self, jobs: int, context: BaseContext) -> None:
        super().__init__(jobs, mp_context=context, initializer=_end_silently)
        # Where it is not up the first process starts it, and it lets interrupts through.
        resource_tracker.ensure_running()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Has a process run it, which this may start: until it has begun, an interrupt waits."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return super().submit(fn, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
