"""What carries messages between hosts, as the applications of a run see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ndpstack._core import lib

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

NEVER = lib.ND_FLOW_NEVER
"""A time that does not come, for commands as well as in rows."""

MARK_BYTES = 4
"""Every message begins with its flow, so no message is shorter."""

_PERIOD = 251
"""Of the bytes that follow: a prime, so that shifted and swapped packets show."""


class Content:
    """What messages hold: the flow they belong to, and bytes that the other end can check."""

    def __init__(self, bytes_max: int) -> None:
        repeats = bytes_max // _PERIOD + 2
        self._pattern = bytes(range(_PERIOD)) * repeats

    def make(self, flow: int, size: int) -> bytes:
        """A message of the flow."""
        start = flow % _PERIOD
        rest = max(0, size - MARK_BYTES)
        return flow.to_bytes(MARK_BYTES, "little") + self._pattern[start : start + rest]

    @staticmethod
    def flow_of(message: memoryview) -> int:
        """The flow of a message that arrived."""
        return int.from_bytes(message[:MARK_BYTES], "little")

    def is_whole(self, message: memoryview) -> bool:
        """Whether every byte is what was sent."""
        start = self.flow_of(message) % _PERIOD
        return bool(
            message[MARK_BYTES:] == self._pattern[start : start + len(message) - MARK_BYTES]
        )


class Applications(Protocol):
    """Those that a carrier tells what has happened."""

    def arrived(self, flow: int, size: int, answer: object) -> None:
        """A message of a flow is at its target; `answer` is for `Carrier.reply`."""

    def replied(self, flow: int) -> None:
        """The reply is back at the source."""

    def ended(self, flow: int) -> None:
        """The source knows that a message has arrived."""

    def failed(self, flow: int, error: int) -> None:
        """A message of the flow is lost for good; a negative errno says why."""


class Carrier(Protocol):
    """A way to carry messages. Its methods raise OSError when it refuses."""

    message_bytes_max: int
    """Longest message; longer flows are sent as several."""

    answers: bool
    """Every message has a reply, be it an empty one (RPCs)."""

    def open(self, flow: int) -> None:
        """The flow begins."""

    def send(self, flow: int, size: int) -> None:
        """The source sends a message of the flow."""

    def reply(self, flow: int, size: int, answer: object) -> None:
        """The target replies to a message."""

    def finish(self, flow: int) -> None:
        """No further message of the flow will be given; may be called again."""


class Service(Protocol):
    """What runs carriers: the hosts behind them."""

    @property
    def carriers(self) -> list[Carrier]:
        """By index of the engine."""

    def serve(self, applications: Applications, timeout_s: float) -> None:
        """Waits for something to happen, no longer than timeout_s, and tells of all of it."""

    def counters(self) -> Mapping[str, tuple[list[str], NDArray[np.uint64]]]:
        """By protocol: names of its counters, and a row for each host."""

    def audit(self) -> str | None:
        """What is wrong inside, or None."""

    def conditions(self) -> Mapping[str, str]:
        """Under which it carries, in words."""

    def close(self) -> None:
        """Gives everything back; may be called again."""
