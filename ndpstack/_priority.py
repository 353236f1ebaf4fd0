"""Which threads run before others: by whose lateness figures or packets suffer."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LEVEL = 1
"""The lowest of the real-time priorities: above everything ordinary, below the kernel's own."""

REFUSED = "ordinary priority: no permission for real time, so other programs show in times"

STEP_BACK = 10
"""Niceness of threads that let others go first: a tenth of an ordinary one's share of a CPU."""


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


def step_back() -> None:
    """This thread, and each that it starts, lets ordinary ones go first from now on."""
    niceness = max(STEP_BACK, os.getpriority(os.PRIO_PROCESS, 0))
    os.setpriority(os.PRIO_PROCESS, 0, niceness)  # On Linux that of the calling thread alone.
