"""How often Python is at work: for messages, never for packets."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from served import PORT, served

import ndpstack

if TYPE_CHECKING:
    from types import FrameType

Pair = tuple[ndpstack.Stack, ndpstack.Stack]


def calls_of(client: ndpstack.HomaSocket, server: tuple[str, int], data: bytes) -> int:
    """Python and C functions called in this thread for one request."""
    called = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal called
        called += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        client.request(server, data, timeout=30)
    finally:
        sys.setprofile(None)
    return called


@pytest.mark.parametrize("size", [100_000, 1_000_000])
def test_a_request_costs_python_no_more_when_it_has_more_packets(pair: Pair, size: int) -> None:
    """T54: the fewest calls of several count, since each wake-up for another's event adds some."""
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        server = (pair[0].address, PORT)
        small = min(calls_of(client, server, b"x") for _ in range(10))
        large = min(calls_of(client, server, bytes(size)) for _ in range(10))
    assert small > 0
    assert large < small + 20
