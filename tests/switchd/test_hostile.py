"""The control API, and what hostile clients get: each is refused, bounded and counted."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from typing import TYPE_CHECKING, ClassVar, cast
from unittest.mock import MagicMock, Mock

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ndpstack.control import Call, Client, Reply, Splitter, UnreachableError, encode
from switchd._sockets import Access
from switchd.control._server import BURST_SECONDS, Budget, Limits, Server, Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from running_daemon import RunningDaemon

    from ndpstack.control import Message
    from switchd.control import ServerCounters

Row = dict[str, object]


def row(client: Client, what: str) -> Row:
    return cast("Row", client.call(f"show.{what}"))


def raw(daemon: RunningDaemon) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(5)
    sock.connect(str(daemon.folder / "control.sock"))
    return sock


def answers(sock: socket.socket) -> bytes:
    """All that arrives until the daemon hangs up."""
    data = b""
    try:
        while part := sock.recv(65536):
            data += part
    except ConnectionResetError:
        pass
    return data


MALFORMED = [
    b"\xc1",
    b"GET / HTTP/1.1\r\n\r\n",
    msgpack.packb([0, 1, "version"]),
    msgpack.packb([0, -1, "version", []]),
    msgpack.packb([0, True, "version", []]),
    msgpack.packb([0, 1, "", []]),
    msgpack.packb([0, 1, "x" * 65, []]),
    msgpack.packb([0, 1, "version", [{1: 2}]]),
    msgpack.packb([0, 1, "version", [{}, {}]]),
    msgpack.packb([1, 1, None, None]),
    msgpack.packb([2, "version", []]),
    msgpack.packb({"a": 1}),
    msgpack.packb(msgpack.ExtType(5, b"x")),
    b"\x91" * 5000,
    b"\xdd\xff\xff\xff\xff",
    b"\xc6\xff\xff\xff\xff" + b"x" * 2_000_000,
    b"\xda\xff\xff\xff\xfe",
    msgpack.packb([0, 1, "show.status", [{"x": [{}] * 4097}]]),
    msgpack.packb([0, 1, "show.status", [{"x": dict.fromkeys(map(str, range(4097)))}]]),
    msgpack.packb([0, 1, "show.status", [{"x": [[{}] * 4096] * 256}]]),
]


@pytest.mark.parametrize("data", MALFORMED, ids=lambda data: data[:12].hex())
def test_malformed_clients_are_refused_and_counted(daemon: RunningDaemon, data: bytes) -> None:
    with raw(daemon) as sock:
        try:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError, OSError):
            pass
        answers(sock)
    with daemon.client() as client:
        assert row(client, "runtime")["control_refused"] == 1
        assert row(client, "status")["switches"] == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(st.one_of(st.binary(max_size=64), st.sampled_from(MALFORMED[:12])), max_size=4))
def test_no_bytes_hurt_the_daemon(daemon: RunningDaemon, parts: list[bytes]) -> None:
    with raw(daemon) as sock:
        try:
            sock.sendall(encode(Call(1, "version", {})) + b"".join(parts))
            sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        assert answers(sock).startswith(b"\x94\x01\x01\xc0"), "what was right is answered"
    with daemon.client() as client:
        assert row(client, "status")["switches"] == 1


def test_there_are_no_more_clients_than_allowed(daemon: RunningDaemon) -> None:
    clients = [daemon.client() for _ in range(64)]
    with pytest.raises(UnreachableError):
        daemon.client()
    clients.pop().close()
    deadline = time.monotonic() + 5
    while len(daemon.daemon.server.sessions) > 63 and time.monotonic() < deadline:
        time.sleep(0.001)
    daemon.client().close()
    for client in clients:
        client.close()
    assert daemon.daemon.server.counters.refused_full == 1


def test_a_budget_lends_no_more_than_one_call_takes() -> None:
    budget = Budget(0.25, now=0.0)
    budget.spend(BURST_SECONDS)
    assert budget.wait_seconds(0.0) == 0.0
    budget.spend(0.01)
    assert budget.wait_seconds(0.0) == pytest.approx(0.04)
    assert budget.wait_seconds(0.04) == pytest.approx(0.0)
    assert budget.wait_seconds(1000.0) == 0.0
    budget.spend(BURST_SECONDS)
    assert budget.wait_seconds(1000.0) == 0.0, "what was left over is no more than a burst"
    budget.spend(0.01)
    assert budget.wait_seconds(1000.0) == pytest.approx(0.04)


class Charged(Budget):
    """A budget that is never used up; what is asked of it is in `log`."""

    log: ClassVar[list[object]] = []

    def wait_seconds(self, now: float) -> float:  # noqa: ARG002
        self.log.append("turn")
        return 0.0

    def spend(self, seconds: float) -> None:
        self.log.append(seconds)


class Echo:
    """Answers each call with its params, and takes no time."""

    async def call(self, session: object, method: str, params: object) -> object:  # noqa: ARG002
        Charged.log.append(method)
        return params

    def closed(self, session: object) -> None:
        pass


def test_what_reading_costs_is_charged_before_more_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of a million items cost their sender nothing, and waited for their turn in memory."""
    clock, feed = [0.0], Splitter.feed

    def slowly(splitter: Splitter, data: bytes) -> Iterator[Message]:
        for message in feed(splitter, data):
            clock[0] += 3.0
            yield message

    async def run() -> None:
        reader = asyncio.StreamReader()
        reader.feed_data(encode(Call(1, "one")) + encode(Call(2, "two")))
        reader.feed_eof()
        server = Server(Limits(1, 0.02, Access(anybody=True)))
        server._handler = Echo()
        writer = cast("asyncio.StreamWriter", MagicMock(is_closing=lambda: True))
        await server._read(Session(writer, server.counters, "x"), reader)

    Charged.log.clear()
    monkeypatch.setattr(Splitter, "feed", slowly)
    monkeypatch.setattr("switchd.control._server.Budget", Charged)
    monkeypatch.setattr("switchd.control._server.time", Mock(thread_time=lambda: clock[0]))
    asyncio.run(run())
    assert Charged.log == ["turn", 3.0, "one", 0.0, "turn", 3.0, "two", 0.0]


def test_who_hangs_up_before_being_let_in_is_a_client_that_went() -> None:
    """Its address is not known any more: each was an error in the log, with a traceback."""

    async def run() -> ServerCounters:
        server, reader = Server(Limits(1, 0.02, Access(anybody=True))), asyncio.StreamReader()
        server._handler = Echo()
        reader.feed_eof()
        with socket.socket() as sock:
            known = {"socket": sock, "peername": None}
            await server._serve(reader, MagicMock(get_extra_info=known.get))
        return server.counters

    counters = asyncio.run(run())
    assert (counters.clients, counters.refused) == (1, 0)


def test_hosts_say_little(daemon: RunningDaemon) -> None:
    """Anybody may connect there: what is no name and no list of addresses is refused."""
    path = str(daemon.folder / "hosts.sock")
    for params in {"addresses": ["10.0.0.1"] * 513}, {"host": "x" * 16384}:
        with Client(path) as client, pytest.raises(UnreachableError):
            client.call("subscribe", **params)
    assert daemon.daemon.host_server.counters.refused_malformed == 2
    addresses = [f"2001:db8::ffff:ffff:{number:x}:1" for number in range(511)]
    with Client(path) as client:
        assert client.call("subscribe", addresses=[*addresses, "10.0.0.1"])
    # Calls that follow one another may be more than one may.
    calls = b"".join(encode(Call(number, "version")) for number in range(2000))
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(5)
        sock.connect(path)
        sock.sendall(calls)
        sock.shutdown(socket.SHUT_WR)
        assert len(list(Splitter().feed(answers(sock)))) == 2000


def test_a_client_that_calls_without_a_pause_is_slowed_down_not_refused(
    daemon: RunningDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its calls wait, and those of others do not."""
    monkeypatch.setattr("switchd.control._server.BURST_SECONDS", 0.0)
    with raw(daemon) as sock:
        sock.sendall(b"".join(encode(Call(7, "show.drops", {})) for _ in range(20)))
        sock.shutdown(socket.SHUT_WR)
        found = list(Splitter().feed(answers(sock)))
    assert [message.id for message in found if isinstance(message, Reply)] == [7] * 20
    with daemon.client() as client:
        runtime = row(client, "runtime")
        assert cast("int", runtime["control_slowed"]) > 0
        assert (runtime["control_refused"], runtime["control_errors"]) == (0, 0)


@pytest.mark.parametrize("size", [0, 1, 20])
def test_a_message_without_end_is_waited_for_only_so_long(
    daemon: RunningDaemon, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Byte after byte is no end, either."""
    monkeypatch.setattr("switchd.control._server.MESSAGE_SECONDS_MAX", 0.2)
    head = encode(Call(1, "version", {}))
    with raw(daemon) as sock:
        sock.sendall(head + b"\x94\x00\xce")
        trickle = threading.Thread(target=drip, args=(sock, size))
        trickle.start()
        assert b"no end of a message" in answers(sock)
        trickle.join(20)
    with daemon.client() as client:
        assert row(client, "runtime")["control_refused"] == 1


def drip(sock: socket.socket, count: int) -> None:
    """Sends so many elements of an array that has no end."""
    try:
        sock.sendall(b"\0\0\0\1\xdd\0\0\x10\0")
        for _ in range(count):
            sock.sendall(b"\x01")
            time.sleep(0.02)
    except OSError:
        pass  # It was hung up on.


def test_a_silent_client_may_stay(daemon: RunningDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a message that was begun has to end: `switchctl top` waits between its calls."""
    monkeypatch.setattr("switchd.control._server.MESSAGE_SECONDS_MAX", 0.05)
    with daemon.client() as client:
        for _ in range(3):
            time.sleep(0.1)
            assert row(client, "runtime")["control_refused"] == 0


def test_who_follows_events_a_hundred_times_hears_each_once(daemon: RunningDaemon) -> None:
    with daemon.client() as client:
        for _ in range(100):
            client.call("events")
        client.call("set", items=["switch.tor0.port.h1.rate=2Gbit"])
        client.call("version")
        told = [item.params["what"] for item in client.notifications(0) if item.method == "event"]
        assert len(told) == len(set(told)) == 1


def test_a_client_that_does_not_read_is_hung_up_on(
    daemon: RunningDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchd.control._server.SEND_SECONDS_MAX", 0.2)
    with raw(daemon) as sock:
        calls = b"".join(encode(Call(i, "show.drops", {})) for i in range(200))
        try:
            for _ in range(50):
                sock.sendall(calls)
        except (ConnectionError, TimeoutError):
            pass
        deadline = time.monotonic() + 10
        while not daemon.daemon.server.counters.refused_unread and time.monotonic() < deadline:
            time.sleep(0.01)
    assert daemon.daemon.server.counters.refused_unread == 1
    with daemon.client() as client:
        client.call("version")
