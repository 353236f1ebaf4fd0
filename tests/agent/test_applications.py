"""The applications of a run on a clock: what the simulator's do, they do."""

from __future__ import annotations

import errno
from collections import deque
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from ndpstack._core import lib
from ndpstack.agent._applications import Applications
from ndpstack.agent._carrier import Content
from ndpstack.scenario import parse_scenario
from ndpstack.sim._plan import Plan
from ndpstack.sim._traffic import Flows

if TYPE_CHECKING:
    from ndpstack.agent._carrier import Carrier

SCENARIO = """
[topology]
kind = "single-switch"
hosts = 4
[switch.queue]
discipline = "strict"
[transport.homa]
[[traffic]]
kind = "incast"
senders = 3
size = "10KB"
repeat = 2
every = "1ms"
"""


class Wire:
    """A carrier that carries when it is told to, and refuses the flows that it is told to."""

    message_bytes_max = 4000

    def __init__(self, *, answers: bool = False) -> None:
        self.answers = answers
        self.sent: deque[tuple[int, int]] = deque()
        self.replies: list[tuple[int, int]] = []
        self.finished: list[int] = []
        self.refused: set[int] = set()

    def open(self, flow: int) -> None:
        if flow in self.refused:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "refused")

    def send(self, flow: int, size: int) -> None:
        self.sent.append((flow, size))

    def reply(self, flow: int, size: int, answer: object) -> None:
        del answer
        self.replies.append((flow, size))

    def finish(self, flow: int) -> None:
        self.finished.append(flow)


class Bench:
    """Applications on a clock that the test moves."""

    def __init__(self, *overrides: str, answers: bool = False) -> None:
        self.now = 0
        self.wire = Wire(answers=answers)
        traffic = Plan(parse_scenario(SCENARIO, overrides=overrides).scenario).traffic
        self.applications = Applications(
            Flows(traffic.flows, traffic.triggers), [cast("Carrier", self.wire)], lambda: self.now
        )

    def carry(self) -> None:
        """Everything that is on its way arrives and is acknowledged."""
        while self.wire.sent:
            flow, size = self.wire.sent.popleft()
            self.applications.arrived(flow, size, None)
            self.applications.ended(flow)

    def states(self) -> list[int]:
        self.applications.close()
        found: list[int] = self.applications.rows["state"].tolist()
        return found


def test_flows_start_when_their_time_has_come_and_count_from_then() -> None:
    bench = Bench()
    assert bench.applications.next_start_ns == 0
    bench.now = 300
    bench.applications.start_due()
    assert bench.applications.next_start_ns == 1_000_000
    bench.carry()
    bench.now = 1_000_000
    bench.applications.start_due()
    bench.now = 1_500_000
    bench.carry()
    rows = bench.applications.rows
    assert rows["start_ps"].tolist() == [0] * 3 + [10**9] * 3
    assert rows["received_ps"].tolist() == [300_000] * 3 + [1_500_000_000] * 3
    assert bench.applications.lateness_ns == [300] * 3 + [0] * 3
    assert bench.states() == [lib.ND_FLOW_DONE] * 6
    assert bench.applications.unfinished == 0


def test_a_long_flow_is_cut_and_never_has_more_than_two_messages_out() -> None:
    bench = Bench("traffic.0.repeat=1", "traffic.0.senders=1")
    bench.applications.start_due()
    assert list(bench.wire.sent) == [(0, 4000), (0, 4000)]
    assert bench.wire.finished == []
    bench.applications.arrived(0, 4000, None)
    bench.applications.ended(0)
    assert list(bench.wire.sent) == [(0, 4000), (0, 4000), (0, 2000)]
    assert bench.wire.finished == [0], "said with the last message"
    bench.wire.sent.popleft()
    bench.carry()
    assert bench.states() == [lib.ND_FLOW_DONE]
    assert bench.applications.rows["payload_bytes"].tolist() == [10_000]


def test_flows_of_the_background_are_what_is_left_where_there_are_no_others() -> None:
    bench = Bench("traffic.0.repeat=1", "traffic.0.background=true")
    assert (bench.applications.waits, bench.applications.left) == (False, 3)
    bench.applications.start_due()
    bench.carry()
    assert bench.applications.left == 0
    assert Bench().applications.left == 6


def test_a_flow_without_an_end_goes_on_by_messages_that_can_be_counted() -> None:
    bench = Bench("traffic.0={kind='flow', source=0, target=1, size='endless'}", "duration=1s")
    bench.wire.message_bytes_max = 1 << 24
    bench.applications.start_due()
    for _ in range(3):
        assert list(bench.wire.sent) == [(0, 1 << 20)] * 2
        bench.wire.sent.popleft()
        bench.applications.arrived(0, 1 << 20, None)
        bench.applications.ended(0)
    assert bench.applications.rows["payload_bytes"].tolist() == [3 << 20]
    assert bench.applications.left == 1


def test_a_request_is_done_when_its_reply_is_back() -> None:
    bench = Bench("traffic.0.repeat=1", "traffic.0.senders=1", "traffic.0.reply=500B")
    bench.applications.start_due()
    bench.carry()
    assert bench.wire.replies == [(0, 500)], "once, when all of the request is there"
    assert bench.states() == [lib.ND_FLOW_RECEIVED]
    bench.now = 77
    bench.applications.replied(0)
    assert bench.states() == [lib.ND_FLOW_DONE]
    assert bench.applications.rows["done_ps"].tolist() == [77_000]


def test_rpcs_are_answered_one_by_one() -> None:
    bench = Bench("traffic.0.repeat=1", "traffic.0.senders=1", answers=True)
    bench.applications.start_due()
    bench.carry()
    assert bench.wire.replies == [(0, 0)] * 3
    assert bench.states() == [lib.ND_FLOW_DONE]


def test_a_refused_flow_has_failed_and_the_others_go_on() -> None:
    bench = Bench("traffic.0.repeat=1")
    bench.wire.refused.add(1)
    bench.applications.start_due()
    bench.carry()
    assert bench.states() == [lib.ND_FLOW_DONE, lib.ND_FLOW_FAILED, lib.ND_FLOW_DONE]
    assert bench.applications.rows["error"][1] == -errno.ECONNREFUSED
    assert bench.applications.unfinished == 0
    bench.applications.failed(1, -errno.EIO)
    assert bench.applications.rows["error"][1] == -errno.ECONNREFUSED, "the first reason stays"


def test_chains_go_on_when_their_trigger_is_released() -> None:
    chain = """
[topology]
kind = "single-switch"
hosts = 3
[switch.queue]
discipline = "strict"
[transport.homa]
[[traffic]]
kind = "closed-loop"
sizes = "1KB"
rounds = 2
"""
    traffic = Plan(parse_scenario(chain).scenario).traffic
    wire = Wire()
    now = 0
    applications = Applications(traffic, [cast("Carrier", wire)], lambda: now)
    applications.start_due()
    first = {flow for flow, _ in wire.sent}
    assert len(first) == 3
    now = 5_000
    while wire.sent:
        flow, size = wire.sent.popleft()
        applications.arrived(flow, size, None)
        applications.ended(flow)
        applications.start_due()
    assert applications.unfinished == 0
    later = sorted(set(range(6)) - first)
    assert (applications.rows["start_ps"][later] == 5_000_000).all()


@pytest.mark.parametrize("size", [0, 4, 5, 300, 5000])
def test_every_spoiled_byte_is_seen(size: int) -> None:
    content = Content(5000)
    message = bytearray(content.make(1234, size))
    assert len(message) == max(size, 4)
    assert Content.flow_of(memoryview(message)) == 1234
    assert content.is_whole(memoryview(message))
    rng = np.random.default_rng(size)
    for place in rng.integers(4, size, 20) if size > 4 else ():
        message[place] ^= 1
        assert not content.is_whole(memoryview(message))
        message[place] ^= 1
