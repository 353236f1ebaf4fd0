"""What a service's methods have done: numbers of one method, added up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Metrics:
    """What a method has done since the service began. A stream is one call, from first to last."""

    calls: int = 0
    """Calls that ended, of whatever sort."""
    errors: int = 0
    """Calls that raised."""
    cancelled: int = 0
    """Calls whose client gave up or left the stream, or whose deadline passed."""
    active: int = 0
    """Calls that run now, and streams that are open."""
    seconds: float = 0.0
    """Time that all calls took together; of a stream, while its client waited for a value."""
    seconds_max: float = 0.0
    """Time that the longest call took."""
    request_bytes: int = 0
    """Bytes of all requests."""
    reply_bytes: int = 0
    """Bytes of all replies but errors."""


def count_end(metrics: Metrics, seconds: float) -> None:
    """A call has ended, after so long."""
    metrics.active -= 1
    metrics.calls += 1
    metrics.seconds += seconds
    metrics.seconds_max = max(metrics.seconds_max, seconds)
