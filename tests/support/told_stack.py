"""A stack that answers the commands that look at host services, without root."""

from __future__ import annotations

import itertools
import os
import select
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ndpstack._status import StatusSocket

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ndpstack._status import Maker

_numbers = itertools.count()


@contextmanager
def told(make: Maker) -> Iterator[str]:
    """Serves documents that it makes under a name that nobody has, and gives the name."""
    name = f"test-told-{os.getpid()}-{next(_numbers)}"
    socket, stop = StatusSocket(name, make), threading.Event()

    def serve() -> None:
        while not stop.is_set():
            if select.select([socket], [], [], 0.05)[0]:
                socket.answer()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield name
    finally:
        stop.set()
        thread.join()
        socket.close()
