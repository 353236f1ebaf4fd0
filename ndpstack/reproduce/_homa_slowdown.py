"""Slowdown by message size, and what delays the tail: figures 12 to 14 of the Homa paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ndpstack.reproduce._experiment import Check, Effort, Figure, Line, Outcome
from ndpstack.reproduce._homa_runs import (
    LOADS,
    SAMPLES_MIN,
    Slowdowns,
    run,
    settled,
    slowdowns,
)
from ndpstack.reproduce._published import SizeBin, homa_slowdown

if TYPE_CHECKING:
    from numpy.typing import NDArray


SETTLES_SOON = 0.6
"""Below this load the backlog of long messages does not grow for long."""


@dataclass(frozen=True)
class Decile:
    """Mean and tail of a tenth of the messages, the paper's and ours."""

    size_max: int
    paper_mean: float
    paper_p99: float
    mean: float
    p99: float


def _compare(bins: list[SizeBin], found: Slowdowns) -> list[Decile]:
    """Both curves by tenths of the messages: what each bin says, weighted by its share."""
    deciles: list[Decile] = []
    below = 0
    share = 0.0
    part: list[tuple[float, SizeBin, float, float]] = []
    for size_bin in bins:
        inside = found.slowdown[(found.sizes > below) & (found.sizes <= size_bin.size_max)]
        below = size_bin.size_max
        share += size_bin.share
        if len(inside) >= SAMPLES_MIN:
            tail = float(np.percentile(inside, 99))
            part.append((size_bin.share, size_bin, float(inside.mean()), tail))
        if share >= 0.1 * (len(deciles) + 1) - 1e-9 and part:
            weight = sum(item[0] for item in part)
            deciles.append(
                Decile(
                    size_bin.size_max,
                    sum(w * b.mean for w, b, _, _ in part) / weight,
                    sum(w * b.p99 for w, b, _, _ in part) / weight,
                    sum(w * mean for w, _, mean, _ in part) / weight,
                    sum(w * tail for w, _, _, tail in part) / weight,
                )
            )
            part = []
    return deciles


def _curve(name: str, share: float, bins: list[SizeBin], deciles: list[Decile]) -> Figure:
    sizes = [float(size_bin.size_max) for size_bin in bins]
    ours = [float(decile.size_max) for decile in deciles]
    return Figure(
        f"{name.upper()} at {share:.0%}: slowdown by message size",
        "message size [B]",
        "slowdown",
        [
            Line("p99, paper", sizes, [size_bin.p99 for size_bin in bins], published=True),
            Line("mean, paper", sizes, [size_bin.mean for size_bin in bins], published=True),
            Line("p99", ours, [decile.p99 for decile in deciles]),
            Line("mean", ours, [decile.mean for decile in deciles]),
        ],
        x_log=True,
        y_log=True,
    )


def slowdown_at(share: float, effort: Effort, outcome: Outcome) -> None:
    """The curves of figure 12 (tail) and 13 (mean) at one load."""
    for name in effort.choose(("w1", "w2", "w3"), tuple(LOADS)):
        load = LOADS[name] if share < SETTLES_SOON else settled(name)
        found = slowdowns(run(outcome, load, share, effort))
        bins = homa_slowdown("Homa", name, share)
        deciles = _compare(bins, found)
        outcome.figures.append(_curve(name, share, bins, deciles))
        mean = np.array([decile.mean / decile.paper_mean for decile in deciles])
        tail = np.array([decile.p99 / decile.paper_p99 for decile in deciles])
        label = f"{name.upper()} at {share:.0%}"
        outcome.checks += [
            Check(
                f"{label}: p99 of the shortest half",
                "<= 2.2",
                found.shortest(0.5).percentile(99),
                high=2.2,
            ),
            Check(f"{label}: mean, worst decile, ours / paper", "1", _worst(mean), 0.85, 1.15),
            Check(f"{label}: p99, worst decile, ours / paper", "1", _worst(tail), 0.85, 1.15),
        ]


def _worst(ratios: NDArray[np.float64]) -> float:
    return float(ratios[np.argmax(np.abs(np.log(ratios)))])


# ---- E-H07: where the tail comes from ----


def tail_causes(effort: Effort, outcome: Outcome) -> None:
    """Of the delay at the 99th percentile of short messages, what preemption lag makes."""
    for name in effort.choose(("w3",), ("w1", "w2", "w3", "w4")):
        simulation = run(outcome, LOADS[name], 0.8, effort, "probes.delays=true")
        found = slowdowns(simulation).shortest(0.2)
        limit = found.percentile(98)
        at_tail = found.rows[(found.slowdown >= limit) & (found.slowdown <= found.percentile(99.5))]
        lag = float(simulation.rows["lag_ns"][at_tail].sum())
        wait = float(simulation.rows["wait_ns"][at_tail].sum())
        outcome.checks.append(
            Check(
                f"{name.upper()}: preemption lag, share of the waiting at p98-p99.5",
                "almost all",
                lag / wait,
                low=0.8,
            )
        )
