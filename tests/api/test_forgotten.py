"""Hosts that made room for others in the core, and are named by their addresses again."""

from __future__ import annotations

import asyncio
import errno
from typing import TYPE_CHECKING

import pytest
from called import PORT, Pair, by_loop, with_client
from served import served

import ndpstack
from ndpstack import aio, errors
from ndpstack.rpc import Client, Service

if TYPE_CHECKING:
    from collections.abc import Callable


def forget(pair: Pair) -> ndpstack.Peer:
    """The server as the client knows it once the core, after a minute, gave its slot away."""
    address = pair[0].address
    return pair[1].keep_peer(address, pair[1].peer(address).handle + (1 << 20))


def request(pair: Pair, host: str | ndpstack.Peer) -> None:
    with ndpstack.HomaSocket(pair[1]) as client:
        assert bytes(client.request((host, PORT), b"x", timeout=20)) == b"x"
        long = bytes(100_000)
        assert bytes(client.request((host, PORT), long, timeout=20)) == long


def connect(pair: Pair, host: str | ndpstack.Peer) -> None:
    with ndpstack.NdpSocket(pair[1]) as client:
        client.connect((host, PORT), timeout=20)


def request_in_loop(pair: Pair, host: str | ndpstack.Peer) -> None:
    async def main() -> None:
        async with aio.HomaSocket(pair[1]) as client:
            assert bytes(await client.request((host, PORT), b"x", timeout=20)) == b"x"

    asyncio.run(main())


def connect_in_loop(pair: Pair, host: str | ndpstack.Peer) -> None:
    async def main() -> None:
        async with aio.NdpSocket(pair[1]) as client:
            await client.connect((host, PORT), timeout=20)

    asyncio.run(main())


VERBS = [request, connect, request_in_loop, connect_in_loop]


@pytest.mark.parametrize("verb", VERBS)
def test_by_its_address(pair: Pair, verb: Callable[[Pair, str], None]) -> None:
    """It is found again, without a word."""
    with served(pair[0]):
        stale = forget(pair)
        verb(pair, pair[0].address)
        assert pair[1].peer(pair[0].address) != stale


@pytest.mark.parametrize("verb", VERBS)
def test_by_its_handle(pair: Pair, verb: Callable[[Pair, ndpstack.Peer], None]) -> None:
    """That stays what it is; the address leads to another one."""
    with served(pair[0]):
        stale = forget(pair)
        for _ in range(2):
            with pytest.raises(errors.Unreachable, match="name it by its address") as caught:
                verb(pair, stale)
            assert caught.value.errno == errno.ESTALE
        verb(pair, pair[1].peer(pair[0].address))


def test_a_call_that_was_started(pair: Pair) -> None:
    """It fails, but not the next one."""
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        forget(pair)
        with pytest.raises(errors.Unreachable):
            client.start((pair[0].address, PORT), b"x").result()
        assert bytes(client.start((pair[0].address, PORT), b"x").result()) == b"x"


@by_loop
def test_a_server_of_an_rpc_client(kind: str, pair: Pair) -> None:
    """It is not set aside, either."""
    service = Service("test")

    @service.method
    def double(number: int) -> int:
        return 2 * number

    async def body(client: Client) -> None:
        for number in range(3):
            forget(pair)
            assert await client.call("double", number, timeout=20) == 2 * number
        assert not client._servers[0].aside_until

    with_client(kind, pair, service, body)
