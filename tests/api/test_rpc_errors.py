"""What goes wrong in a method or a service ends that call, with an error one can catch."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from called import PORT, Pair, by_loop, until, with_client
from loops import LOOPS, run

import ndpstack
from ndpstack import errors
from ndpstack._rpc_server import _Cancel
from ndpstack.rpc import Client, RemoteError, Service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class UnreadableError(Exception):
    """An error whose message is one itself."""

    def __str__(self) -> str:
        raise LookupError("no message")


def make_service() -> Service:
    service = Service("test")

    @service.method
    async def add(a: int, b: int) -> int:
        return a + b

    @service.method
    async def by_pair() -> dict[tuple[int, int], int]:
        return {(1, 2): 3}

    @service.method
    async def open_file() -> None:
        raise ValueError("bad name \udcff")

    @service.method
    async def unreadable() -> None:
        raise UnreadableError

    return service


@by_loop
@pytest.mark.parametrize(
    ("method", "kind_there", "text"),
    [
        ("open_file", "ValueError", r"bad name \udcff"),
        ("unreadable", "UnreadableError", "its message cannot be read: LookupError"),
    ],
)
def test_an_error_that_cannot_be_told_as_it_is_ends_its_call_alone(
    kind: str, pair: Pair, method: str, kind_there: str, text: str
) -> None:
    async def body(client: Client) -> None:
        with pytest.raises(RemoteError) as caught:
            await client.call(method, timeout=20)
        assert (caught.value.kind, caught.value.text) == (kind_there, text)
        await client.notify(method)
        assert await client.call("add", 1, 2, timeout=20) == 3

    with_client(kind, pair, make_service(), body)


@by_loop
def test_a_value_that_no_dictionary_can_be_is_an_error_of_its_call_alone(
    kind: str, pair: Pair
) -> None:
    async def body(client: Client) -> None:
        with pytest.raises(ValueError, match="a key that no dictionary can have"):
            await client.call("by_pair", timeout=20)
        assert await client.call("add", 1, 2, timeout=20) == 3

    with_client(kind, pair, make_service(), body)


class Numbers:
    """A codec that cannot even pack an error's type and message."""

    def pack(self, value: object) -> bytes:
        packed = json.dumps(value)
        if '"' in packed:
            raise OverflowError("numbers only")
        return packed.encode()

    def unpack(self, data: memoryview) -> object:
        return json.loads(bytes(data))


@by_loop
def test_a_codec_that_packs_no_error_ends_the_call_alone(
    kind: str, pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    service = Service("numbers", codec=Numbers())

    @service.method
    async def double(value: int) -> int:
        return value * 2

    @service.method
    async def fail() -> int:
        raise KeyError

    async def main() -> None:
        servers = [(pair[0].address, PORT)]
        async with (
            service.serving(pair[0], PORT),
            Client(pair[1], servers, codec=Numbers()) as client,
        ):
            with pytest.raises(errors.NdpError) as caught:
                await client.call("fail", timeout=20)
            assert not isinstance(caught.value, TimeoutError)
            assert await client.call("double", 4, timeout=20) == 8

    run(kind, main())
    assert "OverflowError: numbers only" in caplog.text


@by_loop
def test_what_a_block_raises_leaves_it_as_it_is(kind: str, pair: Pair) -> None:
    async def raise_remotely() -> None:
        servers = [(pair[0].address, PORT)]
        service = make_service()
        async with service.serving(pair[0], PORT), Client(pair[1], servers) as client:
            await client.call("none")

    async def raise_here() -> None:
        async with make_service().serving(pair[0], PORT):
            raise TypeError("of its own")

    with pytest.raises(RemoteError, match="no method none"):
        run(kind, raise_remotely())
    with pytest.raises(TypeError, match="of its own"):
        run(kind, raise_here())


@by_loop
def test_a_service_whose_stack_is_closed_says_so(kind: str) -> None:
    """The block is cancelled, and whoever is around it gets the reason."""
    events: list[str] = []

    async def serve(stack: ndpstack.Stack) -> None:
        with pytest.raises(errors.Closed):
            await make_service().serve(stack, PORT)
        events.append("closed")

    async def run_block(stack: ndpstack.Stack) -> None:
        async with make_service().serving(stack, PORT + 1):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                events.append("cancelled")
                raise

    async def serve_a_block(stack: ndpstack.Stack) -> None:
        with pytest.raises(errors.Closed):
            await run_block(stack)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        events.append("closed")

    async def main() -> None:
        with ndpstack.memory_pair() as (server, asking):
            serving = [asyncio.create_task(each(server)) for each in (serve, serve_a_block)]
            for i in range(2):
                async with Client(asking, [(server.address, PORT + i)]) as client:
                    await until_served(client)
        await asyncio.gather(*serving)

    run(kind, main())
    assert sorted(events) == ["cancelled", "closed", "closed"]


@by_loop
def test_a_service_that_fails_as_its_block_ends_leaves_no_cancellation(kind: str) -> None:
    async def main() -> None:
        task = asyncio.current_task()
        assert task is not None
        with ndpstack.memory_pair() as (stack, _):
            async with make_service().serving(stack, PORT):
                stack.close()
                await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert task.cancelling() == 0

    run(kind, main())


@by_loop
def test_a_block_that_goes_on_after_its_service_failed_leaves_no_cancellation(kind: str) -> None:
    async def main() -> None:
        task = asyncio.current_task()
        assert task is not None
        with ndpstack.memory_pair() as (stack, _):
            async with make_service().serving(stack, PORT):
                await asyncio.sleep(0)
                stack.close()
                with pytest.raises(asyncio.CancelledError):
                    await asyncio.Event().wait()
        assert task.cancelling() == 0

    run(kind, main())


@by_loop
def test_a_service_that_is_cancelled_is_cancelled(kind: str, pair: Pair) -> None:
    async def main() -> None:
        serving = asyncio.create_task(make_service().serve(pair[0], PORT))
        async with Client(pair[1], [(pair[0].address, PORT)]) as client:
            await until_served(client)
            serving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await serving

    run(kind, main())


async def until_served(client: Client) -> None:
    """Waits until there is a service."""
    while True:
        try:
            await client.call("add", 1, 2)
        except errors.Refused:
            await asyncio.sleep(0)
        else:
            return


@by_loop
def test_an_error_tells_which_server_it_came_from(kind: str, pair: Pair) -> None:
    async def main() -> None:
        here = pair[0].address
        async with (
            make_service().serving(pair[0], PORT),
            make_service().serving(pair[0], PORT + 1),
            Client(pair[1], [(here, PORT), (pair[1].peer(here), PORT + 1)]) as client,
        ):
            peers = []
            for _ in range(2):
                with pytest.raises(RemoteError) as caught:
                    await client.call("open_file")
                peers.append(caught.value.peer)
                assert f"peer {caught.value.peer}" in str(caught.value)
        assert peers == [f"{here}:{PORT}", f"{here}:{PORT + 1}"]

    run(kind, main())


@by_loop
def test_the_limit_of_messages_is_named_in_both_directions(kind: str, pair: Pair) -> None:
    service = make_service()
    limit = pair[0].message_bytes_max

    @service.method
    async def zeros(size: int) -> bytes:
        return bytes(size)

    @service.method
    async def size_of(data: bytes) -> int:
        return len(data)

    async def body(client: Client) -> None:
        text = rf"message of \d+ bytes, the limit is {limit}\b"
        with pytest.raises(errors.MessageTooLong, match=text):
            await client.call("size_of", bytes(limit), timeout=20)
        with pytest.raises(RemoteError, match=text) as caught:
            await client.call("zeros", limit, timeout=20)
        assert caught.value.kind == "MessageTooLong"
        assert await client.call("add", 1, 2, timeout=20) == 3

    with_client(kind, pair, service, body)


@by_loop
def test_closing_a_client_ends_its_calls_at_both_ends(kind: str, pair: Pair) -> None:
    service = Service("test")
    events: list[str] = []

    async def stay() -> None:
        events.append("began")
        try:
            await asyncio.Event().wait()
        finally:
            events.append("ended")

    @service.method
    async def wait() -> None:
        await stay()

    @service.method
    async def values() -> AsyncIterator[int]:
        await stay()
        yield 1

    async def main() -> None:
        async with service.serving(pair[0], PORT):
            client = Client(pair[1], [(pair[0].address, PORT)])
            calls = [client.call("wait"), client.call("wait", timeout=1000)]
            under_way = [asyncio.create_task(call) for call in calls]
            under_way.append(asyncio.create_task(anext(client.stream("values"))))
            await until(lambda: len(events) >= 3 or any(call.done() for call in under_way))
            assert events == ["began"] * 3, under_way
            client.close()
            await asyncio.wait(under_way, timeout=20)
            assert all(isinstance(call.exception(), errors.Closed) for call in under_way)
            await until(lambda: events[3:] == ["ended"] * 3)
            client.close()
            with pytest.raises(errors.Closed):
                await client.call("wait")

    run(kind, main())


@by_loop
def test_a_client_that_gives_up_finds_a_loop_that_was_closed(kind: str) -> None:
    """No error for whoever takes events then, who asked for something else."""

    async def begin() -> asyncio.Task[bool]:
        task = asyncio.create_task(asyncio.Event().wait())
        await asyncio.sleep(0)
        return task

    loop = LOOPS[kind]()
    task = loop.run_until_complete(begin())
    loop.close()
    _Cancel(loop, task)()
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # As it is meant here.
