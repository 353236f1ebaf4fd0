"""What becomes of what is sent: how long it is held, what a refusal leaves, at which priority."""

from __future__ import annotations

import array
import gc
import weakref
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest
from loops import LOOPS, run
from served import PORT, served

import ndpstack
from ndpstack import aio, errors
from ndpstack._documents import exchanges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Pair = tuple[ndpstack.Stack, ndpstack.Stack]
BYTES = 100_000


def large() -> array.array[int]:
    """A message that can be referred to weakly."""
    return array.array("B", bytes(BYTES))


def test_a_message_is_not_held_once_it_is_sent(pair: Pair) -> None:
    """T39: the stack has a copy of what may change, whatever becomes of the call."""
    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        message = large()
        held = weakref.ref(message)
        call = client.start((pair[0].address, PORT), message, timeout=60)
        del message
        gc.collect()
        assert held() is None
        call.cancel()


def test_a_message_is_not_held_after_a_timeout(pair: Pair) -> None:
    """T39: neither by the call nor, once it is handled, by the error."""
    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        message = large()
        held = weakref.ref(message)
        with suppress(errors.Timeout):
            client.request((pair[0].address, PORT), message, timeout=0.01)
        del message
        gc.collect()
        assert held() is None


def test_a_reply_and_a_message_are_not_held(pair: Pair) -> None:
    """T39: of a server and of a connection."""
    with (
        ndpstack.NdpSocket(pair[0]) as listener,
        ndpstack.HomaSocket(pair[0]) as server,
        ndpstack.HomaSocket(pair[1]) as client,
        ndpstack.NdpSocket(pair[1]) as sender,
    ):
        server.bind(PORT)
        listener.bind(PORT)
        listener.listen()
        call = client.start((pair[0].address, PORT), b"x", timeout=60)
        rpc = server.recv(timeout=60)
        sender.connect((pair[0].address, PORT))
        for send in (rpc.reply, sender.send):
            message = large()
            held = weakref.ref(message)
            send(message)
            del message
            gc.collect()
            assert held() is None
        assert len(call.result()) == BYTES


REFUSED = {
    "too long": lambda stack: bytes(stack.message_bytes_max + 1),
    "not contiguous": lambda _: memoryview(b"abcdef")[::2],
    "no buffer": lambda _: "text",
}
"""Messages that cannot be sent, by what is wrong with them."""
by_refusal = pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
REFUSALS = (errors.MessageTooLong, BufferError, ValueError, TypeError)


@by_refusal
def test_a_message_that_is_refused_leaves_its_socket_as_it_was(
    make: Callable[[ndpstack.Stack], bytes], pair: Pair
) -> None:
    """T49: the error is raised where the message is sent, and those before and after it arrive."""
    with (
        ndpstack.NdpSocket(pair[0]) as listener,
        served(pair[0]),
        ndpstack.HomaSocket(pair[1]) as client,
        ndpstack.NdpSocket(pair[1]) as sender,
    ):
        server = (pair[0].address, PORT)
        listener.bind(PORT)
        listener.listen()
        sender.connect(server)
        sender.send(b"before")
        call = client.start(server, b"before", timeout=60)
        for send in (lambda data: client.request(server, data, timeout=60), sender.send):
            with pytest.raises(REFUSALS):
                send(make(pair[1]))
        sender.send(b"after")
        assert bytes(call.result()) == b"before"
        assert bytes(client.request(server, b"after", timeout=60)) == b"after"
        with listener.accept(timeout=60) as receiver:
            assert [bytes(receiver.recv(timeout=60)) for _ in range(2)] == [b"before", b"after"]


@pytest.mark.parametrize("kind", LOOPS)
@by_refusal
def test_a_message_that_is_refused_leaves_its_loop_as_it_was(
    make: Callable[[ndpstack.Stack], bytes], kind: str, pair: Pair
) -> None:
    """T49."""

    async def main() -> None:
        async with aio.HomaSocket(pair[1]) as client, aio.NdpSocket(pair[1]) as sender:
            server = (pair[0].address, PORT)
            await sender.connect(server)
            await sender.send(b"before")
            with pytest.raises(REFUSALS):
                await sender.send(make(pair[1]))
            with pytest.raises(REFUSALS):
                await client.request(server, make(pair[1]), timeout=60)
            await sender.send(b"after")
            assert bytes(await client.request(server, b"after", timeout=60)) == b"after"
            await sender.flush()

    with ndpstack.NdpSocket(pair[0]) as listener, served(pair[0]):
        listener.bind(PORT)
        listener.listen()
        run(kind, main())
        with listener.accept(timeout=60) as receiver:
            assert [bytes(receiver.recv(timeout=60)) for _ in range(2)] == [b"before", b"after"]


# ---- priorities ----


@contextmanager
def listening(stack: ndpstack.Stack) -> Iterator[tuple[str, int]]:
    with ndpstack.NdpSocket(stack) as listener:
        listener.bind(PORT)
        listener.listen()
        yield stack.address, PORT


def priorities(pair: Pair) -> list[list[object]]:
    """Of the NDP connections of both hosts."""
    return [
        [row["priority"] for row in exchanges(stack) if row["protocol"] == "ndp"] for stack in pair
    ]


def test_a_connection_has_the_priority_that_it_is_given(pair: Pair) -> None:
    """At both ends: packets carry it, and pulls go by it."""
    with listening(pair[0]) as server, ndpstack.NdpSocket(pair[1]) as sender:
        sender.connect(server, priority=5)
        sender.send(b"first")
        sender.flush(timeout=60)
        assert priorities(pair) == [[5], [5]]


@pytest.mark.parametrize("kind", LOOPS)
def test_an_awaited_connection_has_the_priority_that_it_is_given(kind: str, pair: Pair) -> None:
    async def main() -> None:
        with listening(pair[0]) as server:
            async with aio.NdpSocket(pair[1]) as sender:
                await sender.connect(server, priority=5)
                await sender.send(b"first")
                await sender.flush()
                assert priorities(pair) == [[5], [5]]

    run(kind, main())
