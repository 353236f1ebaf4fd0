"""T46: calls cut short at each place where a signal handler can raise, one after the other.

A handler runs at the beginning of a Python function and after a call of one in C; a profiler is
told of the same places.
"""

from __future__ import annotations

import asyncio
import errno
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from loops import LOOPS, run
from served import PORT, served
from settled import settle

import ndpstack
from ndpstack import aio, errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

Pair = tuple[ndpstack.Stack, ndpstack.Stack]

PLACES_MAX = 1000
SIZES = [1, 5_000]
"""Of a message that is copied, and of one that is leased."""


class InterruptError(Exception):
    """What the handler raises."""


def ends_silently(frame: FrameType | None) -> bool:
    """True in a destructor, whose exceptions Python prints and forgets."""
    while frame is not None and frame.f_code is not is_interrupted.__code__:
        if frame.f_code.co_name == "__del__" or frame.f_code.co_qualname == "Lease.__call__":
            return True
        frame = frame.f_back
    return False


def is_interrupted(run: Callable[[], object], place: int) -> bool:
    """Runs it and interrupts it at that place; False when it ended before."""
    passed = 0

    def count(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal passed
        if event in {"call", "c_return"} and not ends_silently(frame):
            passed += 1
            if passed == place:
                raise InterruptError

    sys.setprofile(count)
    try:
        run()
    except InterruptError:
        return True
    finally:
        sys.setprofile(None)
    return False


def interrupt_everywhere(run: Callable[[], object], after: Callable[[], None]) -> None:
    """Runs it again and again, interrupted at one place later each time, and `after` after each."""
    for place in range(1, PLACES_MAX):
        interrupted = is_interrupted(run, place)
        after()
        if not interrupted:
            assert place > 10
            return
    raise AssertionError("it has no end")


@pytest.mark.parametrize("size", SIZES)
def test_an_interrupted_request_leaves_nothing(pair: Pair, size: int) -> None:
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        server = (pair[1].peer(pair[0].address), PORT)

        def ask() -> None:
            data = bytes([7]) * size
            assert bytes(client.request(server, data, timeout=20)) == data

        interrupt_everywhere(ask, ask)
        settle(pair[1], pair[0])


@pytest.mark.parametrize("given_up", [False, True])
def test_a_reply_whose_coming_is_interrupted_leaves_nobody_waiting(
    pair: Pair, given_up: bool
) -> None:
    """Nor the call behind; also where another thread gives up at that moment."""
    dispatcher, woken = pair[1].dispatcher, list[bool]()

    def ask() -> None:
        call = client.start((pair[0].address, PORT), bytes(5_000), timeout=20)
        if given_up:
            call._failure = errno.ECANCELED, "cancelled here"
        woken.clear()
        call.add_waiter(lambda: woken.append(True))

    def take() -> None:
        until = time.monotonic() + 20
        while dispatcher.by_call and time.monotonic() < until:
            dispatcher.pause(until)

    def go_on() -> None:
        take()
        assert woken
        assert not dispatcher.by_call
        ask()

    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        ask()
        interrupt_everywhere(take, go_on)
        take()
        settle(pair[1], pair[0])


def test_an_interrupted_question_leaves_nothing(pair: Pair) -> None:
    """The core is asked for a peer that was not talked to before."""

    def ask() -> None:
        pair[1].resolve(pair[0].address, None)
        pair[1]._peers.clear()

    def look() -> None:
        pair[1]._peers.clear()
        settle(pair[1])

    interrupt_everywhere(ask, look)


def test_an_interrupted_close_leaves_nothing(pair: Pair) -> None:
    """Of a connection with unread messages: nobody leads, and others go on."""
    with (
        served(pair[0]),
        ndpstack.HomaSocket(pair[1]) as client,
        ndpstack.NdpSocket(pair[0]) as listener,
    ):
        listener.bind(PORT)
        listener.listen()
        opened: list[ndpstack.NdpSocket] = []

        def open_one() -> None:
            sender = ndpstack.NdpSocket(pair[1])
            sender.connect((pair[0].address, PORT))
            sender.send(bytes(5_000))
            sender.flush(timeout=20)
            opened[:] = [listener.accept(timeout=20), sender]

        def close() -> None:
            opened[0].close()

        def go_on() -> None:
            assert not pair[0].dispatcher._leads()
            for socket in opened:
                socket.close()
            assert bytes(client.request((pair[0].address, PORT), b"x", timeout=20)) == b"x"
            open_one()

        open_one()
        interrupt_everywhere(close, go_on)
        for socket in opened:
            socket.close()


@pytest.mark.parametrize("kind", LOOPS)
def test_an_answer_that_is_interrupted_loses_none(kind: str, pair: Pair) -> None:
    """What a task's own sending took for another task is handed out all the same."""
    polled = False

    def interrupt(_frame: FrameType, event: str, argument: object) -> None:
        nonlocal polled
        if event == "c_return" and getattr(argument, "__name__", "") == "nd_app_poll":
            polled = True
            sys.setprofile(None)
            raise InterruptError

    def serve() -> None:
        rpcs: dict[bytes, ndpstack.Rpc] = {}
        while len(rpcs) < 2:
            rpc = server.recv(timeout=20)
            rpcs[bytes(rpc.data)] = rpc
        rpcs[b"first"].reply(b"1")
        both.wait(20)
        rpcs[b"second"].reply(b"2")
        answered.set()

    async def main() -> None:
        async with aio.HomaSocket(pair[1]) as client:
            address = (pair[1].peer(pair[0].address), PORT)
            second = asyncio.create_task(client.request(address, b"second", timeout=20))
            assert bytes(await client.request(address, b"first")) == b"1"
            both.set()
            answered.wait(20)
            client._driver._single = True  # As where nothing came beside it.
            sys.setprofile(interrupt)
            with pytest.raises(InterruptError):
                await client.request(address, b"third", timeout=20)
            assert polled
            assert bytes(await second) == b"2"

    both, answered = threading.Event(), threading.Event()
    with ndpstack.HomaSocket(pair[0]) as server:
        server.bind(PORT)
        thread = threading.Thread(target=serve)
        thread.start()
        run(kind, main())
        thread.join(20)
        assert not thread.is_alive()
        # The one that was interrupted was given up at both ends, wherever it was then.
        settle(pair[1], pair[0])
    assert pair[1].counters("homa")["rpcs_cancelled"] == 1


@pytest.mark.parametrize("size", SIZES)
def test_an_interrupted_server_leaves_nothing(pair: Pair, size: int) -> None:
    """A request whose server is interrupted is served later or cancelled, and never kept."""
    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        calls: list[ndpstack.Call] = []
        asked = b""

        def ask() -> None:
            nonlocal asked
            for call in calls:
                call.cancel()
            number = int.from_bytes(asked[:2], "little") + 1
            asked = number.to_bytes(2, "little").ljust(size, b"x")
            calls[:] = [client.start((pair[0].address, PORT), asked, timeout=20)]

        def serve() -> None:
            with server.recv(timeout=20) as rpc:
                rpc.reply(rpc.data)

        ask()
        interrupt_everywhere(serve, ask)
        last = client.start((pair[0].address, PORT), b"last", timeout=20)
        unserved = {asked, b"last"}  # The shorter one may overtake the other.
        while unserved:
            with server.recv(timeout=20) as rpc:
                unserved.discard(bytes(rpc.data))
                rpc.reply(rpc.data)
        del rpc
        assert bytes(last.result()) == b"last"
        assert bytes(calls[0].result()) == asked
        calls.clear()
        with pytest.raises(errors.Timeout):
            server.recv(timeout=0.05)
        settle(pair[1], pair[0])


@pytest.mark.parametrize("at_once", [1, 3])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("into", [False, True])
def test_an_interrupted_receiver_loses_nothing(
    pair: Pair, size: int, at_once: int, into: bool
) -> None:
    """T46: each message is received once, in its turn, if not by the interrupted call."""
    with ndpstack.NdpSocket(pair[0]) as listener, ndpstack.NdpSocket(pair[1]) as sender:
        listener.bind(PORT)
        listener.listen()
        sender.connect((pair[0].address, PORT))
        sent = 0
        got: tuple[memoryview | int, ...] = ()
        lengths: list[int] = []
        buffer = bytearray(size + PLACES_MAX)

        def send() -> None:
            nonlocal sent
            for _ in range(at_once):
                sender.send(bytes(size + sent))
                sent += 1

        send()
        with listener.accept(timeout=20) as receiver:

            def receive() -> None:
                nonlocal got
                # No call stands between these, so no interrupt can.
                got += (receiver.recv(timeout=20),)

            def receive_into() -> None:
                nonlocal got
                got += (receiver.recv_into(buffer, timeout=20),)

            def receive_the_rest() -> None:
                nonlocal got
                while len(lengths) + len(got) < sent:
                    receive()
                lengths.extend(each if isinstance(each, int) else len(each) for each in got)
                got = ()

            def go_on() -> None:
                receive_the_rest()
                send()

            interrupt_everywhere(receive_into if into else receive, go_on)
            receive_the_rest()
            assert lengths == list(range(size, size + sent))
            assert pair[0].held == 0
