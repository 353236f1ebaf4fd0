"""Sockets that are opened twice at a time, badly, or closed meanwhile: one is kept, or nothing."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
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


@pytest.mark.parametrize(("port", "priority"), [(4000.5, 0), ("4000", 0), (PORT, 1.5), (PORT, "1")])
def test_what_is_no_whole_number(pair: Pair, port: int, priority: int) -> None:
    """The call that is refused leaves nothing behind."""
    dispatcher, peer = pair[1].dispatcher, pair[1].peer(pair[0].address)

    async def ask() -> None:
        async with aio.HomaSocket(pair[1]) as socket:
            await socket.request((peer, port), b"x", priority=priority)

    async def connect() -> None:
        async with aio.NdpSocket(pair[1]) as socket:
            await socket.connect((peer, port), priority=priority)

    with ndpstack.NdpSocket(pair[1]) as ndp, ndpstack.HomaSocket(pair[1]) as homa:
        refused: list[Callable[[], object]] = [
            lambda: ndp.connect((peer, port), priority=priority),
            lambda: homa.request((peer, port), b"x", priority=priority),
            lambda: homa.start((peer, port), bytes(100_000), priority=priority),
            lambda: asyncio.run(ask()),
            lambda: asyncio.run(connect()),
        ]
        if port != PORT:
            refused += [lambda: ndp.bind(port), lambda: homa.bind(port)]
        for call in refused:
            with pytest.raises(TypeError):
                call()
            left = [*dispatcher.by_key, *dispatcher.by_call, *dispatcher.by_port]
            assert not left
        ndp.connect((peer, PORT))


def test_an_interrupted_connection(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The core opens it all the same, and it is closed again."""

    def interrupted(*arguments: object) -> int:
        send(*arguments)
        raise KeyboardInterrupt

    lib, peer = _ndp.lib, pair[1].peer(pair[0].address)
    send: Callable[..., int] = lib.nd_app_send
    with ndpstack.NdpSocket(pair[1]) as socket:
        monkeypatch.setattr(
            _ndp,
            "lib",
            SimpleNamespace(ND_COMMAND_CONNECT=lib.ND_COMMAND_CONNECT, nd_app_send=interrupted),
        )
        with pytest.raises(KeyboardInterrupt):
            socket.connect((peer, PORT))
        monkeypatch.undo()
        until = time.monotonic() + PATIENCE_S
        while pair[1].dispatcher.by_key:
            assert time.monotonic() < until
            pair[1].dispatcher.pause(until)
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
