"""A stack that has had nothing to do for a while."""

from __future__ import annotations

import time
from statistics import quantiles

import pytest
from served import PORT, served
from timed import check_time

import ndpstack

Pair = tuple[ndpstack.Stack, ndpstack.Stack]

IDLE_SECONDS = 0.01
"""Long enough for every thread on the way to have gone to sleep."""


@pytest.mark.timed
def test_the_first_request_after_a_pause_is_as_quick_as_any(pair: Pair) -> None:
    """T14: waking an idle host, and its peer, takes no tick of any clock."""
    with served(pair[0]), ndpstack.HomaSocket(pair[1]) as client:
        taken = []
        for number in range(200):
            time.sleep(IDLE_SECONDS)
            began = time.perf_counter()
            data = number.to_bytes(4)
            assert bytes(client.request((pair[0].address, PORT), data, timeout=20)) == data
            taken.append(time.perf_counter() - began)
    p99 = quantiles(taken, n=100)[-1]
    check_time(p99, 0.001)
