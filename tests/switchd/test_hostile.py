"""The control API, and what hostile clients get: each is refused, bounded and counted."""

from __future__ import annotations

import socket
import threading
import time
from typing import TYPE_CHECKING, cast

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ndpstack.control import Call, Reply, Splitter, UnreachableError, encode
from switchd.control._server import BURST_SECONDS, Budget

if TYPE_CHECKING:
    from running_daemon import RunningDaemon

    from ndpstack.control import Client

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
        sock.sendall(b"\0\0\0\1\xdd\0\1\0\0")
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
