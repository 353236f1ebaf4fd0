"""Figures as a picture: a bar for each contestant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ndpstack.bench._incast import Waits
    from ndpstack.bench._rounds import Standing

OURS, THEIRS = "#1b6ca8", "#9aa5b1"
ROW_INCHES = 0.45
ENDINGS = (".svg", ".png", ".pdf")
"""Of files that can be drawn."""

AXES = {
    "latency": ("p50_us", "median round trip [us]; the bar's end: p99"),
    "throughput": ("gbit_per_s", "goodput [Gbit/s]"),
    "rpc": ("requests_per_s", "requests [1/s]"),
}
INCAST_AXIS = "median wait [ms]; the bar's end: p99"


class Bar(NamedTuple):
    """A contestant's."""

    title: str
    value: float
    tail: float | None
    """How far it reaches beyond the value."""
    points: Sequence[float]
    """Of rounds."""
    is_ours: bool


def standings_bars(kind: str, standings: Sequence[Standing], ours: Sequence[str]) -> list[Bar]:
    """Of those that finished a round."""
    figure, bars = AXES[kind][0], []
    for each in standings:
        value = each.median(figure)
        if value is None:
            continue
        tail = (each.median("p99_us") or value) - value if kind == "latency" else None
        points = [getattr(one, figure) for one in each.rounds if one]
        bars.append(Bar(each.title, value, tail, points, each.name in ours))
    return bars


def incast_bars(waits: Sequence[Waits]) -> list[Bar]:
    """Of those that were answered; ours is the first."""
    return [
        Bar(each.name, each.p50_ms, each.p99_ms - each.p50_ms, (), each is waits[0])
        for each in waits
        if not math.isnan(each.p50_ms)
    ]


def write_plot(path: Path, title: str, axis: str, bars: Sequence[Bar]) -> None:
    """Draws them, the rounds as points.

    Raises:
        OSError: The file cannot be written.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 1.2 + ROW_INCHES * len(bars)), layout="constrained")
    axes = figure.subplots()
    for row, bar in enumerate(bars):
        axes.barh(
            row,
            bar.value,
            xerr=None if bar.tail is None else [[0.0], [bar.tail]],
            color=OURS if bar.is_ours else THEIRS,
            capsize=3,
        )
        axes.plot(bar.points, [row] * len(bar.points), "|", color="black", markersize=8)
        axes.text(bar.value, row - 0.18, f" {bar.value:,.3g}", va="bottom", fontsize=8)
    axes.set_yticks(range(len(bars)), [bar.title for bar in bars])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel(axis)
    axes.set_title(title, fontsize=10)
    figure.savefig(path)
