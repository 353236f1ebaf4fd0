"""How long streams and one-way calls may take, at both ends."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

import pytest
from called import PORT, Pair, by_loop, until, with_client
from loops import run

from ndpstack import aio, errors
from ndpstack._rpc_wire import pack_request
from ndpstack.rpc import Client, Service, deadline

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator


class Api:
    """Methods that take their time."""

    def __init__(self) -> None:
        self.events: list[str] = []

    async def left(self, count: int) -> AsyncIterator[float | None]:
        """What each value has left."""
        for _ in range(count):
            yield deadline()

    async def stuck(self, after: int) -> AsyncGenerator[int, None]:
        """So many values, and no more."""
        for i in range(after):
            yield i
        await self._wait()

    async def wait(self) -> None:
        """No value."""
        self.events.append("unlimited" if deadline() is None else "limited")
        await self._wait()

    async def _wait(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.events.append("ended")


def make_service(api: Api) -> Service:
    service = Service("test")
    for method in (api.left, api.stuck, api.wait):
        service.method(method)
    return service


@by_loop
def test_a_streams_timeout_is_for_each_value(kind: str, pair: Pair) -> None:
    api = Api()
    service = make_service(api)

    async def body(client: Client) -> None:
        assert [left async for left in client.stream("left", 3)] == [None] * 3
        for stream in (client.stream("left", 3, timeout=60), client.stub(Api, timeout=60).left(3)):
            lefts = [left async for left in stream]
            assert len(lefts) == 3
            assert all(isinstance(left, float) and 30 < left <= 60 for left in lefts)
        patient = client.stub(Api, timeout=2)  # The methods are to have begun.
        streams = [client.stream("stuck", 0, timeout=2), patient.stuck(0), patient.stuck(1)]
        assert await anext(streams[-1]) == 0
        late = await asyncio.gather(*map(anext, streams), return_exceptions=True)
        assert all(isinstance(each, TimeoutError) for each in late), late
        await until(lambda: api.events == ["ended"] * 3)

    with_client(kind, pair, service, body)
    metrics = service.metrics["stuck"]
    assert (metrics.calls, metrics.errors, metrics.cancelled, metrics.active) == (3, 0, 3, 0)


@by_loop
def test_a_server_may_notice_first_that_a_value_is_late(
    kind: str, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Api()
    service = make_service(api)

    def hurried(method: str, flags: int, left_ns: int, body: bytes) -> bytes:
        return pack_request(method, flags, left_ns if method[0] == "\0" else 1_000_000, body)

    async def body(client: Client) -> None:
        monkeypatch.setattr("ndpstack._rpc_client.pack_request", hurried)
        with pytest.raises(errors.Timeout, match="took longer than the call's timeout"):
            await anext(client.stream("stuck", 0, timeout=60))

    with_client(kind, pair, service, body)
    metrics = service.metrics["stuck"]
    assert (metrics.calls, metrics.errors, metrics.cancelled, metrics.active) == (1, 0, 1, 0)


@by_loop
def test_timeouts_are_those_of_sockets(kind: str, pair: Pair) -> None:
    async def body(client: Client) -> None:
        for never in (math.inf, 1e12):
            await client.notify("wait", timeout=never)
            assert [left async for left in client.stream("left", 2, timeout=never)] == [None] * 2
        assert await client.stub(Api, timeout=math.inf).left(1).__anext__() is None
        for wrong in (-1, math.nan):
            with pytest.raises(ValueError, match="is negative, or no number"):
                await client.call("wait", timeout=wrong)
            with pytest.raises(ValueError, match="is negative, or no number"):
                await client.notify("wait", timeout=wrong)
            with pytest.raises(ValueError, match="is negative, or no number"):
                await anext(client.stream("left", 1, timeout=wrong))
        with pytest.raises(TimeoutError):
            await client.call("wait", timeout=0)
        await until(lambda: api.events.count("unlimited") == 2)

    api = Api()
    with_client(kind, pair, make_service(api), body)


@by_loop
def test_a_one_way_calls_timeout_is_the_methods(
    kind: str, pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    api = Api()
    service = make_service(api)

    async def body(client: Client) -> None:
        await client.notify("wait", timeout=1)
        await until(lambda: api.events == ["limited", "ended"])
        await until(lambda: service.metrics["wait"].cancelled == 1)

    with_client(kind, pair, service, body)
    assert "one-way call failed: LateError: the method took longer" in caplog.text


@by_loop
def test_a_one_way_call_that_nobody_takes_ends(kind: str, pair: Pair) -> None:
    async def main() -> None:
        async with (
            aio.HomaSocket(pair[0]) as server,
            Client(pair[1], [(pair[0].address, PORT)]) as client,
        ):
            await server.bind(PORT)
            with pytest.raises(TimeoutError):
                await client.notify("wait", timeout=0.1)

    run(kind, main())
