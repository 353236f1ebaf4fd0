"""Standings as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ndpstack.bench._rounds import Standing

OURS, THEIRS = "#1b6ca8", "#9aa5b1"
ROW_INCHES = 0.45

AXES = {
    "latency": ("p50_us", "median round trip [us]; the bar's end: p99"),
    "throughput": ("gbit_per_s", "goodput [Gbit/s]"),
    "rpc": ("requests_per_s", "requests [1/s]"),
}


def write_plot(
    path: Path, kind: str, title: str, standings: Sequence[Standing], ours: Sequence[str]
) -> None:
    """A bar for each contestant, its rounds as points.

    Raises:
        ValueError: matplotlib does not know the file's ending.
        OSError: The file cannot be written.
    """
    from matplotlib.figure import Figure

    figure_name, label = AXES[kind]
    shown = [each for each in standings if each.median(figure_name) is not None]
    figure = Figure(figsize=(7, 1.2 + ROW_INCHES * len(shown)), layout="constrained")
    axes = figure.subplots()
    for row, each in enumerate(shown):
        value = each.median(figure_name) or 0.0
        tail = (each.median("p99_us") or value) - value if kind == "latency" else None
        axes.barh(
            row,
            value,
            xerr=None if tail is None else [[0.0], [tail]],
            color=OURS if each.name in ours else THEIRS,
            capsize=3,
        )
        points = [getattr(one, figure_name) for one in each.rounds if one]
        axes.plot(points, [row] * len(points), "|", color="black", markersize=8)
        axes.text(value, row - 0.18, f" {value:,.3g}", va="bottom", fontsize=8)
    axes.set_yticks(range(len(shown)), [each.title for each in shown])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel(label)
    axes.set_title(title, fontsize=10)
    figure.savefig(path)
