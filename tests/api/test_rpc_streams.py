"""Streams of remote calls: their values, and how they end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from called import PORT, Pair, by_loop, until, with_client
from loops import run

from ndpstack import aio
from ndpstack._rpc_server import CLOSE, NEXT
from ndpstack._rpc_wire import END, PART, pack_reply, unpack_request
from ndpstack.rpc import Client, MsgpackCodec, RemoteError, Service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


def make_service() -> Service:
    service = Service("test")

    @service.method
    async def add(a: int, b: int = 1) -> int:
        return a + b

    @service.method
    async def count(to: int, fail_at: int = -1) -> AsyncIterator[bytes]:
        for i in range(to):
            if i == fail_at:
                raise RuntimeError("half way")
            yield bytes([i]) * 50_000

    return service


@by_loop
def test_a_large_reply_comes_in_parts(kind: str, pair: Pair) -> None:
    async def body(client: Client) -> None:
        parts = [part async for part in client.stream("count", 100)]
        assert parts == [bytes([i]) * 50_000 for i in range(100)]
        stream = client.stream("count", 10, fail_at=3)
        assert [await anext(stream) for _ in range(3)] == parts[:3]
        with pytest.raises(RemoteError, match="RuntimeError: half way"):
            await anext(stream)
        assert [part async for part in client.stream("count", 0)] == []

    with_client(kind, pair, make_service(), body)


@by_loop
def test_values_and_streams_are_not_taken_for_each_other(kind: str, pair: Pair) -> None:
    """Neither a stream of one value and an error, nor a stream that is open and nobody reads."""

    async def body(client: Client) -> None:
        with pytest.raises(RemoteError, match="add is no stream"):
            await anext(client.stream("add", 1))
        with pytest.raises(RemoteError, match="count streams"):
            await client.call("count", 3)

    with_client(kind, pair, make_service(), body)


@by_loop
def test_a_stream_that_is_left_ends_at_the_server(kind: str, pair: Pair) -> None:
    service = Service("test")
    ended: list[int] = []

    @service.method
    async def forever() -> AsyncIterator[int]:
        try:
            for i in range(1_000_000):
                yield i
        finally:
            ended.append(1)

    async def body(client: Client) -> None:
        stream = client.stream("forever")
        assert await anext(stream) == 0
        await stream.aclose()
        await until(lambda: ended == [1])

    with_client(kind, pair, service, body)


@by_loop
@pytest.mark.parametrize("answered", [True, False])
def test_a_reader_that_is_cancelled_waits_for_no_server(
    kind: str, pair: Pair, answered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither for one that does not answer, nor does it learn that one is gone."""
    monkeypatch.setattr("ndpstack._rpc_client.CLOSE_S", 1000.0)
    asked: list[str] = []

    async def main() -> None:
        async with aio.HomaSocket(pair[0]) as server:
            await server.bind(PORT)
            async with Client(pair[1], [(pair[0].address, PORT)]) as client:
                stream = client.stream("forever")
                reading = asyncio.create_task(anext(stream))
                first = await server.recv()
                await first.reply(pack_reply(PART, MsgpackCodec().pack(1), cursor=77))
                assert await reading == 1
                reading = asyncio.create_task(anext(stream))
                second = await server.recv()
                asked.append(unpack_request(second.data).method)
                reading.cancel()
                third = asyncio.create_task(server.recv())
                await asyncio.wait([reading], timeout=20)
                assert reading.cancelled()
                close = await third
                asked.append(unpack_request(close.data).method)
                if answered:
                    await close.reply(pack_reply(END, b""))
                else:
                    close.cancel()

    run(kind, main())
    assert asked == [NEXT, CLOSE]


@by_loop
def test_a_client_leaves_no_stream_open(kind: str, pair: Pair) -> None:
    """Also not one that is forgotten half way, whose generator nobody has closed yet."""
    service = Service("test")
    ended: list[int] = []

    @service.method
    async def forever() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
        finally:
            ended.append(1)

    async def main() -> None:
        async with service.serving(pair[0], PORT):
            async with Client(pair[1], [(pair[0].address, PORT)]) as client:
                stream = client.stream("forever")
                assert await anext(stream) == 1
            await until(lambda: ended == [1])

    run(kind, main())
