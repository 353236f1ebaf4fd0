"""`serve`, `call` and `ping`: what a first user types."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgpack
import pytest

from ndpstack import HomaSocket, Stack, StackConfig, _homa
from ndpstack.cli import main
from ndpstack.cli._call import _text, value_of
from ndpstack.cli._exit import Exit
from ndpstack.cli._numbers import SERVER_PORT_MAX
from ndpstack.cli._serve import PORT
from ndpstack.errors import make_error
from ndpstack.rpc import Service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ndpstack._socket import Address

COMMAND = (sys.executable, "-c", "import sys; from ndpstack.cli import main; sys.exit(main())")


def ndpstack(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def server() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`ndpstack serve` on a link in memory, and the link's name."""
    name = f"test-try-{os.getpid()}-{time.monotonic_ns()}"
    process = subprocess.Popen(
        [*COMMAND, "serve", "--memory", name], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("serving echo, add")
        yield name, process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_first_try(server: tuple[str, subprocess.Popen[str]]) -> None:
    """T3, T7: the commands of the first page, one after another on one link."""
    name, process = server
    done = ndpstack("call", "--memory", name, "10.0.0.1", "add", "1", "2.5")
    assert (done.returncode, done.stdout) == (0, "3.5\n"), done.stderr
    done = ndpstack("call", "-m", name, "10.0.0.1", "echo", '{"a": [1, "b"]}')
    assert json.loads(done.stdout) == {"a": [1, "b"]}
    done = ndpstack("call", "-m", name, "--stream", "10.0.0.1", "count", "3")
    assert done.stdout == "0\n1\n2\n"
    done = ndpstack("ping", "-m", name, "--json", "-c", "3", "--interval", "0", "10.0.0.1")
    summary = json.loads(done.stdout)
    assert (summary["answered"], summary["sent"]) == (3, 3)
    assert 0 < summary["min_us"] <= summary["median_us"] <= summary["max_us"]
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=10) == 0
    assert process.stdout is not None
    assert "add: 1 calls, 0 errors" in process.stdout.read()


def test_mistakes_are_one_line(server: tuple[str, subprocess.Popen[str]]) -> None:
    name, _ = server
    done = ndpstack("call", "-m", name, "10.0.0.1", "nothing")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "ndpstack: the method raised LookupError: service try has no method nothing\n"
    )
    done = ndpstack("call", "-m", name, "-p", "4001", "10.0.0.1", "echo", "1")
    assert done.returncode == 2
    assert "Connection refused" in done.stderr
    assert "Start the server" in done.stderr
    assert done.stderr.count("\n") == 1
    done = ndpstack("call", "-m", name, "nowhere", "echo", "1")
    assert done.returncode == 2
    assert "nowhere" in done.stderr


ON = ("-m", "test-nobody")
"""Where a command is refused before it looks."""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ping", *ON, "-s", "-1", "10.0.0.1"], "'-1' is no number of bytes"),
        (["ping", *ON, "--interval", "-1", "10.0.0.1"], "'-1' is no number of seconds from 0"),
        (["ping", *ON, "--interval", "inf", "10.0.0.1"], "'inf' is no number of seconds from 0"),
        (["ping", *ON, "-t", "0", "10.0.0.1"], "'0' is no number of seconds above 0"),
        (["ping", *ON, "-p", "0", "10.0.0.1"], "'0' is no port"),
        (["ping", *ON, "-p", "70000", "10.0.0.1"], "'70000' is no port"),
        (["ping", *ON, "-c", "0", "10.0.0.1"], "'0' is no count above 0"),
        (["ping", *ON, "-c", "-1", "10.0.0.1"], "'-1' is no count above 0"),
        (["serve", *ON, "-p", "0"], "'0' is no port"),
        (["serve", *ON, "-p", "32768"], "from 1 to 32767"),
        (["call", *ON, "-p", "99999", "10.0.0.1", "echo"], "'99999' is no port"),
        (["call", *ON, "-t", "1e300", "10.0.0.1", "echo"], "'1e300' is no number of seconds"),
    ],
)
def test_numbers_that_are_none_are_named(
    capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == Exit.USAGE
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-m", ""], "port: it has no name"),
        (["-a", ""], "nobody listens on this name"),
        (["-i", "lo", "--netns", "test-none"], "network namespace test-none: No such file"),
        (["-i", "test-none"], "interface test-none: No such device"),
    ],
)
def test_ways_that_are_none_are_named(
    capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["ping", *words, "10.0.0.1"]) == Exit.USAGE
    assert said in capsys.readouterr().err


def test_ports_are_those_that_sockets_take() -> None:
    assert SERVER_PORT_MAX == _homa.SERVER_PORT_MAX


def test_what_cannot_be_sent_or_printed(
    server: tuple[str, subprocess.Popen[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    name, _ = server
    to = ["-m", name, "10.0.0.1"]
    assert main(["ping", "-s", "100000000", *to]) == Exit.USAGE
    assert "messages have at most" in capsys.readouterr().err
    assert main(["call", *to, "echo", "123456789012345678901234567890"]) == Exit.USAGE
    assert "more than 64 bits" in capsys.readouterr().err
    assert main(["call", *to, "echo", "NaN"]) == Exit.OK
    assert capsys.readouterr().out == '"NaN"\n'
    assert main(["call", *to, "add", "1e308", "1e308"]) == Exit.OK
    assert capsys.readouterr().out == '"inf"\n'


def test_streams_and_values_are_told_apart(
    server: tuple[str, subprocess.Popen[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    name, _ = server
    to = ["-m", name, "10.0.0.1"]
    assert main(["call", "--stream", *to, "echo", "3"]) == Exit.FAILED
    said = capsys.readouterr()
    assert (said.out, "echo is no stream" in said.err) == ("", True)
    assert main(["call", *to, "count", "3"]) == Exit.FAILED
    said = capsys.readouterr()
    assert (said.out, "count streams" in said.err) == ("", True)


@contextmanager
def served(service: Service) -> Iterator[list[str]]:
    """Serves in a thread, and gives the words that say where."""
    name = f"test-try-{os.getpid()}-{time.monotonic_ns()}"
    ready, over = threading.Event(), threading.Event()

    async def serve(stack: Stack) -> None:
        async with service.serving(stack, PORT):
            ready.set()
            await asyncio.to_thread(over.wait)

    end = StackConfig(name=name, backend="memory", address="10.0.0.1", listen=True)
    with Stack(end) as stack:
        thread = threading.Thread(target=lambda: asyncio.run(serve(stack)))
        thread.start()
        try:
            assert ready.wait(20)
            yield ["-m", name, stack.address]
        finally:
            over.set()
            thread.join()


def make_odd_service() -> Service:
    service = Service("odd")

    @service.method
    async def by_pair() -> object:
        return {(1, 2): 3}

    @service.method
    async def by_time() -> object:
        return {msgpack.Timestamp(1, 0): 1}

    @service.method
    async def by_number() -> object:
        return {float("nan"): 1, 2.5: 2, None: 3, b"\x01": 4}

    @service.method
    async def paint() -> None:
        raise ValueError("\x1b[31mred\nndpstack: all is well")

    return service


def test_keys_that_json_has_not_are_text(capsys: pytest.CaptureFixture[str]) -> None:
    with served(make_odd_service()) as to:
        assert main(["call", *to, "by_time"]) == Exit.OK
        assert json.loads(capsys.readouterr().out) == {str(msgpack.Timestamp(1, 0)): 1}
        assert main(["call", *to, "by_number"]) == Exit.OK
        assert json.loads(capsys.readouterr().out) == {"nan": 1, "2.5": 2, "null": 3, "01": 4}


def test_a_value_that_no_dictionary_can_be_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with served(make_odd_service()) as to:
        assert main(["call", *to, "by_pair"]) == Exit.USAGE
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert "a key that no dictionary can have" in printed.err


def test_what_a_method_raised_does_not_tell_the_terminal_what_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with served(make_odd_service()) as to:
        assert main(["call", *to, "paint"]) == Exit.FAILED
    said = capsys.readouterr().err
    assert said.removesuffix("\n").isprintable()
    assert r"ValueError: '\x1b[31mred\nndpstack: all is well'" in said


def test_an_argument_that_is_nested_too_deeply_is_text() -> None:
    deep = "[" * 90_000
    assert value_of(deep) == deep
    assert value_of("[[1]]") == [[1]]


def test_a_value_that_is_nested_too_deeply_is_said_to_be() -> None:
    """Some hundred levels, which msgpack takes, are too many where a level is two calls."""
    nested: list[object] = []
    for _ in range(90_000):
        nested = [nested]
    with pytest.raises(ValueError, match="nested too deeply to be printed"):
        _text(nested)


@pytest.mark.parametrize("way", [[], ["--stream"]])
def test_a_server_that_is_silent_is_not_waited_for(
    capsys: pytest.CaptureFixture[str], way: list[str]
) -> None:
    name = f"test-try-{os.getpid()}-{time.monotonic_ns()}"
    end = StackConfig(name=name, backend="memory", address="10.0.0.1", listen=True)
    with Stack(end) as stack, HomaSocket(stack) as silent:
        silent.bind(4000)
        words = ["call", *way, "-t", "0.05", "-m", name, "10.0.0.1", "count", "3"]
        assert main(words) == Exit.USAGE
    assert "ETIMEDOUT" in capsys.readouterr().err


def test_a_way_that_is_lost_midway(
    server: tuple[str, subprocess.Popen[str]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What comes after is still asked, and the summary counts it."""
    name, _ = server
    asked = []

    def request(socket: HomaSocket, address: Address, data: bytes, timeout: float) -> memoryview:
        asked.append(address)
        if len(asked) == 2:
            raise make_error(errno.EHOSTUNREACH, "request failed", peer="10.0.0.1:9")
        return real(socket, address, data, timeout=timeout)

    real = HomaSocket.request
    monkeypatch.setattr(HomaSocket, "request", request)
    words = ["ping", "-m", name, "--json", "-c", "3", "--interval", "0", "10.0.0.1"]
    assert main(words) == Exit.OK
    said = capsys.readouterr()
    assert "EHOSTUNREACH" in said.err
    summary = json.loads(said.out)
    assert (summary["sent"], summary["answered"], summary["schema_version"]) == (3, 2, 1)


def test_a_server_says_what_was_called_as_json() -> None:
    name = f"test-try-{os.getpid()}-{time.monotonic_ns()}"
    with subprocess.Popen(
        [*COMMAND, "serve", "--json", "--memory", name], stdout=subprocess.PIPE, text=True
    ) as process:
        while ndpstack("call", "-m", name, "10.0.0.1", "echo", "1").returncode:
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        text, _ = process.communicate(timeout=10)
    document = json.loads(text)
    assert document["schema_version"] == 1
    assert document["methods"]["echo"]["calls"] == 1


def test_a_host_that_is_not_there() -> None:
    """T28: ping says what it waited for, and fails."""
    name = f"test-try-{os.getpid()}-{time.monotonic_ns()}"
    done = ndpstack("ping", "-i", name, "10.0.0.1")
    assert done.returncode == 2
    assert name in done.stderr
    with_nobody = ("serve", "--interface", name, "--address", "10.0.0.1")
    assert ndpstack(*with_nobody).returncode == 2
