"""Deadlines of calls: how long the caller still waits, and the end of what takes longer."""

from __future__ import annotations

import asyncio
import contextvars
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable

_until: contextvars.ContextVar[float | None] = contextvars.ContextVar("until", default=None)


def deadline() -> float | None:
    """Seconds that the caller of the method that runs still waits, or None.

    In a stream these are the seconds until its next value is due.
    """
    until = _until.get()
    return None if until is None else max(0.0, until - time.monotonic())


def set_deadline(left: float | None) -> None:
    """What deadline() tells in this task from now on."""
    _until.set(None if left is None else time.monotonic() + left)


class LateError(TimeoutError):
    """The call's deadline passed, which is not an error of the method."""

    def __str__(self) -> str:
        return "the method took longer than the call's timeout"


async def within(left: float | None, value: Awaitable[object]) -> object:
    """The value, if it is there in so many seconds: asyncio.timeout() in a third of its time.

    Raises:
        LateError: It is not; the task was cancelled meanwhile.
    """
    if left is None:
        return await value
    task, late = asyncio.current_task(), False
    assert task is not None

    def expire() -> None:
        nonlocal late
        late = True
        task.cancel()

    timer = asyncio.get_running_loop().call_later(left, expire)
    try:
        return await value
    except asyncio.CancelledError:
        if late and not task.uncancel():
            raise LateError from None
        raise
    finally:
        timer.cancel()
