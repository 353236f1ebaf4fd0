"""Profiles of hypothesis: the same few examples everywhere, many new ones on request.

And signals: a shell that starts the tests in the background has SIGINT ignored, which programs
inherit, and those that the tests interrupt would not hear it. SIGTERM ends the tests as SIGINT
does, so that what they made, testbeds above all, is taken down.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from types import FrameType

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=30,
    stateful_step_count=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "deep",
    derandomize=False,
    deadline=None,
    max_examples=3000,
    stateful_step_count=120,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ci")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


TESTS = os.getpid()


def _unwind(number: int, _frame: FrameType | None) -> None:
    if os.getpid() == TESTS:
        raise KeyboardInterrupt
    # A child that a library forked and ends this way: what it unwinds is its parent's.
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


signal.signal(signal.SIGTERM, _unwind)
