"""NDP sockets: connections, order, leases, backpressure and the ways a connection ends."""

from __future__ import annotations

import select
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

import ndpstack
from ndpstack import errors

if TYPE_CHECKING:
    from collections.abc import Iterator

Pair = tuple[ndpstack.Stack, ndpstack.Stack]
PORT = 5000


@contextmanager
def listening(stack: ndpstack.Stack) -> Iterator[ndpstack.NdpSocket]:
    with ndpstack.NdpSocket(stack) as listener:
        listener.bind(PORT)
        listener.listen()
        yield listener


@contextmanager
def connected(pair: Pair) -> Iterator[tuple[ndpstack.NdpSocket, ndpstack.NdpSocket]]:
    """The accepted and the connecting end."""
    with listening(pair[0]) as listener, ndpstack.NdpSocket(pair[1]) as client:
        client.connect((pair[0].address, PORT))
        client.send(b"first")
        with listener.accept(timeout=5) as server:
            assert bytes(server.recv(timeout=5)) == b"first"
            yield server, client


@pytest.mark.parametrize("size", [0, 1, 1399, 1400, 1401, 4096, 4097, 100_000, 3_000_000])
def test_messages_of_any_size_arrive_both_ways(pair: Pair, size: int) -> None:
    """T8."""
    data = (bytes(range(256)) * (size // 256 + 1))[:size]
    with connected(pair) as (server, client):
        client.send(data)
        assert bytes(server.recv(timeout=10)) == data
        server.send(data)
        assert bytes(client.recv(timeout=10)) == data
        client.flush(timeout=5)


def test_messages_arrive_in_order(pair: Pair) -> None:
    """Short ones overtake long ones on the wire; the reader does not see it."""
    with connected(pair) as (server, client):
        sizes = [500_000 if i % 5 == 0 else 10 for i in range(100)]
        sender = threading.Thread(
            target=send_all, args=(client, [i.to_bytes(4) + bytes(n) for i, n in enumerate(sizes)])
        )
        sender.start()
        got = [int.from_bytes(server.recv(timeout=20)[:4]) for _ in sizes]
        sender.join(timeout=5)
        assert got == list(range(100))


def test_recv_into_copies_into_any_buffer(pair: Pair) -> None:
    with connected(pair) as (server, client):
        client.send(b"abcdef")
        target = bytearray(10)
        assert server.recv_into(target, timeout=5) == 6
        assert target == b"abcdef\0\0\0\0"
        client.send(bytes(20))
        with pytest.raises(errors.MessageTooLong, match="20 bytes, the buffer takes 10"):
            server.recv_into(target, timeout=5)
        assert pair[0].held == 0


def test_recv_into_what_cannot_be_written(pair: Pair) -> None:
    """The message is the next that is received."""
    with connected(pair) as (server, client):
        client.send(b"abcdef")
        with pytest.raises(TypeError, match="read-only"):
            server.recv_into(bytes(10), timeout=5)
        assert bytes(server.recv(timeout=5)) == b"abcdef"


def test_the_end_comes_after_the_last_message(pair: Pair) -> None:
    with connected(pair) as (server, client):
        for i in range(20):
            client.send(bytes([i]))
        client.close()
        assert [message[0] for message in server] == list(range(20))
        with pytest.raises(EOFError):
            server.recv(timeout=1)


def test_a_reset_drops_and_tells(pair: Pair) -> None:
    with connected(pair) as (server, client):
        client.reset()
        with pytest.raises(errors.Reset):
            server.recv(timeout=5)
        with pytest.raises(errors.Reset):
            server.send(b"x")


def test_nobody_listens(pair: Pair) -> None:
    with ndpstack.NdpSocket(pair[1]) as client:
        client.connect((pair[0].address, PORT))
        client.send(b"x")
        with pytest.raises(errors.Refused):
            client.recv(timeout=5)
        with pytest.raises(errors.NdpError):
            client.flush(timeout=5)


def test_a_backlog_bounds_the_connections_of_peers(pair: Pair) -> None:
    """One too many waits at its sender, and comes in when another has ended."""
    with ndpstack.NdpSocket(pair[0]) as listener, ExitStack() as opened:
        listener.bind(PORT)
        with pytest.raises(errors.LimitReached):
            listener.listen(1 << 40)
        with pytest.raises(ValueError, match="negative"):
            listener.listen(-1)
        listener.listen(2)
        clients = [opened.enter_context(ndpstack.NdpSocket(pair[1])) for _ in range(3)]
        for client in clients[:2]:
            client.connect((pair[0].address, PORT))
            client.send(b"x")
        first, _ = [opened.enter_context(listener.accept(timeout=20)) for _ in range(2)]
        clients[2].connect((pair[0].address, PORT))
        clients[2].send(b"last")
        until = time.monotonic() + 20
        while not pair[0].counters("ndp")["listen_full"]:
            assert time.monotonic() < until
            pair[0].dispatcher.pause(None)
        first.reset()
        last = opened.enter_context(listener.accept(timeout=20))
        assert bytes(last.recv(timeout=20)) == b"last"


def test_a_message_above_the_limit_is_refused_with_both_numbers(pair: Pair) -> None:
    """T23, T37: EMSGSIZE that names size and limit, and the connection goes on."""
    limit = pair[1].message_bytes_max
    with connected(pair) as (server, client):
        with pytest.raises(errors.MessageTooLong, match=f"{limit + 1} bytes.*{limit}"):
            client.send(bytes(limit + 1))
        client.send(b"short")
        assert bytes(server.recv(timeout=10)) == b"short"


def test_the_longest_message_arrives() -> None:
    """T37: the limit that the error names is no less than what goes through."""
    with ndpstack.memory_pair(receive_bytes=1 << 20) as pair, connected(pair) as (server, client):
        data = bytes(range(256)) * (pair[1].message_bytes_max // 256)
        client.send(data)
        assert bytes(server.recv(timeout=20)) == data


def test_closing_a_listener_resets_what_nobody_accepted(pair: Pair) -> None:
    """T4: also when the application looked for nothing before, and looks for nothing after."""
    with ndpstack.NdpSocket(pair[0]) as listener, ndpstack.NdpSocket(pair[1]) as client:
        listener.bind(PORT)
        listener.listen()
        client.connect((pair[0].address, PORT))
        client.send(b"x")
        client.flush(timeout=10)
        listener.close()
        with pytest.raises(errors.Reset):
            client.recv(timeout=10)


def test_a_slow_reader_stops_its_sender_and_loses_nothing(pair: Pair) -> None:
    """Backpressure: the receive memory is bounded, so send() comes to wait, and goes on later."""
    message = bytes(1_000_000)
    with connected(pair) as (server, client):
        sent = 0
        try:
            while True:
                client.send(message, timeout=0.3)
                sent += 1
        except errors.Timeout:
            pass  # The loop has no other end.
        assert 10 < sent < 100
        for _ in range(sent):
            assert len(server.recv(timeout=10)) == len(message)
        client.flush(timeout=10)


def test_a_slow_connection_does_not_stop_another(pair: Pair) -> None:
    with connected(pair) as (_, slow), ndpstack.NdpSocket(pair[0]) as listener:
        for _ in range(60):
            slow.send(bytes(1000))
        listener.bind(PORT + 1)
        listener.listen()
        with ndpstack.NdpSocket(pair[1]) as quick:
            quick.connect((pair[0].address, PORT + 1))
            quick.send(b"now")
            with listener.accept(timeout=5) as server:
                assert bytes(server.recv(timeout=5)) == b"now"


def test_a_late_message_ends_an_ordered_connection(pair: Pair) -> None:
    """There is no hole that a reader would not hear of."""
    with connected(pair) as (server, client):
        del server
        for _ in range(70):  # More than the window of unread messages.
            client.send(bytes(100), deadline=0.2)
        with pytest.raises(errors.NdpError):
            client.flush(timeout=5)


def test_an_ordered_reader_goes_on_after_what_its_sender_gave_up(pair: Pair) -> None:
    """Whose messages are too late or cancelled: they are missing, and nothing waits for them."""
    with (
        ndpstack.NdpSocket(pair[0]) as listener,
        ndpstack.NdpSocket(pair[1], ordered=False) as client,
    ):
        listener.bind(PORT)
        listener.listen()
        client.connect((pair[0].address, PORT))
        for _ in range(70):  # More than the window of unread messages.
            client.send(bytes(100), deadline=0.2)
        with pytest.raises(errors.NdpError):
            client.flush(timeout=5)
        with listener.accept(timeout=5) as server:
            client.send(b"end")
            lengths = []
            while bytes(message := server.recv(timeout=5)) != b"end":
                lengths.append(len(message))
            assert lengths == [100] * len(lengths)
            assert len(lengths) < 70


def test_a_listener_without_order(pair: Pair) -> None:
    """Its connections have none from the first message on, before anybody accepts them."""
    with (
        ndpstack.NdpSocket(pair[0], ordered=False) as listener,
        ndpstack.NdpSocket(pair[1], ordered=False) as client,
    ):
        listener.bind(PORT)
        listener.listen()
        client.connect((pair[0].address, PORT))
        client.send(b"first")
        queue = listener.listener
        assert pair[0].dispatcher.wait(queue, time.monotonic() + 20)
        connection = queue.take()
        assert connection is not None
        assert not connection.ordered
        with listener.accepted(connection) as server:
            assert bytes(server.recv(timeout=20)) == b"first"


def test_a_loop_over_messages_holds_none(pair: Pair) -> None:
    with connected(pair) as (server, client):
        client.send(bytes(100_000))
        for message in server:
            assert len(message) == 100_000
            del message
            assert pair[0].held == 0
            break


def test_timeouts_raise(pair: Pair) -> None:
    """T47, and the non-blocking mode."""
    with connected(pair) as (server, client):
        begin = time.monotonic()
        with pytest.raises(TimeoutError):
            server.recv(timeout=0.05)
        assert time.monotonic() - begin >= 0.05
        client.settimeout(0)
        with pytest.raises(BlockingIOError):
            client.recv()


def test_descriptors_tell_of_messages_whoever_took_them(pair: Pair) -> None:
    """HM#61: select() wakes for a message that another socket's call has taken from the core."""
    with connected(pair) as (server, client), connected_again(pair) as (other, other_client):
        for socket in (server, other):
            socket.settimeout(0)
        descriptors = [server.fileno(), other.fileno()]
        assert select.select(descriptors, [], [], 0.05)[0] == []
        client.send(b"one")
        other_client.send(b"two")
        assert bytes(recv_when_readable(other)) == b"two"
        assert bytes(recv_when_readable(server)) == b"one"
        for socket in (server, other):
            with pytest.raises(BlockingIOError):
                socket.recv()
        assert select.select(descriptors, [], [], 0.05)[0] == []
        client.send(b"three")
        assert bytes(recv_when_readable(server)) == b"three"


def send_all(socket: ndpstack.NdpSocket, messages: list[bytes]) -> None:
    for message in messages:
        socket.send(message)


@contextmanager
def connected_again(pair: Pair) -> Iterator[tuple[ndpstack.NdpSocket, ndpstack.NdpSocket]]:
    with ndpstack.NdpSocket(pair[0]) as listener, ndpstack.NdpSocket(pair[1]) as client:
        listener.bind(PORT + 1)
        listener.listen()
        client.connect((pair[0].address, PORT + 1))
        client.send(b"first")
        with listener.accept(timeout=5) as server:
            assert bytes(server.recv(timeout=5)) == b"first"
            yield server, client


def recv_when_readable(socket: ndpstack.NdpSocket) -> memoryview:
    """The next message, by select(); waking for nothing is part of the contract."""
    for _ in range(100):
        assert select.select([socket.fileno()], [], [], 5)[0]
        try:
            return socket.recv()
        except BlockingIOError:
            continue
    raise AssertionError("readable a hundred times, and no message")


def test_closing_from_another_thread_ends_a_wait(pair: Pair) -> None:
    with connected(pair) as (server, _):
        timer = threading.Timer(0.1, server.close)
        timer.start()
        with pytest.raises(errors.Closed):
            server.recv(timeout=10)
        timer.join()
