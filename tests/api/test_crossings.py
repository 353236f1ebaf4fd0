"""How often Python is at work: for messages, never for packets."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

import pytest
from served import PORT, served

import ndpstack

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

Pair = tuple[ndpstack.Stack, ndpstack.Stack]

REQUEST_CALLS_MAX = 28
SERVED_CALLS_MAX = 54
"""Calls of Python and C functions for one request, at either end: they only ever get fewer."""

TRIES = 200
"""On a loaded machine a thread is often woken for another's event, which costs some more."""


def counted(run: Callable[[], object]) -> int:
    """Python and C functions called in this thread while it runs, its own not counted."""
    called = -2

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal called
        called += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return called


def calls_of(client: ndpstack.HomaSocket, server: tuple[str, int], data: bytes) -> int:
    """Functions called for one request."""
    return counted(lambda: client.request(server, data, timeout=30))


def test_a_request_takes_few_calls(pair: Pair) -> None:
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        server = (pair[0].address, PORT)
        counts = (calls_of(client, server, b"x") for _ in range(TRIES))
        assert any(count <= REQUEST_CALLS_MAX for count in counts)


def test_serving_takes_few_calls(pair: Pair) -> None:
    counts: list[int] = []
    with ndpstack.HomaSocket(pair[0]) as server, ndpstack.HomaSocket(pair[1]) as client:
        server.bind(PORT)

        def answer() -> None:
            rpc = server.recv()
            rpc.reply(rpc.data)

        def serve() -> None:
            counts.extend(counted(answer) for _ in range(TRIES))

        thread = threading.Thread(target=serve)
        thread.start()
        for _ in range(TRIES):
            client.request((pair[0].address, PORT), b"x", timeout=30)
        thread.join(timeout=30)
        assert not thread.is_alive()
    assert min(counts) <= SERVED_CALLS_MAX


@pytest.mark.parametrize("size", [100_000, 1_000_000])
def test_a_request_costs_python_no_more_when_it_has_more_packets(pair: Pair, size: int) -> None:
    """T54: the fewest calls of several count, since each wake-up for another's event adds some."""
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        server = (pair[0].address, PORT)
        small = min(calls_of(client, server, bytes(5_000)) for _ in range(10))
        large = min(calls_of(client, server, bytes(size)) for _ in range(10))
    assert small > 0
    assert large < small + 20
