"""The types below sockets, calls and requests that are written in C."""

from __future__ import annotations

import asyncio
import copy
import gc
import pickle
import sys
from typing import TYPE_CHECKING

import pytest
from loops import LOOPS, run
from served import PORT, served

import ndpstack
from ndpstack import _messages, aio, errors

if TYPE_CHECKING:
    from collections.abc import Callable

Pair = tuple[ndpstack.Stack, ndpstack.Stack]
HUGE = 1 << 70
TYPES = (_messages.Call, _messages.Request, _messages.Service, _messages.Inbox)

MADE: dict[str, Callable[[], object]] = {
    "call": lambda: ndpstack.Call(),  # type: ignore[call-arg]
    "call of nothing": lambda: ndpstack.Call.__new__(ndpstack.Call),
    "call of no inbox": lambda: _messages.Call("inbox"),  # type: ignore[arg-type]
    "request": ndpstack.Rpc,
    "request of nothing": lambda: ndpstack.Rpc.__new__(ndpstack.Rpc),
    "awaited request": aio.Rpc,
    "service": lambda: _messages.Service(None, None, int, None),  # type: ignore[arg-type,type-var]
    "lease": lambda: _messages.Lease(None, 0, 0, 0, 0, 0),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_what_a_socket_makes_is_not_made_otherwise(make: Callable[[], object]) -> None:
    """One without a stack behind it would crash its first user."""
    with pytest.raises(TypeError):
        make()


@pytest.mark.parametrize("kind", LOOPS)
def test_nothing_is_copied_that_a_copy_would_end(kind: str, pair: Pair) -> None:
    """Nor sent to another process, where it would be of no use."""

    def check(*originals: object) -> None:
        for each in originals:
            for dump in (copy.copy, copy.deepcopy, pickle.dumps, lambda it: pickle.dumps(it, 0)):
                with pytest.raises(TypeError, match=r"pickle|sockets make"):
                    dump(each)

    async def main() -> None:
        async with aio.HomaSocket(pair[1]) as homa, aio.NdpSocket(pair[1]) as ndp:
            check(homa, ndp)

    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        call = client.start((pair[0].address, PORT), bytes(5_000), timeout=20)
        rpc = server.recv(timeout=20)
        with ndpstack.NdpSocket(pair[0]) as ndp:
            check(pair[0], server, client, ndp, call, rpc, rpc.data)
        gc.collect()
        rpc.reply(b"x")
        assert bytes(call.result()) == b"x"
    run(kind, main())


@pytest.mark.parametrize("priority", [-1, 8, HUGE])
@pytest.mark.parametrize("kind", LOOPS)
def test_a_priority_out_of_range_is_refused(kind: str, priority: int, pair: Pair) -> None:
    check_refused(kind, pair, PORT, priority)


@pytest.mark.parametrize("port", [-1, 0, 1 << 16, HUGE])
@pytest.mark.parametrize("kind", LOOPS)
def test_a_port_out_of_range_is_refused(kind: str, port: int, pair: Pair) -> None:
    check_refused(kind, pair, port, 0)


def check_refused(kind: str, pair: Pair, port: int, priority: int) -> None:
    """Blocking, begun and awaited, none is sent and none left."""
    address = (pair[0].address, port)

    async def main() -> None:
        async with aio.HomaSocket(pair[1]) as client:
            with pytest.raises(ValueError, match="is not in"):
                await client.request(address, b"x", priority=priority)

    with ndpstack.HomaSocket(pair[1]) as client:
        for send in (client.request, client.start):
            with pytest.raises(ValueError, match="is not in"):
                send(address, b"x", priority=priority)
    run(kind, main())
    assert not pair[1].dispatcher.by_call
    assert pair[1].counters("homa")["requests_submitted"] == 0


def alive() -> int:
    """Objects of these types that are there, none of which is garbage."""
    gc.collect()
    return sum(isinstance(each, TYPES) for each in gc.get_objects())


@pytest.mark.parametrize("kind", LOOPS)
def test_nothing_is_left_of_what_has_ended(kind: str) -> None:
    """Also of what is held in cycles, was lent, failed, or given up."""
    before = alive()

    async def main(pair: Pair) -> None:
        server = (pair[0].address, PORT)
        with served(pair[0]):
            async with aio.HomaSocket(pair[1]) as client:
                for size in (0, 100, 5_000, 100_000):
                    assert len(await client.request(server, bytes(size))) == size
                with pytest.raises(errors.MessageTooLong):
                    await client.request(server, bytes(pair[1].message_bytes_max + 1))
                with pytest.raises(errors.Refused):
                    await client.request((pair[0].address, PORT + 1), b"x")
                under_way = asyncio.create_task(client.request(server, bytes(1_000_000)))
                await asyncio.sleep(0)
                under_way.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await under_way

    with ndpstack.memory_pair() as pair:
        run(kind, main(pair))
    del pair
    assert alive() == before


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("port", ["4000", None, 4000.5])
def test_a_port_that_is_no_number_is_refused_also_by_a_closed_stack(
    kind: str, port: object, pair: Pair
) -> None:
    peer = pair[1].peer(pair[0].address)

    async def main() -> None:
        async with aio.HomaSocket(pair[1]) as client:
            pair[1].close()
            with pytest.raises(TypeError):
                await client.request((peer, port), b"x")  # type: ignore[arg-type]

    run(kind, main())


def test_who_waits_for_a_call_is_not_replaced(pair: Pair) -> None:
    """The list is C's: what is none would end the batch in which the reply comes."""
    with ndpstack.HomaSocket(pair[1]) as client:
        call = client.start((pair[0].address, PORT), b"x")
        with pytest.raises(AttributeError):
            call.waiters = ()  # type: ignore[misc,assignment]
        with pytest.raises(AttributeError):
            del call.waiters
        call.cancel()


def test_a_call_that_was_tampered_with_keeps_no_socket_open(pair: Pair) -> None:
    with ndpstack.HomaSocket(pair[1]) as client:
        tampered, other = (client.start((pair[0].address, PORT), b"x") for _ in range(2))
        del tampered.owner
        client.close()
        with pytest.raises(errors.Closed):
            other.result()
    tampered.cancel()


def test_a_request_without_memory_is_made_later(pair: Pair) -> None:
    """Each of its allocations fails once, also that of a list when no old one is left."""
    testcapi = pytest.importorskip("_testcapi", reason="this Python has no _testcapi")
    failed = 0
    with ndpstack.HomaSocket(pair[0]) as server:
        server.bind(PORT)
        made, data = server.service.made, memoryview(b"x")
        kept: list[list[list[object]]] = []
        for place in range(10):
            kept.append([[] for _ in range(100)])
            testcapi.set_nomemory(place, place + 1)
            try:
                made(1, 1, data)
            except MemoryError:
                failed += 1
            finally:
                testcapi.remove_mem_hooks()
    assert failed == 2


def test_a_reply_without_memory_leaves_nothing(pair: Pair) -> None:
    """Each of its allocations fails once."""
    testcapi = pytest.importorskip("_testcapi", reason="this Python has no _testcapi")
    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        for place in range(10):
            call = client.start((pair[0].address, PORT), b"x", timeout=20)
            rpc = server.recv(timeout=20)
            testcapi.set_nomemory(place, place + 1)
            try:
                rpc.answer(b"y", False)
            except MemoryError:
                rpc.reply(b"y")
            finally:
                testcapi.remove_mem_hooks()
            assert bytes(call.result()) == b"y"
            del rpc
            assert not pair[0].dispatcher.by_rpc


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs buffers written in Python (3.12)")
def test_a_reply_whose_data_reply_is_one(pair: Pair) -> None:
    """The core would refuse the second one, and with it the first."""

    class Replying:
        def __buffer__(self, _flags: int) -> memoryview:
            if not rpc.replied:
                rpc.reply(b"first")
            return memoryview(b"second")

    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        call = client.start((pair[0].address, PORT), b"x", timeout=20)
        rpc = server.recv(timeout=20)
        with pytest.raises(errors.Closed):
            rpc.reply(Replying())
        assert bytes(call.result()) == b"first"
    assert pair[0].counters("homa")["rpcs_cancelled"] == 0


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs buffers written in Python (3.12)")
@pytest.mark.parametrize("kind", LOOPS)
def test_a_request_whose_data_closes_the_socket_ends(kind: str, pair: Pair) -> None:
    """Where nobody looks for its reply any more, it is not sent."""

    class Closing:
        def __init__(self, close: Callable[[], object]) -> None:
            self._close = close

        def __buffer__(self, _flags: int) -> memoryview:
            self._close()
            return memoryview(b"x")

    address = (pair[1].peer(pair[0].address), PORT)

    async def main() -> None:
        client = aio.HomaSocket(pair[1])
        with pytest.raises(errors.Closed):
            await client.request(address, Closing(client.close))

    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        with pytest.raises(errors.Closed):
            client.start(address, Closing(client.close), timeout=20)
        run(kind, main(), patience=5)
    assert not pair[1].dispatcher.by_call
    assert pair[1].counters("homa")["requests_submitted"] == 0
