"""A Homa server in a thread, for tests of clients."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import ndpstack
from ndpstack.errors import Closed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PORT = 4000


def echo(rpc: ndpstack.Rpc) -> None:
    """Answers a request by its own bytes."""
    rpc.reply(rpc.data)


@contextmanager
def served(
    stack: ndpstack.Stack, answer: Callable[[ndpstack.Rpc], None] = echo
) -> Iterator[ndpstack.HomaSocket]:
    """A server that answers until the end."""
    with ndpstack.HomaSocket(stack) as server:
        server.bind(PORT)

        def serve() -> None:
            with suppress(Closed):  # A client gave up, and its request came just before the end.
                for rpc in server:
                    answer(rpc)
                    del rpc  # The loop would hold it until the next one comes.

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server
        finally:
            server.close()
            thread.join(timeout=5)
            assert not thread.is_alive()
