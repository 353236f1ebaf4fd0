"""What happens to whole processes: signals, forks, exits, imports, memory, attaching."""

from __future__ import annotations

import errno
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

import pytest
from served import PORT, served
from settled import settle
from spawned import ask
from timed import check_time

import ndpstack
from ndpstack import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

Pair = tuple[ndpstack.Stack, ndpstack.Stack]

CALLS = int(os.environ.get("NDPSTACK_CALLS", "5000"))
"""In which memory is to stay flat; `make bench-calls` has a million."""


def interrupt_soon(delay: float = 0.15) -> tuple[threading.Timer, list[float]]:
    """Sends SIGINT to this process, as Ctrl-C does; the time of it goes into the list."""
    sent: list[float] = []

    def send() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(delay, send)
    timer.start()
    return timer, sent


@pytest.mark.timed
@pytest.mark.parametrize("others", [0, 1])
def test_ctrl_c_ends_a_blocking_call(pair: Pair, others: int) -> None:
    """T22, T46: within 100 ms, also when another thread leads."""
    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        waiting = [
            threading.Thread(target=swallow, args=(client, pair[0].address)) for _ in range(others)
        ]
        for thread in waiting:
            thread.start()
        timer, sent = interrupt_soon()
        with pytest.raises(KeyboardInterrupt):
            client.request((pair[0].address, PORT), b"x")
        check_time(time.monotonic() - sent[0], 0.1)
        timer.join()
        for thread in waiting:
            thread.join(timeout=5)
            assert not thread.is_alive()


def swallow(client: ndpstack.HomaSocket, address: str) -> None:
    with pytest.raises(errors.Timeout):
        client.request((address, PORT), b"x", timeout=0.6)


def test_an_interrupted_thread_leaves_the_others_served(pair: Pair) -> None:
    """Ctrl-C in the thread that leads, while others wait: their replies come all the same."""

    def ask() -> None:
        for _ in range(300):
            data = os.urandom(8)
            if bytes(client.request((pair[0].address, PORT), data, timeout=20)) != data:
                wrong.append(data)

    wrong: list[bytes] = []
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(5):
            timer, _ = interrupt_soon(0.02)
            with pytest.raises(KeyboardInterrupt):
                ask_for_ever(client, (pair[0].address, PORT))
            timer.join()
        for thread in threads:
            thread.join(timeout=30)
            assert not thread.is_alive()
    assert not wrong


def ask_for_ever(client: ndpstack.HomaSocket, server: tuple[str, int]) -> None:
    while True:
        client.request(server, b"x", timeout=20)


def test_an_interrupted_request_is_cancelled_at_its_server(pair: Pair) -> None:
    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)
        timer, _ = interrupt_soon()
        with pytest.raises(KeyboardInterrupt):
            client.request((pair[0].address, PORT), b"x")
        timer.join()
        settle(pair[1])
        with pytest.raises(errors.Timeout):
            server.recv(timeout=0.1)
    assert pair[0].held == 0


class InterruptError(Exception):
    """What the signal below raises, wherever the program is."""


def interrupt(_number: int, frame: FrameType | None) -> None:
    while frame is not None and frame.f_code is not ask_for_ever.__code__:
        if frame.f_code.co_name in ("__del__", "<lambda>"):  # Python prints and forgets it there.
            signal.setitimer(signal.ITIMER_REAL, 1e-4)
            return
        frame = frame.f_back
    raise InterruptError


def ask_and_be_interrupted(
    client: ndpstack.HomaSocket, server: tuple[str, int], delay: float
) -> None:
    signal.setitimer(signal.ITIMER_REAL, delay)
    ask_for_ever(client, server)


@pytest.mark.timeout(120, method="thread")  # The signal is the one of the usual method.
def test_interrupts_anywhere_lose_and_leave_nothing(pair: Pair) -> None:
    """T46: a blocking request cut short at a random place, again and again."""
    draw = random.Random(5)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
            server = (pair[0].address, PORT)
            for _ in range(300):
                with pytest.raises(InterruptError):
                    ask_and_be_interrupted(client, server, draw.uniform(1e-5, 1e-3))
                data = draw.randbytes(draw.choice([1, 5000]))
                assert bytes(client.request(server, data, timeout=20)) == data
            settle(pair[1], pair[0])
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_fork_is_refused_and_the_parent_unharmed(pair: Pair) -> None:
    """T34: the child's use raises clearly; a lease dropped there does not touch the rings."""
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        server = (pair[0].address, PORT)
        lease = client.request(server, bytes(100_000), timeout=5)
        child = os.fork()
        if child == 0:
            os._exit(use_after_fork(client, server, lease))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert pair[1].held == 1
        assert bytes(client.request(server, b"still here", timeout=5)) == b"still here"


def use_after_fork(client: ndpstack.HomaSocket, server: tuple[str, int], lease: memoryview) -> int:
    """0 when everything in the child is refused."""
    uses: list[Callable[[], object]] = [
        lambda: client.request(server, b"x", timeout=1),
        client.stack.share,
    ]
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(20)  # nobody here runs the core that a use which is not refused waits for
    for use in uses:
        try:
            use()
            return 1
        except errors.NdpError as error:
            if error.errno != errno.ECHILD or "spawn" not in str(error):
                return 2
    lease.release()
    del lease
    client.close()
    client.stack.close()
    return 0


def test_a_spawned_process_has_a_stack_of_its_own() -> None:
    """T34: what Forked advises works while the parent's stack is open and at work."""
    link = f"test-spawn-{os.getpid()}"
    config = ndpstack.StackConfig(name=link, backend="memory", address="10.0.0.1", listen=True)
    spawn = multiprocessing.get_context("spawn")
    with (
        ndpstack.Stack(config) as stack,
        served(stack),
        ProcessPoolExecutor(1, mp_context=spawn) as pool,
    ):
        assert pool.submit(ask, link, PORT).result(timeout=50) == b"hello"


def run(code: str, *arguments: str, timeout: float = 30) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


EXIT = """
import ndpstack, sys, time
with ndpstack.memory_pair() as (a, b):
    client = ndpstack.HomaSocket(b)
    calls = [client.start(("10.0.0.9", 4000), bytes(100_000)) for _ in range(20)]
    connection = ndpstack.NdpSocket(b)
    connection.connect(("10.0.0.9", 4000))
    connection.send(bytes(1_000_000))
    connection.close()
    client.close()
    begin = time.monotonic()
print(f"{time.monotonic() - begin:.3f}")
sys.exit(7)
"""


@pytest.mark.timed
def test_exit_with_a_dead_peer_and_queued_messages() -> None:
    """T45: within a second, and with the exit code that was asked for."""
    done = run(EXIT)
    assert done.returncode == 7, done.stderr
    check_time(float(done.stdout), 1.0)


UNREAD = """
import ndpstack
PORT = 4000
pair = ndpstack.memory_pair()
a, b = pair.__enter__()
server, client = ndpstack.HomaSocket(a), ndpstack.HomaSocket(b)
server.bind(PORT)
calls = [client.start((a.address, PORT), bytes(size)) for size in (10, 10_000, 10, 10_000)]
rpcs = [server.recv() for _ in calls]
views = [rpc.data for rpc in rpcs[:2]]
for socket in (server, client):
    socket.close()
del pair, a, b, server, client, socket
"""


def test_exit_with_requests_that_nobody_read() -> None:
    """What goes with its stack, in whatever order, does no harm."""
    done = run(UNREAD)
    assert done.returncode == 0, done.stderr


def test_exit_without_closing_anything() -> None:
    code = "import ndpstack; pair = ndpstack.memory_pair(); a, b = pair.__enter__(); print(a.name)"
    done = run(code)
    assert done.returncode == 0, done.stderr


UNCLOSED = """
import asyncio, ndpstack
from ndpstack import aio
pair = ndpstack.memory_pair()
a, b = pair.__enter__()
async def open_one():
    return aio.HomaSocket(b)
loop = asyncio.new_event_loop()
socket = loop.run_until_complete(open_one())
socket.itself = socket
"""


def test_exit_without_closing_a_loop_s_socket() -> None:
    """Its destructor finds the loop going with it, and still says what was not closed."""
    done = run(UNCLOSED)
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr


IMPORTED = "import sys, ndpstack; print(*sorted(m for m in sys.modules if '.' not in m))"


def test_import_brings_in_little() -> None:
    """An import that takes little time, counted in modules instead of on a clock."""
    modules = set(run(IMPORTED).stdout.split())
    heavy = {
        "asyncio", "cffi", "_cffi_backend", "numpy", "msgpack", "pyroute2", "matplotlib", "ssl",
        "socket", "inspect", "logging", "dataclasses",
    }  # fmt: skip
    assert not modules & heavy
    bare = set(run("import sys; print(*(m for m in sys.modules if '.' not in m))").stdout.split())
    assert len(modules - bare) < 30


@pytest.mark.timed
def test_import_is_quick() -> None:
    """The import alone, at its best of several: what else runs here is not its fault."""
    code = "import time; t = time.perf_counter(); import ndpstack; print(time.perf_counter() - t)"
    check_time(min(float(run(code).stdout) for _ in range(7)), 0.15)


SOCKETS = "import sys; from ndpstack import HomaSocket, Stack; print(*sys.modules)"


def test_sockets_do_without_asyncio_and_msgpack() -> None:
    modules = set(run(SOCKETS).stdout.split())
    assert not modules & {"asyncio", "msgpack", "numpy", "pyroute2"}


def test_memory_stays_flat_over_many_calls(pair: Pair) -> None:
    """T39: many requests of both sizes leave nothing in Python's memory or the stack's."""
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        server = (pair[1].peer(pair[0].address), PORT)

        def ask(count: int) -> None:
            for i in range(count):
                client.request(server, bytes(20_000 if i % 10 == 0 else 64), timeout=20)

        ask(500)
        tracemalloc.start()
        try:
            ask(200)
            before = tracemalloc.get_traced_memory()[0]
            ask(CALLS)
            after = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        assert after - before < 50_000
        assert pair[1].held == 0
        assert not pair[1].dispatcher.by_call
        assert not pair[1].dispatcher.by_key


@pytest.mark.timed
def test_a_hundred_thousand_calls_take_two_seconds(pair: Pair) -> None:
    """T36: at the rate of the best of ten parts, since what else runs here is not their fault."""
    count = 1000
    parts = []
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        server = (pair[1].peer(pair[0].address), PORT)
        for _ in range(10):
            begin = time.monotonic()
            for _ in range(count):
                client.request(server, b"x", timeout=20)
            parts.append(time.monotonic() - begin)
    check_time(min(parts) * 100_000 / count, 2.0)


SERVER = """
import ndpstack, sys
config = ndpstack.StackConfig(
    name=sys.argv[1], backend="memory", address="10.0.0.1", listen=True, service=sys.argv[1] + "s"
)
with ndpstack.Stack(config) as stack, ndpstack.HomaSocket(stack) as server:
    server.bind(4000)
    print("ready", flush=True)
    for rpc in server:
        rpc.reply(rpc.data)
"""


@pytest.fixture
def service() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Another process whose core others attach to, and the name of its link."""
    name = f"test-process-{os.getpid()}-{time.monotonic_ns()}"
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, name], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process, name
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_between_processes(service: tuple[subprocess.Popen[str], str]) -> None:
    config = ndpstack.StackConfig(name=service[1], backend="memory", address="10.0.0.2")
    with ndpstack.Stack(config) as stack, ndpstack.HomaSocket(stack) as client:
        assert bytes(client.request(("10.0.0.1", 4000), b"hello", timeout=10)) == b"hello"


def test_an_attached_application_hears_of_its_core_s_end(
    service: tuple[subprocess.Popen[str], str],
) -> None:
    """T4: kill -9 of the core while an application waits is an error with a remedy, at once."""
    with ndpstack.Stack.attach(service[1] + "s") as stack, ndpstack.HomaSocket(stack) as socket:
        assert stack.address == "10.0.0.1"
        socket.bind(4001)
        with pytest.raises(errors.NdpError, match="another process"):
            stack.share()
        timer = threading.Timer(0.1, service[0].kill)
        timer.start()
        with pytest.raises(errors.StackGone, match="attach again"):
            socket.recv(timeout=10)
        timer.join()
        with pytest.raises(errors.StackGone):
            socket.request(("10.0.0.2", 1), b"x", timeout=1)


def test_a_service_that_is_not_there_is_named() -> None:
    with pytest.raises(errors.NdpError, match="nowhere-at-all"):
        ndpstack.Stack.attach("nowhere-at-all")
