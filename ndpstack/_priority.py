"""Which threads run before others: by whose lateness figures or packets suffer."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LEVEL = 1
"""The lowest of the real-time priorities: above everything ordinary, below the kernel's own."""

REFUSED = "ordinary priority: no permission for real time, so other programs show in times"

STEP_BACK = 10
"""Niceness of threads that let others go first: a tenth of an ordinary one's share of a CPU.

19 disturbs packets less, but leaves 1/68: on a busy machine hosts then wait seconds for settings.
"""


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
    """Python's threads, and those that they start, let ordinary ones go first from now on."""
    niceness = max(STEP_BACK, os.getpriority(os.PRIO_PROCESS, 0))
    for thread in threading.enumerate():
        if thread.native_id is not None:
            with contextlib.suppress(ProcessLookupError):  # It has just ended.
                os.setpriority(os.PRIO_PROCESS, thread.native_id, niceness)
