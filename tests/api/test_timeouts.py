"""T28, T47: how long calls may take, and what they say when that was not enough."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from loops import LOOPS, run
from served import served

import ndpstack
from ndpstack import aio, errors

if TYPE_CHECKING:
    from collections.abc import Callable

Pair = tuple[ndpstack.Stack, ndpstack.Stack]
PORT = 4000
NO_TIMEOUTS = [-1, -math.inf, math.nan]
FOR_EVER = [math.inf, 1e12, None]


def server_of(pair: Pair) -> tuple[str, int]:
    return pair[0].address, PORT


@pytest.mark.parametrize("seconds", NO_TIMEOUTS)
def test_what_is_no_timeout(pair: Pair, seconds: float) -> None:
    with ndpstack.HomaSocket(pair[1]) as client, ndpstack.NdpSocket(pair[1]) as sender:
        sender.connect(server_of(pair))
        calls: list[Callable[[], object]] = [
            lambda: client.request(server_of(pair), b"x", timeout=seconds),
            lambda: client.start(server_of(pair), b"x", timeout=seconds),
            lambda: client.settimeout(seconds),
            lambda: sender.recv(timeout=seconds),
        ]
        for call in calls:
            with pytest.raises(ValueError, match=r"^timeout .* is negative, or no number"):
                call()
        with pytest.raises(ValueError, match=r"^deadline .* is negative, or no number"):
            sender.send(b"x", deadline=seconds)
        with pytest.raises(ValueError, match=r"^linger .* is negative, or no number"):
            sender.close(linger=seconds)
        assert not sender.closed


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("seconds", FOR_EVER)
def test_for_ever(pair: Pair, seconds: float | None, kind: str) -> None:
    async def main() -> None:
        async with aio.HomaSocket(pair[1]) as client:
            assert bytes(await client.request(server_of(pair), b"x", timeout=seconds)) == b"x"

    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        client.settimeout(seconds)
        assert bytes(client.request(server_of(pair), b"x")) == b"x"
        assert bytes(client.start(server_of(pair), b"x", timeout=seconds).result()) == b"x"
        run(kind, main())


def test_a_call_s_own_timeout_says_whether_it_waits(pair: Pair) -> None:
    """Not the socket's, which it takes the place of."""
    with ndpstack.HomaSocket(pair[0]) as server:
        server.bind(PORT)
        server.settimeout(0)
        with pytest.raises(errors.WouldBlock, match="no request came to port 4000"):
            server.recv()
        with pytest.raises(errors.Timeout) as caught:
            server.recv(timeout=0.01)
        assert not isinstance(caught.value, errors.WouldBlock)
        server.settimeout(None)
        with pytest.raises(errors.WouldBlock):
            server.recv(timeout=0)


@pytest.mark.parametrize("kind", LOOPS)
def test_a_request_without_time(pair: Pair, kind: str) -> None:
    """The core refuses it, at once."""

    async def main() -> None:
        async with aio.HomaSocket(pair[1]) as client:
            with pytest.raises(errors.Timeout):
                await client.request(server_of(pair), b"x", timeout=0)

    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        client.settimeout(0)
        for ask in (client.request, lambda *of: client.start(*of).result()):
            with pytest.raises(errors.Timeout, match="request on its way"):
                ask(server_of(pair), b"x")
        run(kind, main())


def test_what_did_not_come_names_the_connection(pair: Pair) -> None:
    with ndpstack.NdpSocket(pair[0]) as listener, ndpstack.NdpSocket(pair[1]) as client:
        listener.bind(PORT)
        listener.listen()
        with pytest.raises(errors.Timeout) as caught:
            listener.accept(timeout=0.01)
        assert caught.value.state == "listening on port 4000"
        client.connect(server_of(pair))
        with pytest.raises(errors.Timeout) as caught:
            client.recv(timeout=0.01)
        error = caught.value
        assert (error.peer, error.rpc) == (f"{pair[0].address}:{PORT}", client.connection.id)
        assert error.state == "0 messages not acknowledged"
