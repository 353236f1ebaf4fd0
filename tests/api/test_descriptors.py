"""What a stack and its sockets give to poll(2): whose it is, and until when it is open."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from loops import LOOPS, run
from served import PORT, served

import ndpstack
from ndpstack import aio, errors

if TYPE_CHECKING:
    from collections.abc import Iterator

Pair = tuple[ndpstack.Stack, ndpstack.Stack]

BESIDE_CLOSE = """
import os, threading, ndpstack

def watch(stack, begun):
    try:
        with ndpstack.HomaSocket(stack) as socket:
            socket.bind(4000)
            while True:
                socket.fileno()
                socket._stop_polling()
                socket._poll = None
                begun.set()
    except ndpstack.errors.Closed:
        pass

for _ in range(20):
    config = ndpstack.StackConfig(
        name=f"beside-close-{os.getpid()}", backend="memory", address="10.0.0.1", listen=True,
        visible=False,
    )
    stack, begun = ndpstack.Stack(config), threading.Event()
    thread = threading.Thread(target=watch, args=(stack, begun))
    thread.start()
    begun.wait()
    stack.close(drain=0)
    thread.join()
print("sound")
"""


@contextmanager
def none_left() -> Iterator[None]:
    """No descriptor can be opened."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def open_now() -> set[str]:
    """Descriptors of this process."""
    return set(os.listdir("/proc/self/fd"))


def test_it_is_whose_who_asked(pair: Pair) -> None:
    """A number that the stack closed would be that of another file next."""
    dispatcher = pair[1].dispatcher
    mine = [dispatcher.raw_descriptor() for _ in range(2)]
    pair[1].close()
    assert mine[0] != mine[1]
    for descriptor in mine:
        assert not os.get_inheritable(descriptor)
        os.close(descriptor)
    with pytest.raises(errors.Closed):
        dispatcher.raw_descriptor()


def test_a_stack_closes_beside_those_who_ask() -> None:
    """Whoever asks holds the stack, or finds it closed."""
    done = subprocess.run(
        [sys.executable, "-c", BESIDE_CLOSE], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("sound\n", 0), done.stderr


def test_sockets_give_theirs_back(pair: Pair) -> None:
    before = open_now()
    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.NdpSocket(pair[0]) as listener:
        server.bind(PORT)
        listener.bind(PORT)
        listener.listen()
        for socket in (server, listener):
            assert socket.fileno() == socket.fileno()
        assert len(open_now()) == len(before) + 6
    assert open_now() == before


@pytest.mark.parametrize("kind", LOOPS)
def test_loops_give_theirs_back(kind: str, pair: Pair) -> None:
    async def main() -> None:
        before = open_now()
        async with aio.HomaSocket(pair[1]):
            assert len(open_now()) == len(before) + 1
            await asyncio.sleep(0)
        assert open_now() == before

    run(kind, main())


def test_a_socket_for_which_there_is_none(pair: Pair) -> None:
    """It can be asked again."""
    with ndpstack.HomaSocket(pair[1]) as socket:
        socket.bind(PORT)
        with none_left(), pytest.raises(errors.NdpError, match="cannot watch the stack"):
            socket.fileno()
        assert socket.fileno() >= 0


@pytest.mark.parametrize("kind", LOOPS)
def test_a_loop_for_which_there_is_none(kind: str, pair: Pair) -> None:
    """The next socket that is opened there works."""

    async def main() -> None:
        with none_left(), pytest.raises(errors.NdpError, match="cannot watch the stack"):
            aio.HomaSocket(pair[1])
        async with aio.HomaSocket(pair[1]) as client:
            assert bytes(await client.request((pair[0].address, PORT), b"x")) == b"x"

    with served(pair[0]):
        run(kind, main())
