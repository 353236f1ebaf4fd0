"""A service and a client that calls it, for tests of remote calls."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from loops import LOOPS, run

import ndpstack
from ndpstack.rpc import Client, Service

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

Pair = tuple[ndpstack.Stack, ndpstack.Stack]
PORT = 4000
by_loop = pytest.mark.parametrize("kind", LOOPS)


def with_client(
    kind: str,
    pair: Pair,
    service: Service,
    body: Callable[[Client], Coroutine[object, object, None]],
) -> None:
    """Runs the body with a client of the service."""

    async def main() -> None:
        servers = [(pair[0].address, PORT)]
        async with service.serving(pair[0], PORT), Client(pair[1], servers) as client:
            await body(client)

    run(kind, main())


async def until(condition: Callable[[], bool]) -> None:
    """Waits until it holds; that it never does in 20 seconds fails, which is long for any host."""
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come to be")
