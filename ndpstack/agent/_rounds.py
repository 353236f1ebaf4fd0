"""Incasts again and again, told by their size: when was the last flow of each round there?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ndpstack.sim import completion_ps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ndpstack.sim import Run


@dataclass(frozen=True)
class Rounds:
    """All rounds of one size. Times are of the last flow of a round, in milliseconds."""

    size: int
    senders: int
    rounds: int
    unfinished: int
    """Rounds with a flow that did not end."""
    optimum_ms: float
    """All packets back to back on the last link, and one idle trip through the network."""
    median_ms: float
    p90_ms: float

    @property
    def over_optimum(self) -> float:
        """Median over optimum."""
        return self.median_ms / self.optimum_ms


def incast_rounds(run: Run) -> list[Rounds]:
    """The incasts of a run by size. Flows that start alone measure the idle network."""
    flows = run.flows
    times = completion_ps(flows, run.rows) / 1e9
    groups: dict[tuple[int, int], list[int]] = {}
    for index, (start, size) in enumerate(
        zip(flows["start_ps"].tolist(), flows["bytes"].tolist(), strict=True)
    ):
        groups.setdefault((start, size), []).append(index)
    alone = [times[group[0]] for group in groups.values() if len(group) == 1]
    idle_ms = float(np.nanmedian(alone)) if alone else 0.0
    sizes = sorted({size for (_, size), group in groups.items() if len(group) > 1})
    return [
        _of_size(run, size, idle_ms, [times[g] for (_, s), g in groups.items() if s == size])
        for size in sizes
    ]


def _of_size(run: Run, size: int, idle_ms: float, rounds: list[NDArray[np.float64]]) -> Rounds:
    wire = next(iter(run.plan.engines.values())).sizes
    packets = -(-size // wire.payload_bytes_max)
    senders = len(rounds[0])
    bits = 8 * senders * (size + packets * wire.overhead_bytes)
    last = np.array([times.max() for times in rounds])
    ended = last[~np.isnan(last)]
    median, p90 = np.percentile(ended, [50, 90]) if len(ended) else (np.nan, np.nan)
    return Rounds(
        size,
        senders,
        len(rounds),
        len(rounds) - len(ended),
        bits * 1e3 / run.plan.host_rate + idle_ms,
        float(median),
        float(p90),
    )
