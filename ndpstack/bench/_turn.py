"""One turn of one contestant: what it is told, what it answers, and what it must be able to do."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

WARM_UP_SHARE = 10
"""A tenth as many requests go before those that count, at least."""

WARM_UP_SECONDS = 0.25
"""They go for so long, at least: new processes often share one CPU for a tenth of a second, until
the kernel's scheduler has spread them."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What both processes of a turn are told."""

    kind: str
    """latency, throughput or rpc."""
    contestant: str
    request_bytes: int
    reply_bytes: int
    count: int
    """Requests that are timed."""
    outstanding: int
    """How many wait for their reply at once."""
    world: str
    """netns or memory."""
    link: str
    """The interface (netns), or the name of the link in memory."""
    server: str
    """IP address for ours."""
    client: str
    """Likewise."""
    kernel: str
    """The server's IP address for those that use the kernel."""
    mtu: int
    """Of the link between the two."""
    port: int = 0
    """The server's, once it is known."""

    @property
    def warm_up(self) -> int:
        """Requests before those that are timed; more of them until WARM_UP_SECONDS are over."""
        return max(self.outstanding, self.count // WARM_UP_SHARE)

    @property
    def request(self) -> bytes:
        """A request's bytes."""
        return bytes(self.request_bytes)

    @property
    def reply(self) -> bytes:
        """A reply's bytes."""
        return bytes(self.reply_bytes)

    def dumps(self) -> str:
        """As text, for another process."""
        return json.dumps(asdict(self))

    @staticmethod
    def loads(text: str) -> Turn:
        """From that text."""
        return Turn(**json.loads(text))


@dataclass(frozen=True)
class Sample:
    """What a client measured."""

    seconds: float
    """From the first timed request to the last reply."""
    latencies_us: list[float]
    """Of each request."""
    mode: str = ""
    """Of a port: "xdp generic copy"."""


class Contestant(Protocol):
    """One way to ask and answer over a network."""

    def serve(self, turn: Turn, ready: Callable[[int], None]) -> None:
        """Answers for ever; tells its port once it can be reached."""

    def measure(self, turn: Turn) -> Sample:
        """Asks as often as it is told."""


def ask_in_turn(turn: Turn, ask: Callable[[], None], mode: str = "") -> Sample:
    """Times a blocking request again and again."""
    now = time.perf_counter
    end, asked = now() + WARM_UP_SECONDS, 0
    while asked < turn.warm_up or now() < end:
        ask()
        asked += 1
    latencies = []
    began = before = now()
    for _ in range(turn.count):
        ask()
        after = now()
        latencies.append((after - before) * 1e6)
        before = after
    return Sample(before - began, latencies, mode)
