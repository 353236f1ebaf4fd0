"""T46: signal handlers and waiters that use the very stack which they broke into.

A handler runs at the beginning of a Python function and after a call of one in C; a profiler is
told of the same places.
"""

from __future__ import annotations

import asyncio
import collections
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from loops import LOOPS, run
from served import PORT, served
from settled import settle

import ndpstack
from ndpstack import aio, errors
from ndpstack._waitable import Never, Waitable

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

Pair = tuple[ndpstack.Stack, ndpstack.Stack]

PATIENCE_S = 20
PLACES_MAX = 1000
SIZES = [10, 5_000]
"""Of a message that is copied, and of one that is leased."""


def is_handled(run: Callable[[], object], place: int, handler: Callable[[], object]) -> bool:
    """Runs it, and the handler once it is at that place; false when it ended before."""
    passed = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal passed
        passed += event in {"call", "c_return"}
        if passed == place:
            sys.setprofile(None)
            handler()

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return passed >= place


def handle_everywhere(run: Callable[[int], None], handler: Callable[[int], None]) -> None:
    """Runs it again and again, and the handler at one place later each time."""
    for place in range(1, PLACES_MAX):
        if not is_handled(lambda at=place: run(at), place, lambda at=place: handler(at)):  # type: ignore[misc]
            assert place > 10
            return
    raise AssertionError("it has no end")


def message(kind: bytes, number: int, size: int) -> bytes:
    return b"%s %d" % (kind, number) + bytes(size)


@pytest.mark.parametrize("size", SIZES)
def test_a_handler_may_ask_wherever_a_request_is(pair: Pair, size: int) -> None:
    """Each gets its own reply, and each is served once."""
    asked: collections.Counter[bytes] = collections.Counter()

    def answer(rpc: ndpstack.Rpc) -> None:
        asked[bytes(rpc.data)] += 1
        rpc.reply(rpc.data)

    with served(pair[0], answer), ndpstack.HomaSocket(pair[1]) as client:
        server = (pair[1].peer(pair[0].address), PORT)

        def ask(data: bytes) -> None:
            assert bytes(client.request(server, data, timeout=PATIENCE_S)) == data

        handle_everywhere(
            lambda at: ask(message(b"outer", at, size)), lambda at: ask(message(b"inner", at, size))
        )
        assert set(asked.values()) == {1}
        settle(pair[1], pair[0])


def test_a_handler_may_ask_while_a_request_waits(pair: Pair) -> None:
    """The reply that comes meanwhile is not lost, and the request not sent again."""
    asked: list[bytes] = []
    first: list[ndpstack.Rpc] = []
    main = threading.main_thread().ident
    assert main is not None

    def answer(rpc: ndpstack.Rpc) -> None:
        asked.append(bytes(rpc.data))
        if asked == [b"outer"]:
            first.append(rpc)
            signal.pthread_kill(main, signal.SIGUSR1)
            return
        for each in (rpc, *first):
            each.reply(each.data)
        first.clear()

    def handler(*_: object) -> None:
        assert bytes(client.request(server, b"inner", timeout=PATIENCE_S)) == b"inner"

    with served(pair[0], answer), ndpstack.HomaSocket(pair[1]) as client:
        server = (pair[1].peer(pair[0].address), PORT)
        before = signal.signal(signal.SIGUSR1, handler)
        try:
            assert bytes(client.request(server, b"outer", timeout=PATIENCE_S)) == b"outer"
        finally:
            signal.signal(signal.SIGUSR1, before)
    assert asked == [b"outer", b"inner"]


@pytest.mark.parametrize("size", SIZES)
def test_a_handler_may_ask_wherever_a_server_is(pair: Pair, size: int) -> None:
    """Each request is received once.

    Who calls has a handle of its own: a handler may break into its turn to take events, and what
    serves the handler's request is not to wait for those.
    """
    with (
        served(pair[0]),
        pair[0].share() as third,
        ndpstack.HomaSocket(third) as caller,
        ndpstack.HomaSocket(pair[1]) as server,
    ):
        server.bind(PORT)
        other = (pair[1].peer(pair[0].address), PORT)

        def serve(at: int) -> None:
            data = message(b"outer", at, size)
            call = caller.start((pair[1].address, PORT), data, timeout=PATIENCE_S)
            with server.recv(timeout=PATIENCE_S) as rpc:
                assert bytes(rpc.data) == data
                rpc.reply(b"")
            call.result()
            with pytest.raises(errors.WouldBlock):
                server.recv(timeout=0)

        def ask(at: int) -> None:
            data = message(b"inner", at, size)
            assert bytes(server.request(other, data, timeout=PATIENCE_S)) == data

        handle_everywhere(serve, ask)
        settle(pair[1], pair[0])


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_a_handler_may_ask_wherever_a_receiver_is(pair: Pair, size: int, ordered: bool) -> None:
    """Each message is received once."""
    with (
        served(pair[0]),
        ndpstack.HomaSocket(pair[1]) as client,
        ndpstack.NdpSocket(pair[1], ordered=ordered) as listener,
        ndpstack.NdpSocket(pair[0]) as sender,
    ):
        listener.bind(PORT)
        listener.listen()
        sender.connect((pair[1].address, PORT))
        sender.send(b"first")
        server = (pair[1].peer(pair[0].address), PORT)
        with listener.accept(timeout=PATIENCE_S) as receiver:
            assert bytes(receiver.recv()) == b"first"

            def receive(at: int) -> None:
                data = message(b"outer", at, size)
                sender.send(data)
                assert bytes(receiver.recv(timeout=PATIENCE_S)) == data
                with pytest.raises(errors.WouldBlock):
                    receiver.recv(timeout=0)

            def ask(at: int) -> None:
                data = message(b"inner", at, size)
                with suppress(RuntimeError):  # Between the events of a batch.
                    assert bytes(client.request(server, data, timeout=PATIENCE_S)) == data

            handle_everywhere(receive, ask)


def test_a_waiter_that_waits_for_the_stack_is_told(pair: Pair) -> None:
    """It runs between the events of a batch, of which the rest comes all the same."""
    told: list[str] = []
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        server = (pair[1].peer(pair[0].address), PORT)

        def wait() -> None:
            try:
                client.request(server, b"x", timeout=PATIENCE_S)
            except RuntimeError as error:
                told.append(str(error))

        replies = [bytes([each]) * 5_000 for each in range(8)]
        calls = [client.start(server, each, timeout=PATIENCE_S) for each in replies]
        for call in calls:
            call.add_waiter(wait)
        assert [bytes(call.result()) for call in calls] == replies
        assert "waiter" in told[0]
        calls.clear()
        del call
        settle(pair[1], pair[0])


def test_a_waiter_that_always_raises_is_called_twice(pair: Pair) -> None:
    """The first time it may have been an interrupt; the reply then comes all the same."""
    waiter = Failing()
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        call = client.start((pair[0].address, PORT), b"x", timeout=PATIENCE_S)
        call.add_waiter(waiter)
        for _ in range(2):
            with pytest.raises(FailingError):
                pair[1].dispatcher.wait(Never(), time.monotonic() + PATIENCE_S)
        assert bytes(call.result()) == b"x"
        assert waiter.called == 2
        assert bytes(client.request((pair[0].address, PORT), b"y", timeout=PATIENCE_S)) == b"y"


def test_a_waiter_that_was_forgotten_may_come_again() -> None:
    """What interrupted it earlier is not held against it."""
    target, waiter = Waitable(), Failing()
    for round_ in range(1, 3):
        target.add_waiter(waiter)
        for _ in range(2):
            with pytest.raises(FailingError):
                target.wake()
        target.wake()
        assert waiter.called == 2 * round_


@pytest.mark.parametrize("kind", LOOPS)
def test_a_waiter_that_always_raises_leaves_a_loop_its_turns(kind: str, pair: Pair) -> None:
    """The loop's exception handler is told, and its tasks go on."""
    waiter, told = Failing(), list[object]()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: told.append(context["exception"]))
        async with aio.HomaSocket(pair[1]) as other:
            call = client.start((pair[0].address, PORT), b"x", timeout=PATIENCE_S)
            behind = asyncio.Event()
            call.add_waiter(behind.set)
            call.add_waiter(waiter)
            address = (pair[0].address, PORT)
            assert bytes(await other.request(address, b"y", timeout=PATIENCE_S)) == b"y"
            await behind.wait()

    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        run(kind, main())
    assert waiter.called == len(told) == 2
    assert {type(each) for each in told} == {FailingError}


class FailingError(Exception):
    """What the waiter raises."""


class Failing:
    """A waiter with an error of its own."""

    def __init__(self) -> None:
        self.called = 0

    def __call__(self) -> None:
        self.called += 1
        raise FailingError
