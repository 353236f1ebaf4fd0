"""Streams of remote calls: their values, and how they end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from called import PORT, Pair, by_loop, until, with_client
from loops import run

from ndpstack import aio
from ndpstack._rpc_wire import CLOSE, END, NEXT, PART, pack_reply, unpack_request
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


@by_loop
def test_the_metrics_of_a_stream_are_those_of_one_call(kind: str, pair: Pair) -> None:
    service = make_service()
    metrics = service.metrics["count"]

    async def body(client: Client) -> None:
        assert len([part async for part in client.stream("count", 100)]) == 100
        assert (metrics.calls, metrics.errors, metrics.cancelled, metrics.active) == (1, 0, 0, 0)
        assert metrics.reply_bytes > 100 * 50_000
        assert metrics.request_bytes > 100 * 12
        stream = client.stream("count", 10, fail_at=3)
        assert len([await anext(stream) for _ in range(3)]) == 3
        assert (metrics.calls, metrics.active) == (1, 1)
        with pytest.raises(RemoteError, match="half way"):
            await anext(stream)
        assert (metrics.calls, metrics.errors, metrics.cancelled, metrics.active) == (2, 1, 0, 0)
        assert metrics.reply_bytes > 103 * 50_000
        stream = client.stream("count", 10)
        await anext(stream)
        await stream.aclose()
        await until(lambda: metrics.calls == 3)
        with pytest.raises(RemoteError, match="argument"):
            await anext(client.stream("count"))

    with_client(kind, pair, service, body)
    assert (metrics.calls, metrics.errors, metrics.cancelled, metrics.active) == (4, 2, 1, 0)
    assert metrics.seconds >= metrics.seconds_max > 0


@by_loop
def test_a_value_that_cannot_be_sent_ends_its_stream(
    kind: str, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ndpstack._rpc_streams.STREAMS_MAX", 2)
    service = make_service()
    ended: list[int] = []

    @service.method
    async def unsent(value: int) -> AsyncIterator[object]:
        try:
            yield bytes(value) if value else object()
        finally:
            ended.append(value)

    async def body(client: Client) -> None:
        for _ in range(3):
            with pytest.raises(RemoteError, match="TypeError: can not serialize"):
                await anext(client.stream("unsent", 0))
            with pytest.raises(RemoteError, match="MessageTooLong: message of"):
                await anext(client.stream("unsent", 100_000_000))
        assert ended == [0, 100_000_000] * 3
        assert len([part async for part in client.stream("count", 3)]) == 3
        streams = [client.stream("count", 3) for _ in range(3)]
        for stream in streams[:2]:
            await anext(stream)
        with pytest.raises(RemoteError, match="has 2 streams, the limit"):
            await anext(streams[2])

    with_client(kind, pair, service, body)


@by_loop
def test_a_service_that_ends_at_one_port_goes_on_at_another(kind: str, pair: Pair) -> None:
    service = make_service()

    async def main() -> None:
        here = pair[0].address
        async with (
            service.serving(pair[0], PORT),
            Client(pair[1], [(here, PORT)]) as staying,
            Client(pair[1], [(here, PORT + 1)]) as leaving,
        ):
            async with service.serving(pair[0], PORT + 1):
                streams = [client.stream("count", 3) for client in (staying, leaving)]
                for stream in streams:
                    await anext(stream)
            assert len([part async for part in streams[0]]) == 2

    run(kind, main())
    metrics = service.metrics["count"]
    assert (metrics.calls, metrics.cancelled, metrics.active) == (2, 1, 0)


@by_loop
def test_a_server_with_a_stream_is_asked_less(kind: str, pair: Pair) -> None:
    services = [make_service() for _ in range(2)]

    async def main() -> None:
        here = pair[0].address
        async with (
            services[0].serving(pair[0], PORT),
            services[1].serving(pair[0], PORT + 1),
            Client(pair[1], [(here, PORT), (here, PORT + 1)]) as client,
        ):
            stream = client.stream("count", 1)
            await anext(stream)
            for i in range(10):
                await client.call("add", i)
            assert [part async for part in stream] == []
            for i in range(10):
                await client.call("add", i)

    run(kind, main())
    assert sorted(service.metrics["add"].calls for service in services) == [5, 15]


@by_loop
def test_only_a_stream_that_nobody_waits_for_is_idle(
    kind: str, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long its method takes for a value."""
    monkeypatch.setattr("ndpstack._rpc_streams.STREAM_IDLE_S", 0.04)
    service = make_service()
    left = asyncio.Event()

    @service.method
    async def idle() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            monkeypatch.undo()
            left.set()

    @service.method
    async def slow() -> AsyncIterator[int]:
        await left.wait()
        yield 1
        yield 2

    async def body(client: Client) -> None:
        waited_for = client.stream("slow")
        waiting = asyncio.create_task(anext(waited_for))
        await until(lambda: service.metrics["slow"].active == 1)
        forgotten = client.stream("idle")
        assert await anext(forgotten) == 1
        assert await waiting == 1
        assert [value async for value in waited_for] == [2]
        with pytest.raises(RemoteError, match="not read for too long"):
            await anext(forgotten)

    with_client(kind, pair, service, body)
