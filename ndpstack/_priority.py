"""Real-time priority for threads whose lateness would show in figures."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LEVEL = 1
"""The lowest of the real-time priorities: above everything ordinary, below the kernel's own."""

REFUSED = "ordinary priority: no permission for real time, so other programs show in times"


@contextlib.contextmanager
def real_time(level: int = LEVEL) -> Iterator[str]:
    """Within it this thread, and each that it starts, runs before ordinary ones.

    Yields:
        What is the case, in words: it takes a privilege.
    """
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(level))
    except PermissionError:
        yield REFUSED
        return
    try:
        yield "real-time priority"
    finally:
        os.sched_setscheduler(0, *before)
