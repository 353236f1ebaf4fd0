"""A process that takes labs down when the one that made them cannot any more."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from ndpstack.testbed._lab import remove
from ndpstack.testbed._state import labs

if TYPE_CHECKING:
    from collections.abc import Iterator

END_SECONDS = 30.0
"""So long a killed owner may take to be gone."""


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Labs that this process makes within it are gone even after it was killed with -9."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-P", "-c"),
            f"from ndpstack.testbed._guard import watch; watch({os.getpid()})",
        ],
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


def watch(owner: int) -> None:
    """Waits until the owner ends this or is killed, then removes its labs, and nobody else's.

    A process that is killed closes its descriptors before it is dead, so one that still has labs
    is waited for.

    Args:
        owner: The process that holds the other end of stdin.
    """
    sys.stdin.read()
    deadline = time.monotonic() + END_SECONDS
    while True:
        its = {name: state.alive for name, state in labs().items() if state.owner == owner}
        for name, alive in its.items():
            if not alive:
                remove(name)
        if not any(its.values()) or time.monotonic() > deadline:
            return
        time.sleep(0.02)
