"""Slowdown by message size, and what delays the tail: figures 12 to 14 of the Homa paper."""

from __future__ import annotations

import math
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
    from collections.abc import Iterator, Sequence


SETTLES_SOON = 0.6
"""Below this load the backlog of long messages does not grow for long."""


@dataclass(frozen=True)
class Range:
    """Messages of adjacent sizes: what the paper's bins and our run say of them."""

    size_max: int
    share: float
    """Of all messages."""
    paper_mean: float
    paper_p99: float
    mean: float
    p99: float


def _weighted(pairs: Sequence[tuple[float, float]]) -> float:
    """The mean of values, each with its weight before it."""
    return sum(weight * value for weight, value in pairs) / sum(weight for weight, _ in pairs)


def _grouped(bins: Sequence[SizeBin], found: Slowdowns) -> Iterator[list[SizeBin]]:
    """The bins, as many together as hold enough messages of ours; what is left at the end too."""
    edges = [0, *(size_bin.size_max for size_bin in bins)]
    counts, _ = np.histogram(found.sizes, np.array(edges) + 0.5)
    group: list[SizeBin] = []
    have, left = 0, int(counts.sum())
    for size_bin, count in zip(bins, counts.tolist(), strict=True):
        group.append(size_bin)
        have, left = have + count, left - count
        if have >= SAMPLES_MIN and left >= SAMPLES_MIN:
            yield group
            group, have = [], 0
    if have:
        yield group


def _ranges(bins: Sequence[SizeBin], found: Slowdowns) -> list[Range]:
    """Both curves, by ranges of sizes that hold enough messages for a tail."""
    ranges: list[Range] = []
    below = 0
    for group in _grouped(bins, found):
        size_max = group[-1].size_max
        inside = found.slowdown[(found.sizes > below) & (found.sizes <= size_max)]
        below = size_max
        ranges.append(
            Range(
                size_max,
                sum(size_bin.share for size_bin in group),
                _weighted([(size_bin.share, size_bin.mean) for size_bin in group]),
                _weighted([(size_bin.share, size_bin.p99) for size_bin in group]),
                float(inside.mean()),
                float(np.percentile(inside, 99)),
            )
        )
    return ranges


def _deciles(ranges: Sequence[Range]) -> list[Range]:
    """The ranges joined to tenths of the messages; their numbers weighted by their shares."""
    deciles: list[Range] = []
    part: list[Range] = []
    share = 0.0
    for item in ranges:
        part.append(item)
        share += item.share
        if share >= 0.1 * (len(deciles) + 1) - 1e-9 or item is ranges[-1]:
            deciles.append(_join(part))
            part = []
    return deciles


def _join(part: Sequence[Range]) -> Range:
    return Range(
        part[-1].size_max,
        sum(item.share for item in part),
        _weighted([(item.share, item.paper_mean) for item in part]),
        _weighted([(item.share, item.paper_p99) for item in part]),
        _weighted([(item.share, item.mean) for item in part]),
        _weighted([(item.share, item.p99) for item in part]),
    )


def _curve(name: str, share: float, bins: Sequence[SizeBin], deciles: Sequence[Range]) -> Figure:
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


BETWEEN = (
    "ours serves by bytes left, as the text says: the end of a long message goes before a shorter "
    "one that has just come, at its receiver and at its sender. pFabric's switches do too, and its "
    "curve in the paper is about ours; Homa's there looks as if messages were served by length"
)
IDEAL = 1.25
"""How much worse than the ideal of pFabric the tail of the shortest half may be."""


def slowdown_at(share: float, effort: Effort, outcome: Outcome) -> None:
    """The curves of figure 12 (tail) and 13 (mean) at one load."""
    for name in effort.choose(("w1", "w2", "w3"), tuple(LOADS)):
        load = LOADS[name] if share < SETTLES_SOON else settled(name)
        found = slowdowns(run(outcome, load, share, effort))
        bins = homa_slowdown("Homa", name, share)
        deciles = _deciles(_ranges(bins, found))
        outcome.figures.append(_curve(name, share, bins, deciles))
        mean = [decile.mean / decile.paper_mean for decile in deciles]
        tail = _tails(deciles)
        label = f"{name.upper()} at {share:.0%}"
        outcome.checks += [
            Check(
                f"{label}: p99 of the shortest half",
                "<= 2.2",
                found.shortest(0.5).percentile(99),
                high=2.2,
            ),
            Check(f"{label}: mean, worst decile, ours / paper", "1", _worst(mean), 0.85, 1.15),
            Check(
                f"{label}: p99, worst decile, ours / paper",
                "1",
                _worst(tail),
                0.85,
                1.15,
                explained=BETWEEN if name == "w5" else "",
            ),
            Check(
                f"{label}: p99 over the shortest half, ours / pFabric in the paper",
                "about 1",
                _against_ideal(name, share, found),
                high=IDEAL,
            ),
        ]
        if name == "w5":
            by_length = run(outcome, load, share, effort, "transport.homa.by-length=true")
            deciles = _deciles(_ranges(bins, slowdowns(by_length)))
            what = "p99, worst of the eight lower deciles, ours / paper"
            outcome.checks += [
                Check(f"{label}: {what}", "1", _worst(tail[:8])),
                Check(f"{label}, served by length: {what}", "1", _worst(_tails(deciles)[:8])),
            ]


def _tails(deciles: Sequence[Range]) -> list[float]:
    """Our tail by the paper's, of each."""
    return [decile.p99 / decile.paper_p99 for decile in deciles]


def _against_ideal(name: str, share: float, found: Slowdowns) -> float:
    """The tail over the shortest half beside pFabric's, whose switches serve by bytes left."""
    ranges = _ranges(homa_slowdown("pFabric", name, share), found)
    shares = np.cumsum([item.share for item in ranges])
    shortest = _join(ranges[: int(np.searchsorted(shares, 0.5)) + 1])
    return shortest.p99 / shortest.paper_p99


def _worst(ratios: Sequence[float]) -> float:
    """The one that is furthest from 1."""
    return max(ratios, key=lambda ratio: abs(math.log(ratio)))


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
