"""Closing a socket ends whoever waits on it, in whatever call, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
import time
import warnings
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from loops import LOOPS, run
from served import served
from settled import settle

import ndpstack
from ndpstack import aio, errors
from ndpstack._dispatch import Dispatcher
from ndpstack._target import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from types import FrameType

Pair = tuple[ndpstack.Stack, ndpstack.Stack]
PORT = 4000
PATIENCE_S = 20


def server_of(pair: Pair) -> tuple[str, int]:
    return pair[0].address, PORT


def check_ends(work: Callable[[], object], close: Callable[[], object]) -> None:
    """The call, which waits in another thread, is to end with Closed when that is closed."""
    caught: list[BaseException] = []

    def call() -> None:
        try:
            work()
        except errors.NdpError as error:
            caught.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(0.2)
    assert thread.is_alive()
    close()
    thread.join(PATIENCE_S)
    assert [type(error) for error in caught] == [errors.Closed]


async def check_ends_in_loop(
    work: Coroutine[object, object, object], close: Callable[[], object]
) -> None:
    """The same of a task."""
    task = asyncio.ensure_future(work)
    await asyncio.sleep(0.05)
    assert not task.done()
    close()
    with pytest.raises(errors.Closed):
        async with asyncio.timeout(PATIENCE_S):
            await task


def test_a_request_of_another_thread(pair: Pair) -> None:
    """Its server never answers, and hears of the end."""
    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        requests: list[ndpstack.Rpc] = []

        def close() -> None:
            requests.append(server.recv(timeout=PATIENCE_S))
            client.close()

        check_ends(lambda: client.request(server_of(pair), b"x"), close)
        assert pair[0].dispatcher.wait(requests[0], time.monotonic() + PATIENCE_S)
        assert requests[0].cancelled


def test_calls_that_nobody_waits_for_yet(pair: Pair) -> None:
    """Those of other sockets go on."""
    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as other:
        server.bind(PORT)
        with ndpstack.HomaSocket(pair[1]) as client:
            calls = [client.start(server_of(pair), b"x") for _ in range(3)]
            left_alone = other.start(server_of(pair), b"y")
        for call in calls:
            with pytest.raises(errors.Closed, match="the socket was closed here"):
                call.result()
        while bytes((rpc := server.recv(timeout=PATIENCE_S)).data) != b"y":
            pass
        rpc.reply(b"z")
        assert bytes(left_alone.result()) == b"z"


def test_a_request_after_the_end(pair: Pair) -> None:
    """Nothing of it stays."""
    client = ndpstack.HomaSocket(pair[1])
    client.close()
    for ask in (client.request, client.start):
        with pytest.raises(errors.Closed):
            ask(server_of(pair), b"x")
    assert not pair[1].dispatcher.by_call


def connect(pair: Pair) -> tuple[ndpstack.NdpSocket, ndpstack.NdpSocket]:
    """The accepted and the connecting end of a connection."""
    with ndpstack.NdpSocket(pair[0]) as listener:
        listener.bind(PORT)
        listener.listen()
        client = ndpstack.NdpSocket(pair[1])
        client.connect(server_of(pair))
        client.send(b"first")
        server = listener.accept(timeout=PATIENCE_S)
        server.recv(timeout=PATIENCE_S)
        client.flush(timeout=PATIENCE_S)
        return server, client


def send_for_ever(socket: ndpstack.NdpSocket) -> None:
    while True:
        socket.send(bytes(100_000))


@pytest.mark.parametrize("call", [ndpstack.NdpSocket.recv, send_for_ever, ndpstack.NdpSocket.flush])
def test_a_call_on_a_connection_whose_peer_does_not_read(
    pair: Pair, call: Callable[[ndpstack.NdpSocket], object]
) -> None:
    server, client = connect(pair)
    with server, client:
        if call is ndpstack.NdpSocket.flush:
            with suppress(errors.Timeout):
                while True:
                    client.send(bytes(100_000), timeout=0.05)
        check_ends(lambda: call(client), client.close)


@pytest.mark.parametrize("size", [1, 10_000])
def test_a_stack_in_the_middle_of_a_batch(pair: Pair, size: int) -> None:
    """What has yet to be handed out stays readable: the first of two replies closes the stack."""
    server, client = ndpstack.HomaSocket(pair[0]), ndpstack.HomaSocket(pair[1])
    with server, client:
        server.bind(PORT)
        calls = [client.start(server_of(pair), b"x") for _ in range(2)]
        for call in calls:
            call.add_waiter(pair[1].close)
        requests = [server.recv(timeout=PATIENCE_S) for _ in calls]
        for rpc in requests:
            rpc.reply(b"y" * size)
        end = time.monotonic() + PATIENCE_S
        while not all(rpc.id not in pair[0].dispatcher.by_rpc for rpc in requests):
            assert time.monotonic() < end
        time.sleep(0.1)  # Both have arrived, as far as one can tell.
        for call in calls:
            with suppress(errors.Closed):
                assert bytes(call.result()) == b"y" * size


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty")
def test_a_connection_that_another_thread_reads(pair: Pair) -> None:
    """Each message is read or dropped, once."""

    def read() -> None:
        with suppress(errors.Closed):
            while True:
                server.recv(timeout=PATIENCE_S)

    for _ in range(50):
        server, client = connect(pair)
        for number in range(30):
            client.send(bytes([number]) * 10_000)
        client.flush(timeout=PATIENCE_S)
        reader = threading.Thread(target=read)
        reader.start()
        server.close()
        reader.join(PATIENCE_S)
        assert not reader.is_alive()
        client.close()
        settle(pair[0])


def test_a_connection_that_has_ended_while_another_thread_takes_events(pair: Pair) -> None:
    """No event comes to it any more by which what it has could be given back."""

    def lead() -> None:
        with suppress(errors.Closed):
            leader.recv()

    with ndpstack.HomaSocket(pair[0]) as leader:
        leader.bind(PORT)
        thread = threading.Thread(target=lead)
        thread.start()
        server, client = connect(pair)
        for _ in range(10):
            client.send(bytes(10_000))
        client.flush(timeout=PATIENCE_S)
        client.close()
        end = time.monotonic() + PATIENCE_S
        while server.connection.ended is None:
            assert time.monotonic() < end
            time.sleep(0.01)
        server.close()
        assert pair[0].held == 0
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


def test_held_is_no_less_than_none(pair: Pair) -> None:
    """Short messages that are given back with their batch are not counted twice meanwhile."""
    seen: set[int] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.update(stack.held for stack in pair)

    watcher = threading.Thread(target=watch)
    watcher.start()
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        for _ in range(30):
            for call in [client.start(server_of(pair), b"x") for _ in range(100)]:
                call.result()
    done.set()
    watcher.join()
    assert max(seen) < 1000


def test_a_connection_that_is_opened_meanwhile(pair: Pair) -> None:
    """Another thread has closed the socket before the core's answer came: it keeps none."""
    socket = ndpstack.NdpSocket(pair[1])
    peer = pair[1].peer(pair[0].address)
    connection, opening = socket.prepare_connect(peer, PORT, 0)
    socket.close()
    pair[1].dispatcher.wait_for_core(opening)
    with pytest.raises(errors.Closed):
        socket.finish_connect(connection, opening)
    end = time.monotonic() + PATIENCE_S
    while pair[1].dispatcher.by_connection:
        assert time.monotonic() < end
        pair[1].dispatcher.pause(None)


@pytest.mark.parametrize("kind", LOOPS)
def test_an_awaited_request(kind: str, pair: Pair) -> None:
    """It is the only socket of the loop, whose server hears of the end all the same."""
    requests: list[ndpstack.Rpc] = []

    async def main() -> None:
        client = aio.HomaSocket(pair[1])

        def close() -> None:
            requests.append(server.recv(timeout=PATIENCE_S))
            client.close()

        await check_ends_in_loop(client.request(server_of(pair), b"x"), close)

    with ndpstack.HomaSocket(pair[0]) as server:
        server.bind(PORT)
        run(kind, main())
        assert pair[0].dispatcher.wait(requests[0], time.monotonic() + PATIENCE_S)


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("verb", ["accept", "recv", "flush"])
def test_an_awaited_call_of_ndp(kind: str, pair: Pair, verb: str) -> None:
    async def main() -> None:
        async with aio.NdpSocket(pair[0]) as listener:
            await listener.bind(PORT)
            await listener.listen()
            if verb == "accept":
                await check_ends_in_loop(listener.accept(), listener.close)
                return
            client = aio.NdpSocket(pair[1])
            await client.connect(server_of(pair))
            if verb == "flush":
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.2):
                        while True:
                            await client.send(bytes(100_000))
            await check_ends_in_loop(getattr(client, verb)(), client.close)

    run(kind, main())


@pytest.mark.parametrize("kind", LOOPS)
def test_a_stack_that_closes_before_its_loop_has_looked(kind: str) -> None:
    """A loop that was about to watch a descriptor must not find it closed."""

    async def wait(stack: ndpstack.Stack) -> None:
        async with aio.HomaSocket(stack) as server:
            await server.bind(PORT)
            with pytest.raises(errors.Closed):
                await server.recv()

    async def main() -> None:
        with ndpstack.memory_pair() as (stack, _):
            task = asyncio.create_task(wait(stack))
            await asyncio.sleep(0)
        await task
        with pytest.raises(errors.Closed):
            aio.HomaSocket(stack)

    for _ in range(10):
        run(kind, main())


@pytest.mark.parametrize("kind", LOOPS)
def test_a_stack_that_another_thread_closes(kind: str) -> None:
    async def main() -> None:
        with ndpstack.memory_pair() as (stack, _):
            async with aio.HomaSocket(stack) as server:
                await server.bind(PORT)
                task = asyncio.create_task(server.recv())
                await asyncio.sleep(0.01)
                await asyncio.to_thread(stack.close)
                with pytest.raises(errors.Closed):
                    await task

    for _ in range(5):
        run(kind, main())


@pytest.mark.parametrize("kind", LOOPS)
def test_nothing_keeps_a_loop(kind: str, pair: Pair) -> None:
    """Neither its loop nor its stack's dispatcher outlives the last socket there."""
    loops: list[weakref.ref[asyncio.AbstractEventLoop]] = []

    async def main() -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        async with aio.HomaSocket(pair[0]) as server:
            await server.bind(PORT)

    run(kind, main())
    gc.collect()
    assert loops[0]() is None


@pytest.mark.parametrize("kind", LOOPS)
def test_a_socket_that_is_dropped_open(kind: str, pair: Pair) -> None:
    """It warns, and no longer serves its port."""

    async def main() -> None:
        server = aio.HomaSocket(pair[0])
        await server.bind(PORT)
        with pytest.warns(ResourceWarning, match="unclosed"):
            del server
        await asyncio.sleep(0.01)
        assert not pair[0].dispatcher.loops
        async with aio.HomaSocket(pair[0]) as again:
            await again.bind(PORT)

    run(kind, main())


@pytest.mark.parametrize("kind", LOOPS)
def test_a_socket_that_outlives_its_loop(kind: str, pair: Pair) -> None:
    """It takes what it had of the loop along."""

    async def leave_open() -> aio.HomaSocket:
        return aio.HomaSocket(pair[0])

    socket = run(kind, leave_open())
    with pytest.warns(ResourceWarning, match="unclosed"):
        del socket
    assert not pair[0].dispatcher.loops


@pytest.mark.parametrize("kind", LOOPS)
def test_closing_in_the_child_of_a_fork(kind: str, pair: Pair) -> None:
    """T34: what the parent's loop watches is the child's as well, and must stay."""

    async def main() -> None:
        async with aio.HomaSocket(pair[1]) as client:
            assert bytes(await client.request(server_of(pair), b"before")) == b"before"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # Of forks beside threads.
                child = os.fork()
            if child == 0:
                client.close()
                os._exit(0)
            _, status = await asyncio.to_thread(os.waitpid, child, 0)
            assert os.waitstatus_to_exitcode(status) == 0
            async with asyncio.timeout(PATIENCE_S):
                for _ in range(3):
                    assert bytes(await client.request(server_of(pair), b"after")) == b"after"

    with served(pair[0]):
        run(kind, main())


def test_a_stack_closes_while_other_threads_begin_and_end(pair: Pair) -> None:
    """Who is told of the end is found in one step, whoever comes and goes meanwhile."""
    dispatcher = pair[1].dispatcher

    def come_and_go(frame: FrameType, _event: str, _argument: object) -> None:
        if frame.f_back is not None and frame.f_back.f_code is Dispatcher.fail.__code__:
            for known in (dispatcher.by_key, dispatcher.by_connection):
                known[len(known) + 1] = Answer()

    for known in (dispatcher.by_key, dispatcher.by_connection):
        known[1] = Answer()
    sys.setprofile(come_and_go)
    try:
        pair[1].close(drain=0)
    finally:
        sys.setprofile(None)
    assert len(dispatcher.by_key) > 1
