"""Bounds on times, which mean something only on a quiet machine (T12).

The tests that have them are marked `timed` and run always; the bounds are checked with
NDPSTACK_TIMED set, which `make test-timed` does.
"""

from __future__ import annotations

import os


def check_time(taken: float, most: float) -> None:
    """Checks that what took so long (s) was to take at most that (s)."""
    if "NDPSTACK_TIMED" in os.environ:
        assert taken <= most
