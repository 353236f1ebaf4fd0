"""The sockets on asyncio and uvloop: the same verbs, cancellation, fairness, several loops."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from loops import LOOPS, run
from served import served
from timed import check_time

import ndpstack
from ndpstack import aio, errors
from ndpstack._loop import AT_ONCE_MAX

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Pair = tuple[ndpstack.Stack, ndpstack.Stack]
PORT = 4000

pytestmark = pytest.mark.parametrize("kind", LOOPS)
"""T16, T50: one suite for both."""


@asynccontextmanager
async def serving(stack: ndpstack.Stack, delay: float = 0) -> AsyncIterator[aio.HomaSocket]:
    """A server that echoes, in a task."""

    async def serve() -> None:
        async for rpc in server:
            if delay:
                await asyncio.sleep(delay)
            await rpc.reply(rpc.data)

    async with aio.HomaSocket(stack) as server:
        await server.bind(PORT)
        task = asyncio.create_task(serve())
        yield server
        server.close()
        await task


async def forgets_all(stack: ndpstack.Stack) -> bool:
    """True when nothing of any call is left before long."""
    for _ in range(500):
        known = stack.dispatcher
        if not (known.by_key or known.by_call or known.by_rpc or stack.held):
            return True
        await asyncio.sleep(0.01)
    return False


@pytest.mark.parametrize("size", [0, 1, 1400, 4096, 4097, 1_000_000])
def test_requests_of_any_size(kind: str, pair: Pair, size: int) -> None:
    async def main() -> None:
        data = (bytes(range(256)) * (size // 256 + 1))[:size]
        async with serving(pair[0]), aio.HomaSocket(pair[1]) as client:
            assert bytes(await client.request((pair[0].address, PORT), data)) == data

    run(kind, main())


def test_many_requests_at_once(kind: str, pair: Pair) -> None:
    """T19, T33: no error for a busy loop, every reply at its request."""

    async def main() -> None:
        async with serving(pair[0]), aio.HomaSocket(pair[1]) as client:
            address = (pair[1].peer(pair[0].address), PORT)
            calls = [client.request(address, i.to_bytes(4)) for i in range(1000)]
            replies = await asyncio.gather(*calls)
            assert [int.from_bytes(reply) for reply in replies] == list(range(1000))

    run(kind, main())


def test_errors_and_timeouts(kind: str, pair: Pair) -> None:
    """T47: a timeout raises, and says how far it came."""

    async def main() -> None:
        async with aio.HomaSocket(pair[1]) as client:
            with pytest.raises(errors.Refused):
                await client.request((pair[0].address, PORT), b"x")
            async with aio.HomaSocket(pair[0]) as server:
                await server.bind(PORT)
                with pytest.raises(TimeoutError, match="bytes sent"):
                    await client.request((pair[0].address, PORT), b"x", timeout=0.05)
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.05):
                        await client.request((pair[0].address, PORT), b"x")

    run(kind, main())


def test_a_storm_of_cancellations_leaves_nothing(kind: str, pair: Pair) -> None:
    """T41: cancelled at any point, at both ends; no exception is lost, no state stays."""

    async def main() -> None:
        draw = random.Random(7)
        async with serving(pair[0], delay=0.001), aio.HomaSocket(pair[1]) as client:

            async def one(number: int) -> bool:
                data = bytes([number & 0xFF]) * draw.choice([1, 100, 20_000])
                task = asyncio.create_task(client.request((pair[0].address, PORT), data))
                for _ in range(draw.randrange(6)):
                    await asyncio.sleep(draw.choice([0, 0, 0.0005, 0.003]))
                task.cancel()
                try:
                    return bytes(await task) == data
                except asyncio.CancelledError:
                    return True

            for _ in range(10):
                assert all(await asyncio.gather(*(one(i) for i in range(50))))
            assert bytes(await client.request((pair[0].address, PORT), b"end")) == b"end"
            assert await forgets_all(pair[1])
            assert await forgets_all(pair[0])

    run(kind, main())


def test_a_cancelled_request_reaches_the_server(kind: str, pair: Pair) -> None:
    async def main() -> None:
        async with aio.HomaSocket(pair[0]) as server, aio.HomaSocket(pair[1]) as client:
            await server.bind(PORT)
            task = asyncio.create_task(client.request((pair[0].address, PORT), b"x"))
            rpc = await server.recv()
            task.cancel()
            for _ in range(500):
                if rpc.cancelled:
                    break
                await asyncio.sleep(0.01)
            assert rpc.cancelled
            await rpc.reply(b"nobody reads this")

    run(kind, main())


def test_a_cancelled_receive_loses_no_message(kind: str, pair: Pair) -> None:
    async def main() -> None:
        async with aio.NdpSocket(pair[0]) as listener, aio.NdpSocket(pair[1]) as client:
            await listener.bind(PORT)
            await listener.listen()
            await client.connect((pair[0].address, PORT))
            await client.send(bytes([0]))
            async with await listener.accept() as server:
                got = [bytes(await server.recv())[0]]
                sender = asyncio.create_task(send_slowly(client, 100))
                while len(got) < 101:
                    try:
                        async with asyncio.timeout(0.0005):
                            got.append(bytes(await server.recv())[0])
                    except TimeoutError:
                        continue
                await sender
                assert got == list(range(101))
                await client.flush()

    run(kind, main())


async def send_slowly(client: aio.NdpSocket, count: int) -> None:
    for i in range(count):
        await client.send(bytes([i + 1]))
        await asyncio.sleep(0.0007)


def test_recv_into_what_cannot_be_written(kind: str, pair: Pair) -> None:
    """The message is the next that is received; one that does not fit is lost."""

    async def main() -> None:
        async with aio.NdpSocket(pair[0]) as listener, aio.NdpSocket(pair[1]) as client:
            await listener.bind(PORT)
            await listener.listen()
            await client.connect((pair[0].address, PORT))
            for data in (b"abc", b"defghi"):
                await client.send(data)
            async with await listener.accept() as server:
                with pytest.raises(TypeError, match="read-only"):
                    await server.recv_into(bytes(10))
                target = bytearray(4)
                assert await server.recv_into(target) == 3
                assert target == b"abc\0"
                with pytest.raises(errors.MessageTooLong):
                    await server.recv_into(target)

    run(kind, main())
    assert pair[0].held == 0


def test_connections_end(kind: str, pair: Pair) -> None:
    async def main() -> None:
        async with aio.NdpSocket(pair[0]) as listener, aio.NdpSocket(pair[1]) as client:
            await listener.bind(PORT)
            await listener.listen()
            await client.connect((pair[0].address, PORT))
            for i in range(10):
                await client.send(bytes([i]))
            async with await listener.accept() as server:
                client.close()
                assert [bytes(message)[0] async for message in server] == list(range(10))
                with pytest.raises(errors.Closed):
                    await client.recv()

    run(kind, main())


def test_messages_of_one_turn_leave_together(
    kind: str, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T19: at its end, by one crossing, and none before."""

    async def main() -> None:
        async with aio.NdpSocket(pair[0]) as listener, aio.NdpSocket(pair[1]) as client:
            await listener.bind(PORT)
            await listener.listen()
            await client.connect((pair[0].address, PORT))
            dispatcher, polls = pair[1].dispatcher, 0
            poll = dispatcher.poll

            def counted(woken: bool = False) -> int:
                nonlocal polls
                polls += 1
                return poll(woken)

            monkeypatch.setattr(dispatcher, "poll", counted)
            for _ in range(10):
                await client.send(b"x")
            assert polls == 0
            await asyncio.sleep(0)
            assert polls > 0
            await client.flush()
            monkeypatch.undo()

    run(kind, main())


def test_a_slow_reader_makes_its_sender_wait(kind: str, pair: Pair) -> None:
    """Backpressure reaches the task that sends; the loop goes on."""

    async def main() -> None:
        async with aio.NdpSocket(pair[0]) as listener, aio.NdpSocket(pair[1]) as client:
            await listener.bind(PORT)
            await listener.listen()
            await client.connect((pair[0].address, PORT))
            sent = 0

            async def send() -> None:
                nonlocal sent
                for _ in range(100):
                    await client.send(bytes(1_000_000))
                    sent += 1

            task = asyncio.create_task(send())
            server = await listener.accept()
            await asyncio.sleep(0.3)
            assert 1 < sent < 100
            for _ in range(100):
                assert len(await server.recv()) == 1_000_000
            await task
            server.close()

    run(kind, main())


@pytest.mark.timed
def test_a_busy_receiver_does_not_starve_other_tasks(kind: str, pair: Pair) -> None:
    async def main() -> float:
        longest = 0.0
        async with serving(pair[0]), aio.HomaSocket(pair[1]) as client:

            async def flood() -> None:
                for i in range(200):
                    await client.request((pair[0].address, PORT), i.to_bytes(4))

            flooding = asyncio.gather(*(flood() for _ in range(32)))
            turns = 0
            while not flooding.done():
                begin = time.perf_counter()
                await asyncio.sleep(0)
                longest = max(longest, time.perf_counter() - begin)
                turns += 1
            await flooding
            assert turns > 50
        return longest

    check_time(run(kind, main()), 0.1)


def test_loops_in_several_threads_share_a_stack(kind: str, pair: Pair) -> None:
    """T33: each loop gets its own replies, whichever of them took the events."""

    async def ask(number: int) -> None:
        async with aio.HomaSocket(pair[1]) as client:
            data = number.to_bytes(4)
            for _ in range(100):
                assert bytes(await client.request((pair[0].address, PORT), data)) == data

    failures: list[BaseException] = []

    def thread(number: int) -> None:
        try:
            run(kind, ask(number))
        except BaseException as error:
            failures.append(error)

    with served(pair[0]):
        threads = [threading.Thread(target=thread, args=(i,)) for i in range(3)]
        for each in threads:
            each.start()
        with ndpstack.HomaSocket(pair[1]) as client:  # A thread without a loop beside them.
            for _ in range(100):
                assert bytes(client.request((pair[0].address, PORT), b"x", timeout=20)) == b"x"
        for each in threads:
            each.join(timeout=30)
            assert not each.is_alive()
    assert not failures


def test_a_socket_belongs_to_its_loop(kind: str, pair: Pair) -> None:
    async def make() -> aio.HomaSocket:
        return aio.HomaSocket(pair[1])

    async def use(socket: aio.HomaSocket) -> None:
        with pytest.raises(RuntimeError, match="another event loop"):
            await socket.request((pair[0].address, PORT), b"x", timeout=1)

    socket = run(kind, make())
    run(kind, use(socket))
    socket.close()


def test_a_loop_goes_on_in_another_thread(kind: str, pair: Pair) -> None:
    """And is woken there by the thread in which it began, which takes its reply."""

    async def begin() -> tuple[aio.HomaSocket, asyncio.Task[memoryview]]:
        client = aio.HomaSocket(pair[1])
        asked = asyncio.create_task(client.request(address, b"x", timeout=20))
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # The request leaves at the end of its task's turn.
        return client, asked

    async def end(asked: asyncio.Task[memoryview]) -> bytes:
        runs.set()
        return bytes(await asked)

    def go_on() -> None:
        got.append(loop.run_until_complete(end(asked)))
        client.close()
        loop.close()

    address, runs, got = (pair[1].peer(pair[0].address), PORT), threading.Event(), list[bytes]()
    with ndpstack.HomaSocket(pair[0]) as server:
        server.bind(PORT)
        loop = LOOPS[kind]()
        loop.set_debug(True)  # It raises where another thread takes it for its own.
        client, asked = loop.run_until_complete(begin())
        rpc = server.recv(timeout=20)
        with pair[1].dispatcher._lead:  # The loop does not take the reply itself.
            thread = threading.Thread(target=go_on)
            thread.start()
            runs.wait(20)
            rpc.reply(b"y")
            pair[1].dispatcher._take(20_000_000_000)
        thread.join(20)
    assert got == [b"y"]


def test_a_loop_that_was_closed_early_spoils_no_other_call(kind: str, pair: Pair) -> None:
    """Its reply comes to whoever takes events then, who asked for something else."""
    address = pair[1].peer(pair[0].address), PORT  # Asking for it would take turns of the loop.

    async def leave() -> tuple[aio.HomaSocket, asyncio.Task[memoryview]]:
        client = aio.HomaSocket(pair[1])
        left = asyncio.create_task(client.request(address, b"left"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # The request leaves at the end of its task's turn.
        return client, left

    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as other:
        server.bind(PORT)
        loop = LOOPS[kind]()
        client, left = loop.run_until_complete(leave())
        loop.close()
        server.recv(timeout=20).reply(b"late")
        call = other.start(address, b"x", timeout=20)
        server.recv(timeout=20).reply(b"y")
        assert bytes(call.result()) == b"y"
        client.close()
    left._log_destroy_pending = False  # type: ignore[attr-defined]  # As it is meant here.


def test_closing_the_stack_ends_all_waits(kind: str) -> None:
    async def main() -> None:
        with ndpstack.memory_pair() as (server_stack, client_stack):
            server, client = aio.HomaSocket(server_stack), aio.HomaSocket(client_stack)
            await server.bind(PORT)
            waits = [
                asyncio.create_task(client.request((server_stack.address, PORT), b"x"))
                for _ in range(3)
            ]
            await server.recv()
            client_stack.close()
            for wait in waits:
                with pytest.raises(errors.Closed):
                    await wait
            client.close()
            server.close()

    run(kind, main())


def test_a_loop_that_is_busy_keeps_nobody_waiting(kind: str, pair: Pair) -> None:
    """The core's own thread goes on: a long message arrives and is acknowledged meanwhile."""
    arrived = threading.Event()

    def send() -> None:
        with ndpstack.NdpSocket(pair[1]) as client:
            client.connect((pair[0].address, PORT))
            client.send(bytes(1_000_000))
            client.flush(timeout=30)
            arrived.set()

    async def main() -> None:
        async with aio.NdpSocket(pair[0]) as listener:
            await listener.bind(PORT)
            await listener.listen()
            await asyncio.sleep(0.01)  # It runs the core's rounds by now.
            sending = threading.Thread(target=send)
            sending.start()
            assert arrived.wait(timeout=30)
            sending.join(timeout=30)
            async with await listener.accept() as server:
                assert len(await server.recv()) == 1_000_000

    run(kind, main(), patience=60)


def test_closing_the_stack_in_another_thread_ends_all_waits(kind: str) -> None:
    async def main() -> None:
        with ndpstack.memory_pair() as (server_stack, client_stack):
            server, client = aio.HomaSocket(server_stack), aio.HomaSocket(client_stack)
            await server.bind(PORT)
            wait = asyncio.create_task(client.request((server_stack.address, PORT), b"x"))
            rpc = await server.recv()
            await asyncio.to_thread(client_stack.close)
            await asyncio.to_thread(server_stack.close)
            with pytest.raises(errors.Closed):
                await wait
            with pytest.raises(errors.Closed):
                await server.recv()
            del rpc  # Not before: that would be what ends the client's wait.
            client.close()
            server.close()

    run(kind, main())


def test_a_loop_goes_on_alone_when_another_has_left(kind: str, pair: Pair) -> None:
    """T33: with two, the core's own thread runs; with one, that one does."""

    async def ask(count: int) -> None:
        async with aio.HomaSocket(pair[1]) as client:
            for i in range(count):
                data = i.to_bytes(4)
                assert bytes(await client.request((pair[0].address, PORT), data)) == data

    async def main() -> None:
        async with serving(pair[0]):
            beside = asyncio.create_task(asyncio.to_thread(lambda: run(kind, ask(20))))
            await ask(100)
            await beside
            before = pair[1].counters("core")["rounds_lent"]
            await ask(100)
            assert pair[1].counters("core")["rounds_lent"] > before

    run(kind, main())


def test_answers_in_a_row_leave_the_loop_its_turns(
    kind: str, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that gets one message after the other by sending does so only so many times."""
    polls = 0

    def one_more(_woken: bool = False) -> int:
        nonlocal polls
        polls += 1
        return 1

    async def main() -> None:
        async with aio.HomaSocket(pair[1]) as client:
            driver = client._driver
            monkeypatch.setattr(pair[1].dispatcher, "poll", one_more)
            driver._on_readable()
            for turn in range(1, 4):
                for _ in range(20):
                    driver.answer()
                assert polls == turn * (AT_ONCE_MAX + 1)
                await asyncio.sleep(0)
                monkeypatch.setattr(driver, "_single", True)  # What came is one message again.
            monkeypatch.undo()

    run(kind, main())


def test_what_follows_one_answer_leaves_together(
    kind: str, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests of many tasks do not wait for each other, though one message woke them all."""
    known = pair[1].dispatcher
    poll, under_way = known.poll, []

    def note(woken: bool = False) -> int:
        under_way.append(len(known.by_call))
        return poll(woken)

    async def main() -> None:
        async with serving(pair[0]), aio.HomaSocket(pair[1]) as client:
            address = (pair[1].peer(pair[0].address), PORT)
            await client.request(address, b"x")
            monkeypatch.setattr(known, "poll", note)
            await asyncio.gather(*(client.request(address, b"x") for _ in range(20)))

    run(kind, main())
    assert next(calls for calls in under_way if calls) == 20
