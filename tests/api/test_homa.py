"""Homa sockets: what a program sees of requests, replies, and all that goes wrong."""

from __future__ import annotations

import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from served import PORT, served

import ndpstack
from ndpstack import errors
from ndpstack._lease import COPY_BYTES

Pair = tuple[ndpstack.Stack, ndpstack.Stack]


@pytest.mark.parametrize("size", [0, 1, 1399, 1400, 1401, 4096, 4097, 100_000, 1_000_001])
def test_requests_of_any_size_come_back_as_they_went(pair: Pair, size: int) -> None:
    """T8, HM#4, HM#25, HM#48, GH#1."""
    data = (bytes(range(256)) * (size // 256 + 1))[:size]
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        assert bytes(client.request((pair[0].address, PORT), data, timeout=10)) == data


def test_any_buffer_is_a_message(pair: Pair) -> None:
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        server = (pair[0].address, PORT)
        for data in (b"abc", bytearray(b"abc"), memoryview(b"abcd")[:3]):
            assert bytes(client.request(server, data)) == b"abc"
        with pytest.raises((BufferError, ValueError)):
            client.request(server, memoryview(b"abcdef")[::2])


def test_a_message_above_the_limit_is_refused_with_both_numbers(pair: Pair) -> None:
    """T23, T37: EMSGSIZE that names size and limit, before anything is sent."""
    limit = pair[1].message_bytes_max
    with (
        ndpstack.HomaSocket(pair[1]) as client,
        pytest.raises(errors.MessageTooLong, match=f"{limit + 1} bytes.*{limit}"),
    ):
        client.request((pair[0].address, PORT), bytes(limit + 1))


def test_messages_are_copied_up_to_a_threshold(pair: Pair) -> None:
    """T43: below it a copy costs less than a lease, which only longer ones are worth."""
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        server = (pair[0].address, PORT)
        short = client.request(server, bytes(COPY_BYTES), timeout=20)
        assert (len(short), pair[1].held) == (COPY_BYTES, 0)
        longer = client.request(server, bytes(COPY_BYTES + 1), timeout=20)
        assert (len(longer), pair[1].held) == (COPY_BYTES + 1, 1)
        for reply in (short, longer):
            reply[0] = 1  # A copy or not, it is the reader's to write to.


def test_calls_that_need_not_wait_go_past_one_that_does(pair: Pair) -> None:
    """T44: a thread that waits in the core holds neither the GIL nor a lock of the stack."""
    with ndpstack.HomaSocket(pair[1]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        got: list[bytes] = []
        waiting = threading.Thread(target=lambda: got.append(bytes(server.recv(timeout=60).data)))
        waiting.start()
        calls = [client.start((pair[0].address, PORT), b"x", timeout=60) for _ in range(100)]
        for call in calls:
            call.cancel()
            assert pair[1].held == 0
            assert pair[1].counters("core")
        assert waiting.is_alive()
        with ndpstack.HomaSocket(pair[0]) as other:
            call = other.start((pair[1].address, PORT), b"end", timeout=60)
            waiting.join(timeout=60)
            call.cancel()
        assert got == [b"end"]


def test_large_messages_are_leases_that_end_with_their_last_reader(pair: Pair) -> None:
    """T39: after completion nothing of the message is held."""
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        reply = client.request((pair[0].address, PORT), bytes(100_000))
        part = reply[10:20]
        assert pair[1].held == 1
        del reply
        gc.collect()
        assert pair[1].held == 1
        with part:
            pass
        del part
        assert pair[1].held == 0


def test_a_lease_outlives_its_stack() -> None:
    with (
        ndpstack.memory_pair() as (server, client),
        served(server),
        ndpstack.HomaSocket(client) as socket,
    ):
        reply = socket.request((server.address, PORT), b"x" * 100_000)
    assert bytes(reply) == b"x" * 100_000


def test_nobody_listens(pair: Pair) -> None:
    """GH#16: a diagnosable error, at once."""
    with ndpstack.HomaSocket(pair[1]) as client, pytest.raises(errors.Refused) as caught:
        client.request((pair[0].address, PORT), b"x", timeout=5)
    assert isinstance(caught.value, ConnectionRefusedError)
    assert caught.value.peer == f"{pair[0].address}:{PORT}"
    assert caught.value.rpc


def test_a_timeout_says_how_far_it_came(pair: Pair) -> None:
    """T28, T47: id, state and bytes in every timeout."""
    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        with pytest.raises(TimeoutError, match=r"id \d+; .* bytes sent, .* received"):
            client.request((pair[0].address, PORT), b"abc", timeout=0.05)


def test_waiting_for_requests_times_out(pair: Pair) -> None:
    with ndpstack.HomaSocket(pair[0]) as server:
        server.bind(PORT)
        with pytest.raises(errors.Timeout):
            server.recv(timeout=0.01)
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.recv()


def test_a_cancelled_request_ends_at_the_server(pair: Pair) -> None:
    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        call = client.start((pair[0].address, PORT), b"abc")
        rpc = server.recv(timeout=5)
        assert call.cancel()
        assert not call.cancel()
        with pytest.raises(errors.Cancelled):
            call.result()
        with pytest.raises(errors.Timeout):
            server.recv(timeout=0.2)
        assert rpc.cancelled
        rpc.reply(b"nobody reads this")


def test_cancelling_at_once_leaves_nothing(pair: Pair) -> None:
    """HM#63: cancel before, while and after the core takes the request."""
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        for size in range(500):
            call = client.start((pair[0].address, PORT), bytes(size))
            if size % 3:
                time.sleep(0)
            call.cancel()
            assert call.is_ready()
        assert bytes(client.request((pair[0].address, PORT), b"end", timeout=5)) == b"end"
        deadline = time.monotonic() + 5
        while pair[1].dispatcher.by_call and time.monotonic() < deadline:
            pair[1].dispatcher.pause(None)
        assert not pair[1].dispatcher.by_call
        assert not pair[1].dispatcher.by_key
        assert pair[1].held == 0


def test_a_request_that_is_dropped_is_cancelled(pair: Pair) -> None:
    with (
        served(pair[0], lambda _: None),
        ndpstack.HomaSocket(pair[1]) as client,
        pytest.raises((errors.Reset, errors.Cancelled)),
    ):
        client.request((pair[0].address, PORT), b"x", timeout=5)
    gc.collect()
    assert pair[0].held == 0


def test_closing_a_server_ends_what_waits(pair: Pair) -> None:
    """T4: clients get errors, and the port can be served again."""
    with ndpstack.HomaSocket(pair[1]) as client:
        for _ in range(3):
            with ndpstack.HomaSocket(pair[0]) as server:
                server.bind(PORT)
                calls = [client.start((pair[0].address, PORT), b"x") for _ in range(2)]
                for _ in calls:
                    server.service.is_ready() or pair[0].dispatcher.wait(server.service, None)
                with server.recv(timeout=5):
                    pass
            for call in calls:
                with pytest.raises((errors.Reset, errors.Refused, errors.Cancelled)):
                    call.result()


def test_closing_a_server_ends_what_it_has_not_seen(pair: Pair) -> None:
    """T4: requests that the core has and the server, which looks for nothing, will never take."""
    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        calls = [client.start((pair[0].address, PORT), b"x", timeout=60) for _ in range(20)]
        with pytest.raises(errors.Timeout):
            client.request((pair[0].address, PORT), b"x", timeout=0.1)
        server.close()
        for call in calls:
            with pytest.raises(errors.Reset):
                call.result()


@pytest.mark.parametrize("host", ["server.example", "10.0.0.1:4000", "10.0.0", ""])
def test_what_is_no_address_is_told_so(pair: Pair, host: str) -> None:
    with (
        ndpstack.HomaSocket(pair[1]) as client,
        pytest.raises(ValueError, match="is no IP address, such as"),
    ):
        client.request((host, PORT), b"x")


def test_the_own_address_is_no_neighbour(pair: Pair) -> None:
    with pytest.raises(errors.NdpError, match=r"cannot set the neighbour .* this host itself"):
        pair[1].set_neighbour(pair[1].address, "02:00:00:00:00:01")
    pair[1].set_neighbour(pair[0].address, "02:00:00:00:00:01")


def test_a_port_is_served_once(pair: Pair) -> None:
    with ndpstack.HomaSocket(pair[0]) as one, ndpstack.HomaSocket(pair[0]) as other:
        one.bind(PORT)
        with pytest.raises(errors.AddressInUse):
            other.bind(PORT)
        with (
            pair[0].share() as shared,
            ndpstack.HomaSocket(shared) as third,
            pytest.raises(errors.AddressInUse),
        ):
            third.bind(PORT)
        with pytest.raises(ValueError, match="32767"):
            other.bind(40000)
        other.bind(PORT + 1)


def test_many_threads_share_a_socket_and_a_stack(pair: Pair) -> None:
    """T20, HM#77: threads wait for their own replies only, and none is lost."""

    def ask(number: int) -> None:
        data = number.to_bytes(4) * 100
        for _ in range(50):
            assert bytes(client.request((pair[0].address, PORT), data, timeout=20)) == data

    with (
        served(pair[0]),
        ndpstack.HomaSocket(pair[1]) as client,
        ThreadPoolExecutor(8) as pool,
    ):
        list(pool.map(ask, range(8)))


def test_several_threads_serve_one_socket(pair: Pair) -> None:
    """T19: a thousand first requests at once are a thousand requests served."""
    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        seen: list[bytes] = []

        def serve() -> None:
            for rpc in server:
                seen.append(bytes(rpc.data))
                rpc.reply(rpc.data)

        threads = [threading.Thread(target=serve) for _ in range(3)]
        for thread in threads:
            thread.start()
        calls = [client.start((pair[0].address, PORT), i.to_bytes(4)) for i in range(1000)]
        assert [int.from_bytes(call.result()) for call in calls] == list(range(1000))
        server.close()
        for thread in threads:
            thread.join(timeout=5)
            assert not thread.is_alive()
    assert sorted(seen) == [i.to_bytes(4) for i in range(1000)]


def test_calls_after_close_say_so(pair: Pair) -> None:
    client = ndpstack.HomaSocket(pair[1])
    client.close()
    client.close()
    with pytest.raises(errors.Closed):
        client.request((pair[0].address, PORT), b"x")
    with ndpstack.HomaSocket(pair[1]) as unbound, pytest.raises(errors.Closed, match="Bind"):
        unbound.recv()


def test_a_forgotten_socket_warns(pair: Pair) -> None:
    with pytest.warns(ResourceWarning, match="unclosed <HomaSocket"):
        ndpstack.HomaSocket(pair[1])


def test_bad_arguments_are_named(pair: Pair) -> None:
    with ndpstack.HomaSocket(pair[1]) as client:
        with pytest.raises(ValueError, match="priority 8"):
            client.request((pair[0].address, PORT), b"x", priority=8)
        with pytest.raises(ValueError, match="port 0"):
            client.request((pair[0].address, 0), b"x")
        with pytest.raises(ValueError, match="nowhere"):
            client.request(("nowhere", PORT), b"x")
        with pytest.raises(ValueError, match="negative"):
            client.settimeout(-1)


def test_a_peer_is_resolved_once(pair: Pair) -> None:
    """T51: an address as text costs the core one question, however often it is used."""
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        server = (pair[0].address, PORT)
        client.request(server, b"x", timeout=5)
        before = pair[1].counters("core")["commands"]
        for _ in range(50):
            client.request(server, b"x", timeout=5)
        # A request and the release of its reply, and nothing else.
        assert pair[1].counters("core")["commands"] - before <= 100


def test_who_waits_runs_the_rounds_of_its_core(pair: Pair) -> None:
    """A packet then wakes one thread at each end, as it does a socket's."""
    end = time.monotonic() + 30
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        while not all(stack.counters("core")["rounds_lent"] for stack in pair):
            assert time.monotonic() < end
            client.request((pair[0].address, PORT), b"x", timeout=5)
