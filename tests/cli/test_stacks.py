"""`ndpstack ss` and `stat` of the stacks that programs run themselves, and what they are told."""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import TYPE_CHECKING

import pytest
from namespaces import namespace_of_its_own
from other_user import as_nobody

import ndpstack
from ndpstack import _documents, _netns, _sources, _teller
from ndpstack._errors import UserError
from ndpstack._sources import ask, ask_all, find_stacks
from ndpstack._status import socket_address
from ndpstack.cli import main
from ndpstack.cli._exit import Exit

if TYPE_CHECKING:
    from collections.abc import Iterator

Pair = tuple[ndpstack.Stack, ndpstack.Stack]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def of_process(pid: int) -> list[str]:
    """Names of a process's stacks: others' tests may run at the same time."""
    return [name for name in find_stacks() if name.startswith(f"{pid}.")]


def opened(**options: object) -> ndpstack.Stack:
    config = {"backend": "memory", "address": "10.0.0.1", "listen": True, **options}
    return ndpstack.Stack(ndpstack.StackConfig(**config))  # type: ignore[arg-type]


@pytest.fixture
def pair() -> Iterator[Pair]:
    with ndpstack.memory_pair() as stacks:
        yield stacks


def rows(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    """Of `ss --json`, those of this process."""
    assert main(["ss", "--json", *arguments]) == Exit.OK
    document = json.loads(capsys.readouterr().out)
    (found,) = (value for key, value in document.items() if key != "schema_version")
    return [row for row in found if row["service"].startswith(f"{os.getpid()}.")]


def test_all_stacks_of_a_process_are_shown(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    names = of_process(os.getpid())
    assert len(names) == 2
    with ndpstack.NdpSocket(pair[0]) as listener, ndpstack.NdpSocket(pair[1]) as sock:
        listener.bind(5000)
        listener.listen()
        sock.connect((pair[0].address, 5000))
        sock.send(b"x")
        with listener.accept(timeout=20):
            server, client = rows(capsys)
            assert [server["service"], client["service"]] == names
            assert (server["role"], client["role"]) == ("server", "client")
            assert (server["pid"], server["stack"]) == (os.getpid(), pair[0].name)
            (alone,) = rows(capsys, "--service", names[1])
            assert alone["id"] == client["id"]
            assert main(["ss"]) == Exit.OK
    (line, *_) = (line for line in capsys.readouterr().out.splitlines() if names[0] in line)
    assert pair[0].name in line


def test_one_stack_is_asked_for(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    for name in of_process(os.getpid()):
        (application,) = rows(capsys, "--service", name, "--apps")
        assert (application["service"], application["stack"]) == (name, pair[0].name)
    assert main(["ss", "--service", f"{os.getpid()}.0"]) == Exit.USAGE
    assert "it has ended" in capsys.readouterr().err


def test_counters_of_all_stacks(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    names = of_process(os.getpid())
    assert main(["stat", "--json", "-i", "0.01", "-n", "2", "core.rounds"]) == Exit.OK
    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    own = [document for document in documents if document["service"] in names]
    assert [document["service"] for document in own] == names * 2
    assert {document["stack"] for document in own} == {pair[0].name}
    assert all(document["counters"]["core.rounds"]["value"] for document in own)
    assert main(["stat", "core.*"]) == Exit.OK
    assert f"{names[0]}, user " in capsys.readouterr().out


def test_a_stack_that_is_not_to_be_seen() -> None:
    with opened(name=f"test-unseen-{os.getpid()}", visible=False):
        assert of_process(os.getpid()) == []


def test_other_handles_are_not_told_of_again(pair: Pair) -> None:
    names = of_process(os.getpid())
    with pair[0].share():
        assert of_process(os.getpid()) == names


def test_a_stack_that_was_closed_is_gone() -> None:
    with opened(name=f"test-closed-{os.getpid()}"):
        assert len(of_process(os.getpid())) == 1
    assert of_process(os.getpid()) == []


@pytest.mark.filterwarnings("ignore:unclosed <Stack:ResourceWarning")
def test_a_stack_that_was_forgotten_is_gone() -> None:
    stack = opened(name=f"test-forgotten-{os.getpid()}")
    assert len(of_process(os.getpid())) == 1
    del stack
    gc.collect()
    assert of_process(os.getpid()) == []


def test_a_stack_does_without_a_name_that_is_taken(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "ndpstack.teller")
    monkeypatch.setattr(_teller, "_numbers", count(7_000_000))
    with socket.socket(socket.AF_UNIX) as squatter:
        squatter.bind(socket_address(f"{os.getpid()}.7000000"))
        with opened(name=f"test-taken-{os.getpid()}") as stack:
            assert stack.counters("core")
    assert "does not see <Stack test-taken" in caplog.text


@needs_root
def test_a_stack_is_told_of_to_its_user_and_root_only(pair: Pair) -> None:
    (name, _) = of_process(os.getpid())
    assert "that user and root only" in as_nobody(lambda: ask(name, "peers"))
    assert "no program" not in as_nobody(lambda: ask_all("peers", lambda answer: answer))
    assert pair[0].counters("core")


def test_a_name_of_another_process_is_not_believed() -> None:
    name = f"{os.getppid()}.9000000"
    with socket.socket(socket.AF_UNIX) as impostor:
        impostor.bind(socket_address(name))
        impostor.listen()
        with pytest.raises(UserError, match=f"PID {os.getpid()} .* another process's"):
            ask(name, "peers")


def impostors(held: ExitStack, number: int) -> list[str]:
    """Names that look like another process's, and come before all others."""
    names = [f"1.{9_100_000 + at}" for at in range(number)]
    for name in names:
        impostor = held.enter_context(socket.socket(socket.AF_UNIX))
        impostor.bind(socket_address(name))
        impostor.listen()
    return names


def test_names_of_others_crowd_out_nobody(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    own = of_process(os.getpid())
    with ExitStack() as held:
        names = [*impostors(held, 4), *own]
        monkeypatch.setattr(_sources, "find_stacks", lambda: names)
        monkeypatch.setattr(_sources, "QUESTIONS_MAX", 3)
        found, problems = ask_all("peers", lambda answer: answer.service)
        assert [name for name in found if name in names] == own
        (line,) = (line for line in problems if "another process's" in line)
        assert f"PID {os.getpid()} of user" in line
        assert not any("not asked" in line for line in problems)
        monkeypatch.setattr(_sources, "CONNECTS_MAX", len(names))
        found, problems = ask_all("peers", lambda answer: answer.service)
        assert own[1] not in found
        assert "1 more stacks are not asked; name one: PID.N" in problems
    assert pair[0].name


def test_nothing_to_look_at() -> None:
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    with namespace_of_its_own() as namespace, pytest.raises(UserError) as caught:
        _netns.call_inside(namespace.name, lambda: ask_all("peers", lambda answer: answer))
    text = str(caught.value)
    assert "ndpstack host run" in text
    assert "no program here has a stack open" in text


def test_a_stack_that_is_closed_while_it_answers(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing does not wait for who asks, who hears that nothing comes."""
    at_work, closed = threading.Event(), threading.Event()
    rows_of = _documents.document

    def slow(stack: ndpstack.Stack, name: str) -> dict[str, object] | None:
        at_work.set()
        assert closed.wait(20)
        return rows_of(stack, name)

    monkeypatch.setattr(_documents, "document", slow)
    name, other = of_process(os.getpid())
    with _sources.StatusQuestion(name, "peers") as question:
        assert at_work.wait(20)
        pair[0].close()
        closed.set()
        with pytest.raises(UserError, match="it has ended"):
            question.answer()
    assert ask(other, "peers").stack == pair[1].name
    assert of_process(os.getpid()) == [other]


PROGRAM = """
import ctypes, ndpstack, os, signal, sys
config = ndpstack.StackConfig(
    name=sys.argv[1], backend="memory", address="10.0.0.1", listen=True
)
with ndpstack.Stack(config):
    if sys.argv[2] == "run":
        print(0, flush=True)
    if sys.argv[2] == "fork" and os.fork() == 0:
        print(os.getpid(), flush=True)
    if sys.argv[2] == "hold the GIL":
        ctypes.PyDLL(None).system(b"echo 0; read end")
    signal.pause()
"""


@contextmanager
def program(what: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that runs a stack, and its child if it forks one."""
    name = f"test-stacks-{os.getpid()}-{time.monotonic_ns()}"
    command = [sys.executable, "-c", PROGRAM, name, what]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            yield process, child
        finally:
            process.kill()
            if child:
                os.kill(child, signal.SIGKILL)


def test_a_program_that_is_killed_leaves_no_name() -> None:
    with program("run") as (process, _):
        (name,) = of_process(process.pid)
        assert ask(name, "applications").owner.pid == process.pid
        process.kill()
        process.wait()
        assert of_process(process.pid) == []


def test_a_child_keeps_no_name_of_its_parent() -> None:
    with program("fork") as (process, _):
        assert len(of_process(process.pid)) == 1
        process.kill()
        process.wait()
        assert of_process(process.pid) == []


def test_a_child_tells_of_its_own_stacks(pair: Pair) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with opened(name=f"test-child-{os.getpid()}"):
                (name,) = of_process(os.getpid())
                answer = ask(name, "peers")
                pair[0].close()
            os.write(writer, answer.stack.encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    assert os.read(reader, 100) == f"test-child-{child}".encode()
    assert os.waitpid(child, 0)[1] == 0
    os.close(reader)
    assert len(of_process(os.getpid())) == 2
    assert ask(of_process(os.getpid())[0], "peers").stack == pair[0].name


def test_a_program_that_holds_the_gil_is_named(
    pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are shown all the same."""
    with program("hold the GIL") as (process, _):
        assert main(["ss", "--json", "--apps"]) == Exit.OK
    printed = capsys.readouterr()
    assert f'"stack": "{pair[0].name}"' in printed.out
    assert f"PID {process.pid}: does not answer" in printed.err
