"""The demo's figures, as SVG text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ndpstack.agent import incast_rounds
from ndpstack.demo._tables import by_key, slowdowns
from ndpstack.report._plots import axes_of, svg_of

if TYPE_CHECKING:
    from ndpstack.demo._runs import Done

_LINES = (
    ("ndp", "NDP", "o-"),
    ("sim", "NDP, simulated", "x:"),
    ("tcp", "kernel TCP, 100 packets a port", "s-"),
    ("shallow", "kernel TCP, 16 packets a port", "^-"),
)


def incast(done: list[Done]) -> str:
    """Time of the last reply by size, over the optimum: median, and up to the 90th percentile."""
    runs = by_key(done)
    figure, axes = axes_of("size of a reply [KB]", "last reply, times the optimum")
    optimum = {row.size: row.optimum_ms for row in incast_rounds(runs["ndp"].run)}
    for key, name, style in _LINES:
        if key not in runs:
            continue
        rows = incast_rounds(runs[key].run)
        sizes = [row.size / 1000 for row in rows]
        median = np.array([row.median_ms / optimum[row.size] for row in rows])
        p90 = np.array([row.p90_ms / optimum[row.size] for row in rows])
        axes.errorbar(sizes, median, [0 * median, p90 - median], fmt=style, capsize=3, label=name)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.legend()
    return svg_of(figure)


def requests(done: list[Done]) -> str:
    """Slowdown by size: median and 99th percentile of each tenth of the messages."""
    runs = by_key(done)
    figure, axes = axes_of("size of a message [B]", "slowdown")
    for key, name, color in (("homa", "Homa", "C0"), ("rpc-tcp", "kernel TCP", "C1")):
        if key not in runs:
            continue
        sizes, slow = slowdowns(runs[key])
        edges = np.unique(np.percentile(sizes, np.arange(0, 101, 10)))
        tenth = np.clip(np.searchsorted(edges, sizes, side="right") - 1, 0, len(edges) - 2)
        used = [part for part in range(len(edges) - 1) if (tenth == part).any()]
        for percent, style in ((50, "o-"), (99, "o--")):
            values = [np.percentile(slow[tenth == part], percent) for part in used]
            label = f"{name} p{percent}"
            axes.plot(edges[1:][used], values, style, color=color, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.legend()
    return svg_of(figure)


def failure(done: list[Done]) -> str | None:
    """Completion time of each flow by when it started."""
    runs = by_key(done)
    if "failure" not in runs:
        return None
    item = runs["failure"]
    figure, axes = axes_of("start of a flow [ms]", "completion time [ms]")
    rows = item.run.rows
    times = (rows["received_ps"] - rows["start_ps"]) / 1e9
    axes.plot(rows["start_ps"] / 1e9, times, "o")
    axes.axvline(item.file.scenario.link[0].at / 1e9, color="red", label="cable goes down")
    axes.set_ylim(bottom=0)
    axes.legend()
    return svg_of(figure)
