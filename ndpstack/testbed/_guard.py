"""A process that takes labs down when the one that made them cannot any more."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from ndpstack.testbed._lab import remove
from ndpstack.testbed._state import labs

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Labs that this process makes within it are gone even after it was killed with -9."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", "from ndpstack.testbed._guard import watch; watch()"],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield
    finally:
        for name, state in labs().items():
            if state.owner == os.getpid():
                remove(name)
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def watch() -> None:
    """Waits until whoever holds the other end of stdin is gone, then removes dead owners' labs."""
    sys.stdin.read()
    for name, state in labs().items():
        if not state.alive:
            remove(name)
