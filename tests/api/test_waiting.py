"""Threads that begin to wait just when another one takes their events, held at chosen places."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

import ndpstack
from ndpstack import _dispatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Pair = tuple[ndpstack.Stack, ndpstack.Stack]
PORT = 4000
PATIENCE_S = 20
TRIES = 20


class Never:
    """An event loop that is busy with other things."""

    def kick(self) -> None:
        """It has no time."""


@contextmanager
def connected(pair: Pair) -> Iterator[tuple[ndpstack.NdpSocket, ndpstack.NdpSocket]]:
    """The two ends of a connection over which a message went from the second to the first."""
    with ndpstack.NdpSocket(pair[0]) as listener, ndpstack.NdpSocket(pair[1]) as client:
        listener.bind(PORT)
        listener.listen()
        client.connect((pair[0].address, PORT))
        client.settimeout(PATIENCE_S)
        client.send(b"first")
        with listener.accept(timeout=PATIENCE_S) as server:
            server.settimeout(PATIENCE_S)
            assert bytes(server.recv()) == b"first"
            client.flush()
            yield server, client


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[None]:
    """Runs it in another thread, which must end."""
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        thread.join(PATIENCE_S)
    assert not thread.is_alive()


def messages_sent(stack: ndpstack.Stack) -> int:
    """Messages of which the peer's host has everything, as the engine counts them."""
    return stack.counters("ndp")["messages_sent"]


def wait_until(holds: Callable[[], bool]) -> None:
    """Looks again and again."""
    until = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.0002)


def test_a_leader_hands_out_what_others_begin_to_wait_for(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T33: one reads in C, alone, word of what another thread sent; then that one flushes."""
    in_c, told = threading.Event(), threading.Event()
    take: Callable[..., int] = _dispatch._take_message

    def held(app: object, protocol: int, subject: int, _: float, *more: object) -> int:
        got = take(app, protocol, subject, 0.0, *more)
        in_c.set()
        assert told.wait(PATIENCE_S)
        return got

    with connected(pair) as (server, client):
        before = messages_sent(pair[1])
        client.send(b"second")
        wait_until(lambda: messages_sent(pair[1]) > before)
        monkeypatch.setattr(_dispatch, "_take_message", held)
        monkeypatch.setattr(client.dispatcher, "nudge", told.set)
        with beside(client.recv):
            assert in_c.wait(PATIENCE_S)
            client.flush()
            monkeypatch.undo()
            server.send(b"third")


def test_a_loop_leaves_the_lead_to_threads_that_wait(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T33: a thread that begins to wait while a loop takes a batch does not depend on that loop."""
    monkeypatch.setattr(_dispatch, "FOLLOW_NS", 10 * PATIENCE_S * 1_000_000_000)
    polling, go_on = threading.Event(), threading.Event()

    def held(_count: int) -> None:
        polling.set()
        assert go_on.wait(PATIENCE_S)

    with connected(pair) as (server, client):
        dispatcher, loop = client.dispatcher, Never()
        dispatcher.add_loop(loop)
        monkeypatch.setattr(dispatcher, "_hand_out", held)
        with beside(dispatcher.poll):
            assert polling.wait(PATIENCE_S)
            monkeypatch.undo()
            monkeypatch.setattr(_dispatch, "FOLLOW_NS", 10 * PATIENCE_S * 1_000_000_000)
            with beside(client.recv):
                wait_until(lambda: bool(dispatcher._followers))
                go_on.set()
                wait_until(lambda: not dispatcher._followers)
                server.send(b"second")
        dispatcher.remove_loop(loop)


def test_an_interrupted_follower_passes_the_lead_on(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T46: it was woken to lead, and something broke in before it did."""
    passed: list[bool] = []
    with connected(pair) as (_, client):
        dispatcher = client.dispatcher

        def break_in(_target: object, _until: object) -> bool:
            dispatcher._followers.clear()  # As the leader does that leaves the lead to us.
            raise KeyboardInterrupt

        monkeypatch.setattr(dispatcher, "_lead_for", break_in)
        monkeypatch.setattr(dispatcher, "_pass_on", lambda: passed.append(True))
        with pytest.raises(KeyboardInterrupt):
            dispatcher._follow(client.connection, None)
        monkeypatch.undo()
    assert passed == [True]


def test_word_of_a_message_sent_ends_no_wait_for_the_next(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T19: request and reply by messages are one wait, though the acknowledgement comes before."""
    take: Callable[..., int] = _dispatch._take_message
    crossings = 0

    def counted(*arguments: object) -> int:
        nonlocal crossings
        crossings += 1
        return take(*arguments)

    with connected(pair) as (server, client):
        monkeypatch.setattr(_dispatch, "_take_message", counted)

        client_sent, sent = messages_sent(pair[1]), threading.Event()

        def answer() -> None:
            for _ in range(TRIES):
                assert sent.wait(PATIENCE_S)
                sent.clear()
                wait_until(lambda: messages_sent(pair[1]) == client_sent)
                server.send(b"y")

        with beside(answer):
            fewest = 99
            for _ in range(TRIES):  # On a loaded machine a wait may take more than its slice.
                crossings = 0
                client_sent += 1
                client.send(b"x")
                sent.set()
                assert bytes(client.recv()) == b"y"
                fewest = min(fewest, crossings)
    assert fewest == 1
