"""What goes wrong in a method or a service ends that call, with an error one can catch."""

from __future__ import annotations

import json

import pytest
from called import PORT, Pair, by_loop, with_client
from loops import run

from ndpstack import errors
from ndpstack.rpc import Client, RemoteError, Service


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
