"""Sockets that are opened twice at a time, or closed meanwhile: one of it is kept, or nothing."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest
from loops import LOOPS, run

import ndpstack
from ndpstack import _homa, _ndp, aio, errors
from ndpstack._listen import listen

if TYPE_CHECKING:
    from collections.abc import Callable

Pair = tuple[ndpstack.Stack, ndpstack.Stack]
PORT, OTHER_PORT = 4000, 4001
PATIENCE_S = 20


def check_connections(stack: ndpstack.Stack, count: int) -> None:
    """So many are open, as soon as those that are closed have ended."""
    until = time.monotonic() + PATIENCE_S
    while len(stack.dispatcher.by_connection) != count:
        assert time.monotonic() < until
        stack.dispatcher.pause(until)


def test_two_connections_at_a_time(pair: Pair) -> None:
    """Two threads ask before either has its answer."""
    with ndpstack.NdpSocket(pair[1]) as socket:
        peer = pair[1].peer(pair[0].address)
        begun = [socket.prepare_connect(peer, PORT, 0) for _ in range(2)]
        for _, opening in begun:
            pair[1].dispatcher.wait_for_core(opening)
        socket.finish_connect(*begun[0])
        with pytest.raises(errors.Closed, match="in use already"):
            socket.finish_connect(*begun[1])
        assert socket.connection is begun[0][0]
        check_connections(pair[1], 1)
    check_connections(pair[1], 0)


@pytest.mark.parametrize("kind", LOOPS)
def test_two_connections_of_two_tasks(kind: str, pair: Pair) -> None:
    async def main() -> None:
        async with aio.NdpSocket(pair[1]) as socket:
            outcomes = await asyncio.gather(
                *(socket.connect((pair[0].address, PORT)) for _ in range(2)),
                return_exceptions=True,
            )
        assert [type(each) for each in outcomes] == [type(None), errors.Closed]

    run(kind, main())
    check_connections(pair[1], 0)


def do_meanwhile(
    monkeypatch: pytest.MonkeyPatch, module: object, work: Callable[[], object]
) -> None:
    """Does it, once, when the core has let a socket listen, before the socket knows."""

    def held(*arguments: object) -> int:
        monkeypatch.undo()
        key: int = listen(*arguments)  # type: ignore[arg-type]
        work()
        return key

    monkeypatch.setattr(module, "listen", held)


def check_is_free(stack: ndpstack.Stack, port: int) -> None:
    """Nobody listens there."""
    with ndpstack.NdpSocket(stack) as ndp, ndpstack.HomaSocket(stack) as homa:
        ndp.bind(port)
        ndp.listen()
        homa.bind(port)


def test_a_connection_while_it_begins_to_listen(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ndpstack.NdpSocket(pair[1]) as socket:
        socket.bind(PORT)
        do_meanwhile(monkeypatch, _ndp, lambda: socket.connect((pair[0].address, PORT)))
        with pytest.raises(errors.Closed, match="in use already"):
            socket.listen()
        assert socket.connection.port == PORT
        check_is_free(pair[1], PORT)


def test_closed_while_it_begins_to_listen(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    socket = ndpstack.NdpSocket(pair[1])
    socket.bind(PORT)
    do_meanwhile(monkeypatch, _ndp, socket.close)
    with pytest.raises(errors.Closed, match="socket is closed"):
        socket.listen()
    check_is_free(pair[1], PORT)


def test_bound_twice_at_a_time(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    with ndpstack.HomaSocket(pair[1]) as socket:
        do_meanwhile(monkeypatch, _homa, lambda: socket.bind(OTHER_PORT))
        with pytest.raises(errors.Closed, match="bound already"):
            socket.bind(PORT)
        check_is_free(pair[1], PORT)
    check_is_free(pair[1], OTHER_PORT)


def test_closed_while_it_is_bound(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    socket = ndpstack.HomaSocket(pair[1])
    do_meanwhile(monkeypatch, _homa, socket.close)
    with pytest.raises(errors.Closed, match="socket is closed"):
        socket.bind(PORT)
    check_is_free(pair[1], PORT)
