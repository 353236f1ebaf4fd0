"""Priorities that applications give requests: which one a host sends first."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest
from loops import LOOPS, run
from served import served

import ndpstack
from ndpstack import aio

if TYPE_CHECKING:
    from collections.abc import Iterator

Pair = tuple[ndpstack.Stack, ndpstack.Stack]
PORT = 4000
LONG = bytes(50_000)
SLOW_BPS = 2_000_000
"""At it the long one takes a fifth of a second, in which the other overtakes it."""

UNSCHEDULED = bytes(10_000)
"""What needs no grants at this rate: while a sender waits for one it sends what has a lower
priority, and on a loaded machine it waits."""


@pytest.fixture
def slow_pair() -> Iterator[Pair]:
    """A server's stack and that of a client which sends slowly."""

    def config(number: int) -> ndpstack.StackConfig:
        return ndpstack.StackConfig(
            name=f"slow-{os.getpid()}",
            backend="memory",
            address=f"10.0.0.{number}",
            listen=number == 1,
            link_rate_bps=SLOW_BPS,
        )

    with ndpstack.Stack(config(1)) as server, ndpstack.Stack(config(2)) as client:
        yield server, client


class Sizes:
    """A server that keeps the lengths of requests in the order in which they arrived."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(self, rpc: ndpstack.Rpc) -> None:
        self.sizes.append(len(rpc.data))
        rpc.reply(b"")


PRIORITIES = [
    (0, UNSCHEDULED, [len(UNSCHEDULED), 5]),
    (3, LONG, [5, len(LONG)]),
    (7, LONG, [5, len(LONG)]),
]
"""Of a short request behind a long one of priority 3, that one, and which of them arrives first."""


@pytest.mark.parametrize(("priority", "before", "sizes"), PRIORITIES)
@pytest.mark.parametrize("verb", ["start", "request"])
def test_blocking(
    slow_pair: Pair, verb: str, priority: int, before: bytes, sizes: list[int]
) -> None:
    answer = Sizes()
    address = (slow_pair[1].peer(slow_pair[0].address), PORT)
    with served(slow_pair[0], answer), ndpstack.HomaSocket(slow_pair[1]) as client:
        long = client.start(address, before, priority=3)
        if verb == "start":
            client.start(address, b"short", priority=priority).result()
        else:
            client.request(address, b"short", priority=priority)
        long.result()
    assert answer.sizes == sizes


@pytest.mark.parametrize(("priority", "before", "sizes"), PRIORITIES)
@pytest.mark.parametrize("kind", LOOPS)
def test_awaited(
    slow_pair: Pair, kind: str, priority: int, before: bytes, sizes: list[int]
) -> None:
    async def main() -> None:
        address = (slow_pair[1].peer(slow_pair[0].address), PORT)
        async with aio.HomaSocket(slow_pair[1]) as client:
            await asyncio.gather(
                client.request(address, before, priority=3),
                client.request(address, b"short", priority=priority),
            )

    answer = Sizes()
    with served(slow_pair[0], answer):
        run(kind, main())
    assert answer.sizes == sizes
