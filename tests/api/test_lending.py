"""Messages that are sent from where they lie: who holds them, and for how long."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
import warnings
from typing import TYPE_CHECKING

import pytest
from served import served

import ndpstack
from ndpstack import aio, errors
from ndpstack._homa import LEND_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

Pair = tuple[ndpstack.Stack, ndpstack.Stack]
PORT = 4000


class Watched:
    """A message, and how many others refer to it."""

    def __init__(self, message: bytes | bytearray) -> None:
        self.message = message

    @property
    def holders(self) -> int:
        """Beside this, and the one that counts."""
        return sys.getrefcount(self.message) - 2

    def await_let_go(self, work: Callable[[], object]) -> None:
        """Does work until nobody holds it."""
        deadline = time.monotonic() + 20
        while self.holders:
            assert time.monotonic() < deadline
            work()


def new_message(size: int = 300_000) -> Watched:
    """Bytes that nothing else refers to."""
    return Watched(bytes(range(251)) * (size // 251))


def look_for_requests(socket: ndpstack.HomaSocket) -> None:
    """A moment; there are none."""
    with pytest.raises(errors.Timeout):
        socket.recv(timeout=0.01)


@pytest.mark.parametrize("size", [LEND_BYTES - 1, LEND_BYTES, 1_000_000])
def test_a_request_holds_its_message_until_the_answer(pair: Pair, size: int) -> None:
    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        watched = Watched(bytes(size))
        call = client.start((pair[0].address, PORT), watched.message)
        assert watched.holders == (size >= LEND_BYTES)
        rpc = server.recv()
        assert bytes(rpc.data) == watched.message
        assert watched.holders == (size >= LEND_BYTES)
        rpc.reply(b"done")
        assert bytes(call.result()) == b"done"
        assert watched.holders == 0


def test_a_reply_is_held_until_it_has_arrived(pair: Pair) -> None:
    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        watched = new_message()
        call = client.start((pair[0].address, PORT), b"give")
        server.recv().reply(watched.message)
        assert watched.holders == 1
        assert bytes(call.result()) == watched.message
        watched.await_let_go(lambda: look_for_requests(server))


@pytest.mark.parametrize("what", ["served", "asked"])
def test_a_reply_is_let_go_while_all_else_is_short(pair: Pair, what: str) -> None:
    """What crosses in one step may bring the word that it arrived, too."""
    with (
        served(pair[1]),
        ndpstack.HomaSocket(pair[0]) as server,
        ndpstack.HomaSocket(pair[1]) as client,
    ):
        server.bind(PORT)

        def serve(reply: bytes | bytearray) -> None:
            call = client.start((pair[0].address, PORT), b"give")
            server.recv().reply(reply)
            assert bytes(call.result()) == reply

        watched = new_message()
        serve(watched.message)
        for _ in range(20):
            if what == "served":
                serve(b"short")
            else:
                server.request((pair[1].address, PORT), b"short")
        assert watched.holders == 0


def test_what_may_change_is_copied(pair: Pair) -> None:
    """Also by a view of bytes, of which nobody knows whose they are."""
    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        watched = Watched(bytearray(new_message().message))
        expected = bytes(watched.message)
        call = client.start((pair[0].address, PORT), memoryview(watched.message))
        memoryview(watched.message)[:] = bytes(len(expected))
        assert watched.holders == 0
        rpc = server.recv()
        assert rpc.data == expected
        rpc.reply(b"")
        call.result()


@pytest.mark.parametrize("end", ["cancel", "timeout", "socket", "stack"])
def test_a_request_that_ends_without_an_answer_lets_go(end: str) -> None:
    """T39."""
    watched = new_message()
    with ndpstack.memory_pair() as (there, here), ndpstack.HomaSocket(there) as server:
        server.bind(PORT)
        client = ndpstack.HomaSocket(here)
        timeout = 0.05 if end == "timeout" else None
        call = client.start((there.address, PORT), watched.message, timeout=timeout)
        rpc = server.recv()
        assert watched.holders == 1
        if end == "stack":
            here.close()
            assert watched.holders == 0
        elif end == "socket":
            client.close()
        elif end == "cancel":
            assert call.cancel()
        with pytest.raises(errors.NdpError):
            call.result()
        client.close()
        if end != "stack":
            with ndpstack.HomaSocket(here) as other:
                other.bind(PORT)
                watched.await_let_go(lambda: look_for_requests(other))
        del rpc


def test_a_stack_that_nobody_closes_lets_go() -> None:
    watched = new_message()
    with ndpstack.memory_pair() as (there, origin):
        here = origin.share()
        client = ndpstack.HomaSocket(here)
        client.start((there.address, PORT), watched.message)
        assert watched.holders == 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # A warning that is kept would keep what it is about.
            del client
            del here
            gc.collect()
        assert watched.holders == 0


def test_awaited_requests_are_lent_too(pair: Pair) -> None:
    watched = new_message()

    async def main() -> None:
        async with aio.HomaSocket(pair[0]) as server, aio.HomaSocket(pair[1]) as client:
            await server.bind(PORT)
            asking = asyncio.create_task(client.request((pair[0].address, PORT), watched.message))
            rpc = await server.recv()
            held = watched.holders
            assert bytes(rpc.data) == watched.message
            await rpc.reply(rpc.data)
            assert bytes(await asking) == watched.message
            assert held > 1
            asking.cancel()

    asyncio.run(main())
    watched.await_let_go(gc.collect)


def test_many_are_lent_at_once(pair: Pair) -> None:
    """More than the table has room for at first, in any order."""
    messages = [new_message(40_000 + 251 * i) for i in range(60)]
    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        calls = [client.start((pair[0].address, PORT), each.message) for each in messages]
        assert [each.holders for each in messages] == [1] * len(messages)
        for rpc in [server.recv() for _ in messages][::-1]:
            rpc.reply(rpc.data)
        for call, each in zip(calls, messages, strict=True):
            assert bytes(call.result()) == each.message
        assert [each.holders for each in messages] == [0] * len(messages)
