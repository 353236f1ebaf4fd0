"""`ndpstack ss`: what a stack has open, filtered, once and again."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import socket
import threading
from functools import partial
from typing import TYPE_CHECKING, cast

import pytest
from other_user import as_nobody
from told_stack import told

import ndpstack
from ndpstack import _sources, _status
from ndpstack._documents import document
from ndpstack._errors import UserError
from ndpstack._status import StatusSocket, socket_address
from ndpstack.cli import main
from ndpstack.cli._exit import Exit
from ndpstack.cli._ss import choose

if TYPE_CHECKING:
    from collections.abc import Iterator

NDP_PORT, HOMA_PORT = 5000, 6000
LONG = 1 << 22
"""Bytes that no socket buffers."""


@pytest.fixture
def service() -> Iterator[str]:
    """A host that serves one NDP connection and works on one RPC."""
    with (
        ndpstack.memory_pair() as (server, client),
        ndpstack.NdpSocket(server) as listener,
        ndpstack.NdpSocket(client) as sock,
        ndpstack.HomaSocket(server) as answering,
        ndpstack.HomaSocket(client) as asking,
        told(partial(document, server)) as name,
    ):
        listener.bind(NDP_PORT)
        listener.listen()
        answering.bind(HOMA_PORT)
        sock.connect((server.address, NDP_PORT))
        sock.send(b"hello")
        with listener.accept(timeout=20) as accepted:
            accepted.recv(timeout=20)
            call = asking.start((server.address, HOMA_PORT), bytes(100))
            rpc = answering.recv(timeout=20)
            yield name
            rpc.reply(b"")
            call.result()


def ss(
    capsys: pytest.CaptureFixture[str], service: str, *arguments: str
) -> list[dict[str, object]]:
    """The rows of `--json`."""
    assert main(["ss", "--json", "--service", service, *arguments]) == Exit.OK
    (document,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert document.pop("schema_version") == 1
    (rows,) = document.values()
    return cast("list[dict[str, object]]", rows)


def test_connections_and_rpcs(service: str, capsys: pytest.CaptureFixture[str]) -> None:
    connection, rpc = ss(capsys, service)
    assert (connection["protocol"], connection["state"]) == ("ndp", "open")
    assert (connection["role"], connection["port"]) == ("server", NDP_PORT)
    assert (rpc["protocol"], rpc["state"], rpc["port"]) == ("homa", "service", HOMA_PORT)
    assert (rpc["arrived_bytes"], rpc["arriving_bytes"]) == (100, 100)
    assert connection["peer"] == rpc["peer"]


@pytest.mark.parametrize(
    ("arguments", "protocols"),
    [
        (["--protocol", "ndp"], ["ndp"]),
        (["--state", "service"], ["homa"]),
        (["--state", "closing"], []),
        (["--port", str(HOMA_PORT)], ["homa"]),
        (["--peer", "10.99.99.99"], []),
        (["--app", "0"], ["ndp", "homa"]),
        (["--app", "9"], []),
    ],
)
def test_filters(
    service: str,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    protocols: list[str],
) -> None:
    assert [row["protocol"] for row in ss(capsys, service, *arguments)] == protocols


def test_peers_and_applications(service: str, capsys: pytest.CaptureFixture[str]) -> None:
    client = ss(capsys, service)[0]["peer"]
    assert client in [row["peer"] for row in ss(capsys, service, "--peers")]
    assert ss(capsys, service, "--peers", "--peer", "10.99.99.99") == []
    (application,) = ss(capsys, service, "--apps")
    assert (application["pid"], application["events_late"]) == (os.getpid(), 0)


def test_each_table_has_its_document(service: str) -> None:
    """A host with many connections is not asked for them to show its applications."""
    for kind in ("exchanges", "peers", "applications"):
        document = _sources.ask(service, kind).document
        assert document.keys() == {"schema_version", "stack", kind}


def test_an_answer_begins_before_it_is_made() -> None:
    """However long a table takes, who asks knows that somebody is there."""
    asked_on = threading.Event()

    def make(name: str) -> dict[str, object]:
        assert asked_on.wait(20)
        return {name: []}

    with told(make) as name, socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(20)
        sock.connect(socket_address(name))
        sock.sendall(b"exchanges")
        sock.shutdown(socket.SHUT_WR)
        begun = sock.recv(1)
        asked_on.set()
        with sock.makefile() as rest:
            assert (begun, rest.read()) == (b" ", '{"exchanges": []}')


def finish(connection: socket.socket, answer: bytes) -> None:
    with connection:
        assert connection.recv(32) == b"peers"
        connection.sendall(answer)


def test_an_answer_that_has_begun_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"test-slow-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(socket_address(name))
        server.listen()
        with _sources.StatusQuestion(name, "peers") as question:
            connection, _ = server.accept()
            connection.sendall(b" ")
            monkeypatch.setattr(question, "until", 0.0)
            threading.Timer(0.1, finish, [connection, b'{"peers": []}']).start()
            assert question.answer().document == {"peers": []}


def test_answers_are_read_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever answers second may wait for its answer to be read before it goes on to the first."""
    names = [f"{os.getpid()}.{number}" for number in (8_000_001, 8_000_002)]
    monkeypatch.setattr(_sources, "find_stacks", lambda: names)
    with socket.socket(socket.AF_UNIX) as first, socket.socket(socket.AF_UNIX) as second:
        for name, server in zip(names, (first, second), strict=True):
            server.bind(socket_address(name))
            server.listen()

        def serve() -> None:
            early, _ = first.accept()
            for connection in (second.accept()[0], early):
                finish(connection, json.dumps({"peers": "x" * LONG}).encode())

        thread = threading.Thread(target=serve)
        thread.start()
        found, _ = _sources.ask_all("peers", lambda answer: answer.service)
        thread.join()
    assert [name for name in found if name in names] == names


def test_a_process_that_answers_another_question_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = f"test-busy-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(socket_address(name))
        server.listen()
        with (
            _sources.StatusQuestion(name, "peers") as one,
            _sources.StatusQuestion(name, "peers") as other,
        ):
            connections = [server.accept()[0], server.accept()[0]]
            connections[0].sendall(b" ")
            monkeypatch.setattr(other, "until", 0.0)
            for connection in connections:
                threading.Timer(0.1, finish, [connection, b'{"peers": []}']).start()
            _sources.await_all([one, other])
            assert other.answer().document == {"peers": []}


def test_an_answer_that_goes_on_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"test-endless-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(socket_address(name))
        server.listen()
        with _sources.StatusQuestion(name, "peers") as question, server.accept()[0] as connection:
            connection.sendall(b" ")
            monkeypatch.setattr(question, "_end", 0.0)
            with pytest.raises(UserError, match=f"PID {os.getpid()} .* too long to answer"):
                question.answer()


def rest_of(connection: socket.socket) -> bytes:
    connection.settimeout(20)
    with connection.makefile("rb") as file:
        return file.read()


def test_a_silent_asker_holds_up_nobody_and_may_speak_late() -> None:
    with told(lambda name: {name: []}) as name, socket.socket(socket.AF_UNIX) as silent:
        silent.connect(socket_address(name))
        assert _sources.ask(name, "peers").document["peers"] == []
        silent.sendall(b"late")
        silent.shutdown(socket.SHUT_WR)
        assert rest_of(silent) == b' {"late": []}'


def test_who_does_not_read_holds_up_nobody_and_may_read_late() -> None:
    with told(lambda name: {name: "x" * LONG}) as name, socket.socket(socket.AF_UNIX) as lazy:
        lazy.connect(socket_address(name))
        lazy.sendall(b"late")
        lazy.shutdown(socket.SHUT_WR)
        assert _sources.ask(name, "peers").document.keys() == {"peers"}
        assert json.loads(rest_of(lazy)) == {"late": "x" * LONG}


def test_the_first_of_too_many_askers_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_status, "ASKERS_MAX", 1)
    with told(lambda name: {name: []}) as name, socket.socket(socket.AF_UNIX) as silent:
        silent.connect(socket_address(name))
        assert _sources.ask(name, "peers").document["peers"] == []
        assert rest_of(silent).strip() == b""


def test_who_forks_while_it_answers_keeps_nobody_waiting() -> None:
    """The child has the connection, too, for as long as it lives."""
    children: list[int] = []
    reader, writer = os.pipe()

    def make(name: str) -> dict[str, object]:
        children.append(os.fork())
        if children[-1] == 0:
            os.read(reader, 1)
            os._exit(0)
        return {name: []}

    try:
        with told(make) as name:
            assert _sources.ask(name, "peers").document["peers"] == []
    finally:
        os.write(writer, b"x")
    assert os.waitpid(children[0], 0)[1] == 0
    os.close(reader)
    os.close(writer)


def test_who_answers_is_the_kernels_word() -> None:
    with told(lambda _: {"pid": 1, "user": "nobody"}) as name:
        found = _sources.read_status(name)
    assert (found["pid"], found["user"]) == (os.getpid(), pwd.getpwuid(os.geteuid()).pw_name)


def test_a_name_that_is_taken_is_refused_with_its_owner() -> None:
    name = f"test-taken-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as squatter:
        squatter.bind(socket_address(name))
        squatter.listen()
        with pytest.raises(UserError, match=f"by PID {os.getpid()} of user .*; .* a path"):
            StatusSocket(name, lambda _: None)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_other_users_are_neither_asked_nor_answered(service: str) -> None:
    refused = as_nobody(lambda: _sources.ask(service, "peers"))
    assert f"PID {os.getpid()} of user root has the name" in refused
    assert as_nobody(lambda: ask_anyway(service)) == "b''"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_who_becomes_another_user_answers_the_old_one_only(
    service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel names the old one."""
    monkeypatch.setattr(os, "geteuid", lambda: pwd.getpwnam("nobody").pw_uid)
    assert as_nobody(lambda: ask_anyway(service)) == "b''"


def ask_anyway(service: str) -> bytes:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(20)
        sock.connect(socket_address(service))
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            sock.sendall(b"peers")
            sock.shutdown(socket.SHUT_WR)
            return sock.recv(1)
        return b""


@pytest.mark.parametrize(
    "answer",
    [b"[]", b"nonsense", b"[" * 100_000, b'{"peers": NaN}', b'{"x": -Infinity}', b'{"x": 1e999}'],
    ids=["list", "nonsense", "deep", "NaN", "infinite", "huge"],
)
def test_an_answer_that_is_no_document(answer: bytes) -> None:
    name = f"test-nonsense-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(socket_address(name))
        server.listen()
        with _sources.StatusQuestion(name, "peers") as question:
            threading.Thread(target=finish, args=(server.accept()[0], answer)).start()
            with pytest.raises(UserError, match="no document"):
                question.answer()


def test_tables_again_and_again(service: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ss", "--service", service, "--watch", "0.01", "-n", "3"]) == Exit.OK
    text = capsys.readouterr().out
    assert text.count("unsent [B]") == 3
    assert text.count("  service ") == 3
    assert main(["ss", "--service", service, "--port", "1"]) == Exit.OK
    assert capsys.readouterr().out == "no exchanges that match\n"


def test_what_rests_is_left_out() -> None:
    rows: list[dict[str, str | int | float]] = [{"state": "open"}, {"state": "time-wait"}]
    assert choose(rows, {}, everything=False) == rows[:1]
    assert choose(rows, {}, everything=True) == rows
    assert choose(rows, {"state": "time-wait"}, everything=False) == rows[1:]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["-n", "3"], "-n needs --watch"),
        (["--peers", "--state", "open"], "--state chooses no peers"),
        (["--peers", "--app", "0"], "--app chooses no peers"),
        (["--peers", "-a"], "--all chooses no peers"),
        (["--apps", "--peer", "10.0.0.1"], "--peer chooses no applications"),
        (["--protocol", "ndp", "--state", "service"], "--state service is none of ndp"),
    ],
)
def test_options_that_would_be_ignored(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ss", *arguments]) == Exit.USAGE
    assert text in capsys.readouterr().err


def test_a_state_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["ss", "--state", "opne"])
    assert caught.value.code == Exit.USAGE
    assert "invalid choice: 'opne'" in capsys.readouterr().err


def test_a_stack_of_no_process(capsys: pytest.CaptureFixture[str]) -> None:
    """Of more digits than Python takes for a number."""
    assert main(["ss", "--service", f"{'9' * 5000}.1"]) == Exit.USAGE
    assert "does not answer (AF_UNIX path too long)" in capsys.readouterr().err


def test_a_bad_address(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ss", "--peer", "nowhere"]) == Exit.USAGE
    assert "--peer must be an IP address" in capsys.readouterr().err
