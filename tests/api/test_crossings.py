"""How often Python is at work: for messages, never for packets."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import TYPE_CHECKING, Self

import pytest
from loops import LOOPS, run
from served import PORT, served

import ndpstack
from ndpstack import aio

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

Pair = tuple[ndpstack.Stack, ndpstack.Stack]
Address = tuple[str | ndpstack.Peer, int]

REQUEST_CALLS_MAX = 11
SERVED_CALLS_MAX = 12
MESSAGE_CALLS_MAX = 19
"""Calls of Python and C functions for one request at either end, or for an NDP message sent and
one received: they only ever get fewer."""

AWAITED_CALLS_MAX = 14
SERVED_AWAITED_CALLS_MAX = 5
"""The same, awaited, in the thread of uvloop, which is not counted itself."""

SLEEPS_MAX = 0.5
"""Of the core's own thread, for one awaited request. It was woken three times before loops ran the
rounds; now it is when a loop is not scheduled for a millisecond."""

TRIES = 200
"""On a loaded machine a thread is often woken for another's event, which costs some more."""


def counted(run: Callable[[], object]) -> int:
    """Python and C functions called in this thread while it runs, its own not counted."""
    called = -2

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal called
        called += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return called


def calls_of(client: ndpstack.HomaSocket, server: Address, data: bytes) -> int:
    """Functions called for one request."""
    return counted(lambda: client.request(server, data, timeout=30))


def test_a_request_takes_few_calls(pair: Pair) -> None:
    """T36: what a call costs in the interpreter; the time of 100,000 is in test_process.py."""
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        server = (pair[1].peer(pair[0].address), PORT)
        counts = (calls_of(client, server, b"x") for _ in range(TRIES))
        assert min(counts) <= REQUEST_CALLS_MAX


def test_serving_takes_few_calls(pair: Pair) -> None:
    counts: list[int] = []
    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)

        def answer() -> None:
            rpc = server.recv()
            rpc.reply(rpc.data)

        def serve() -> None:
            counts.extend(counted(answer) for _ in range(TRIES))

        thread = threading.Thread(target=serve)
        thread.start()
        for _ in range(TRIES):
            client.request((pair[0].address, PORT), b"x", timeout=30)
        thread.join(timeout=30)
        assert not thread.is_alive()
    assert min(counts) <= SERVED_CALLS_MAX


class Calls:
    """Python and C functions called in this thread, its own not counted."""

    def __init__(self) -> None:
        self.since: list[int] = []
        """From one lap to the next."""
        self._called = 0

    def _count(self, _frame: FrameType, event: str, _argument: object) -> None:
        self._called += event in {"call", "c_call"}

    def lap(self) -> None:
        """A lap ends here."""
        self.since.append(self._called - 1)
        self._called = 0

    def __enter__(self) -> Self:
        sys.setprofile(self._count)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)


def test_an_awaited_request_takes_few_calls(pair: Pair) -> None:
    async def main() -> int:
        async with aio.HomaSocket(pair[1]) as client:
            server = (pair[1].peer(pair[0].address), PORT)
            with Calls() as calls:
                for _ in range(TRIES):
                    await client.request(server, b"x", timeout=30)
                    calls.lap()
        return min(calls.since)

    with served(pair[0]):
        assert run("uvloop", main()) <= AWAITED_CALLS_MAX


def test_serving_in_a_loop_takes_few_calls(pair: Pair) -> None:
    def ask() -> None:
        with ndpstack.HomaSocket(pair[1]) as client:
            for _ in range(TRIES):
                client.request((pair[0].address, PORT), b"x", timeout=30)

    async def main() -> int:
        async with aio.HomaSocket(pair[0]) as server:
            await server.bind(PORT)
            asking = asyncio.create_task(asyncio.to_thread(ask))
            with Calls() as calls:
                for _ in range(TRIES):
                    rpc = await server.recv()
                    await rpc.reply(rpc.data)
                    del rpc
                    calls.lap()
            await asking
        return min(calls.since)

    assert run("uvloop", main()) <= SERVED_AWAITED_CALLS_MAX


@pytest.mark.parametrize("kind", LOOPS)
def test_a_loop_runs_the_rounds_of_its_core(kind: str, pair: Pair) -> None:
    """T19: a packet wakes the loop and no thread beside it, as long as the loop is scheduled."""

    async def sleeps_of(client: aio.HomaSocket) -> float:
        before = pair[1].counters("core")
        for _ in range(TRIES):
            await client.request((pair[0].address, PORT), b"x", timeout=30)
        after = pair[1].counters("core")
        assert after["rounds_lent"] > before["rounds_lent"]
        return (after["sleeps"] - before["sleeps"]) / TRIES

    async def main() -> bool:
        async with aio.HomaSocket(pair[0]) as server, aio.HomaSocket(pair[1]) as client:
            await server.bind(PORT)
            serving = asyncio.create_task(serve(server))
            few = False
            for _ in range(20):  # On a loaded machine a loop often comes late.
                few = few or await sleeps_of(client) <= SLEEPS_MAX
            server.close()
            await serving
        return few

    async def serve(server: aio.HomaSocket) -> None:
        async for rpc in server:
            await rpc.reply(rpc.data)
            del rpc

    assert run(kind, main())


def test_messages_take_few_calls(pair: Pair) -> None:
    with ndpstack.NdpSocket(pair[0]) as listener, ndpstack.NdpSocket(pair[1]) as client:
        listener.bind(PORT)
        listener.listen()
        client.connect((pair[0].address, PORT))
        client.settimeout(30)

        def echo() -> None:
            with listener.accept(timeout=30) as server:
                for message in server:
                    server.send(message)

        def ask() -> None:
            client.send(b"x")
            client.recv()

        thread = threading.Thread(target=echo)
        thread.start()
        counts = [counted(ask) - 1 for _ in range(TRIES)]
        client.close()
        thread.join(timeout=30)
        assert not thread.is_alive()
    assert min(counts) <= MESSAGE_CALLS_MAX


@pytest.mark.parametrize("size", [100_000, 1_000_000])
def test_a_request_costs_python_no_more_when_it_has_more_packets(pair: Pair, size: int) -> None:
    """T54: the fewest calls of several count, since each wake-up for another's event adds some."""
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        server = (pair[0].address, PORT)
        small = min(calls_of(client, server, bytes(5_000)) for _ in range(10))
        large = min(calls_of(client, server, bytes(size)) for _ in range(10))
    assert small > 0
    assert large < small + 20
