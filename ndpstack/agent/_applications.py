"""The applications of a run: they start flows on time, answer, and note what became of each.

This is the simulator's application (csrc/sim/app.c) on a clock: the same flows and triggers go in,
and the same rows come out.
"""

from __future__ import annotations

import errno
import heapq
from typing import TYPE_CHECKING

import numpy as np

from ndpstack._core import lib
from ndpstack.agent._carrier import MARK_BYTES, NEVER
from ndpstack.sim._arrays import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ndpstack.agent._carrier import Carrier
    from ndpstack.sim._traffic import Flows

MESSAGES_QUEUED = 2
"""Of a flow at once: one is always queued behind the one being sent."""

ENDLESS_BYTES = 1 << 20
"""Of a message of a flow without an end: what arrived is counted by messages."""

PS_PER_NS = 1000
_STARTED, _RECEIVED = lib.ND_FLOW_STARTED, lib.ND_FLOW_RECEIVED
_DONE, _FAILED = lib.ND_FLOW_DONE, lib.ND_FLOW_FAILED


class Applications:
    """All applications of all hosts.

    Args:
        traffic: Flows and triggers.
        carriers: By index of the flow's engine.
        clock: Nanoseconds since the run began.
    """

    def __init__(self, traffic: Flows, carriers: list[Carrier], clock: Callable[[], int]) -> None:
        self.flows = traffic.flows
        self.rows: NDArray[np.void] = np.zeros(len(self.flows), record("nd_flow_row"))
        for name in ("start_ps", "first_ps", "received_ps", "done_ps"):
            self.rows[name] = NEVER
        self.lateness_ns: list[int] = []
        self._carriers = carriers
        self._clock = clock
        # Plain lists: a numpy scalar costs more than all else that is done for a message.
        self._size = [int(size) for size in self.flows["bytes"]]
        self._engine = self.flows["engine"].tolist()
        self._echo = (self.flows["kind"] == lib.ND_FLOW_ECHO).tolist()
        self._state = [lib.ND_FLOW_WAITING] * len(self.flows)
        self._unsent = [self._first_size(size) for size in self._size]
        self._unreceived = list(self._unsent)
        self._messages = [0] * len(self.flows)
        self._needs = traffic.triggers["needs"].tolist()
        self._waiting: dict[int, list[int]] = {}
        self._due: list[tuple[int, int]] = []
        for flow, (start, trigger) in enumerate(
            zip(self.flows["start_ps"].tolist(), self.flows["starts_on"].tolist(), strict=True)
        ):
            if trigger == lib.ND_NONE:
                self._due.append((start // PS_PER_NS, flow))
            else:
                self._waiting.setdefault(trigger, []).append(flow)
        heapq.heapify(self._due)
        self.unfinished = int(np.count_nonzero(self.flows["background"] == 0))
        self.waits = self.unfinished > 0
        """Whether the run ends with some flows; else it goes on for those of the background."""
        self._unended = len(self.flows)

    @staticmethod
    def _first_size(size: int) -> int:
        return size if size == lib.ND_FLOW_ENDLESS else max(size, MARK_BYTES)

    @property
    def next_start_ns(self) -> int | None:
        """When the next flow starts, if one is known to."""
        return self._due[0][0] if self._due else None

    @property
    def left(self) -> int:
        """Flows that the run lasts for."""
        return self.unfinished if self.waits else self._unended

    def start_due(self) -> None:
        """Starts all flows whose time has come."""
        while self._due and self._due[0][0] <= self._clock():
            planned, flow = heapq.heappop(self._due)
            self.lateness_ns.append(self._clock() - planned)
            self._start(flow, planned)

    def _start(self, flow: int, planned: int) -> None:
        """Time counts from when it should have begun: being late is no excuse."""
        self.rows["start_ps"][flow] = planned * PS_PER_NS
        self._state[flow] = _STARTED
        try:
            self._carriers[self._engine[flow]].open(flow)
        except OSError as error:
            self.failed(flow, -(error.errno or errno.EIO))
            return
        self._send_more(flow)

    def _send_more(self, flow: int) -> None:
        carrier = self._carriers[self._engine[flow]]
        while self._messages[flow] < MESSAGES_QUEUED and self._unsent[flow]:
            size = min(self._unsent[flow], carrier.message_bytes_max)
            if self._size[flow] == lib.ND_FLOW_ENDLESS:
                size = min(size, ENDLESS_BYTES)
            try:
                carrier.send(flow, size)
            except OSError as error:
                self.failed(flow, -(error.errno or errno.EIO))
                return
            if self._size[flow] != lib.ND_FLOW_ENDLESS:
                self._unsent[flow] -= size
            self._messages[flow] += 1
        if not self._unsent[flow] and not self._echo[flow]:
            carrier.finish(flow)  # now, so that the last packet can say so

    def arrived(self, flow: int, size: int, answer: object) -> None:
        """A message of a flow is at its target."""
        self.rows["payload_bytes"][flow] += size
        carrier = self._carriers[self._engine[flow]]
        if self._size[flow] != lib.ND_FLOW_ENDLESS:
            self._unreceived[flow] -= size
        whole = self._unreceived[flow] == 0
        if carrier.answers or (whole and self._echo[flow]):
            reply = int(self.flows["reply_bytes"][flow]) if self._echo[flow] else 0
            try:
                carrier.reply(flow, reply, answer)
            except OSError as error:
                self.failed(flow, -(error.errno or errno.EIO))
                return
        if whole and self._state[flow] == _STARTED:
            self._state[flow] = _RECEIVED
            self.rows["received_ps"][flow] = self._clock() * PS_PER_NS
            self._release(int(self.flows["on_received"][flow]))
            self._settle(flow)

    def replied(self, flow: int) -> None:
        """The reply is back at the source."""
        if self._state[flow] == _RECEIVED:
            self._done(flow)

    def ended(self, flow: int) -> None:
        """The source knows that a message has arrived."""
        self._messages[flow] -= 1
        self._send_more(flow)
        self._settle(flow)

    def _settle(self, flow: int) -> None:
        """Done once the target has all and the source has nothing left to do."""
        if self._messages[flow] or self._unsent[flow] or self._state[flow] != _RECEIVED:
            return
        if not self._echo[flow] or self._carriers[self._engine[flow]].answers:
            self._done(flow)

    def _done(self, flow: int) -> None:
        self._state[flow] = _DONE
        self.rows["done_ps"][flow] = self._clock() * PS_PER_NS
        self._finish(flow)
        self._release(int(self.flows["on_sent"][flow]))

    def failed(self, flow: int, error: int) -> None:
        """A message of the flow is lost for good."""
        if self._state[flow] in (_DONE, _FAILED):
            return
        self._state[flow] = _FAILED
        self.rows["error"][flow] = error
        self._finish(flow)

    def _finish(self, flow: int) -> None:
        self._unended -= 1
        if not self.flows["background"][flow]:
            self.unfinished -= 1
        self._carriers[self._engine[flow]].finish(flow)

    def _release(self, trigger: int) -> None:
        if trigger == lib.ND_NONE or self._needs[trigger] == 0:
            return
        self._needs[trigger] -= 1
        if self._needs[trigger]:
            return
        now = self._clock()
        for flow in self._waiting.get(trigger, []):
            start = int(self.flows["start_ps"][flow]) // PS_PER_NS
            heapq.heappush(self._due, (now + start, flow))

    def close(self) -> None:
        """Writes the states into the rows."""
        self.rows["state"] = self._state
