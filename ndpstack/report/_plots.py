"""The figures of a report, as SVG text."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from ndpstack.sim._result import bins_begun, completion_ps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from ndpstack.sim import Result, Run

_SIZE = (6.4, 3.6)
_LINES_MAX = 64
"""More series than this are drawn as mean, smallest and largest."""


def svg_of(figure: Figure) -> str:
    """The same text for the same figure: no date, no random ids."""
    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "ndpstack", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": "ndpstack"})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def axes_of(x: str, y: str) -> tuple[Figure, Axes]:
    """A figure with one pair of axes."""
    figure = Figure(figsize=_SIZE, layout="constrained")
    axes = figure.subplots()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(visible=True, alpha=0.3)
    return figure, axes


def _cdf(axes: Axes, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    ordered = np.sort(values)
    axes.plot(ordered, np.arange(1, len(ordered) + 1) / len(ordered), drawstyle="steps-post")
    axes.set_ylim(0, 1.02)


def completion_cdf(run: Run) -> str | None:
    """CDF of completion times of the flows that the run waited for."""
    flows = run.flows
    times = completion_ps(flows, run.rows)
    times = times[~np.isnan(times) & (flows["background"] == 0)] / 1e6
    if len(times) == 0:
        return None
    figure, axes = axes_of("completion time [us]", "share of flows")
    if times.max() > 20 * max(times.min(), 1e-6):
        axes.set_xscale("log")
    _cdf(axes, times)
    return svg_of(figure)


def slowdown_by_size(result: Result) -> str | None:
    """Median and tail of the slowdown for each tenth of the flows by size."""
    bands = result.slowdown_by_size
    if len(bands) < 2:
        return None
    figure, axes = axes_of("largest size of each tenth of the flows [B]", "slowdown")
    places = range(len(bands))
    axes.plot(places, [band.slowdown.p50 for band in bands], "o-", label="p50")
    axes.plot(places, [band.slowdown.p99 for band in bands], "s-", label="p99")
    axes.set_yscale("log")
    axes.set_xticks(places, [f"{band.size_max:,}" for band in bands], rotation=30, ha="right")
    axes.legend()
    return svg_of(figure)


def host_rates(run: Run) -> str | None:
    """Goodput of each host that received something, in ascending order."""
    received = run.hosts["payload_bytes"]
    received = received[received > 0]
    if len(received) < 2 or run.now_ps == 0:
        return None
    figure, axes = axes_of("host, by goodput", "goodput [Gbit/s]")
    axes.plot(np.sort(received) * 8e3 / run.now_ps)
    axes.set_ylim(bottom=0)
    return svg_of(figure)


def bin_rates(series: NDArray[np.uint64], width_ps: int, now_ps: int) -> NDArray[np.float64]:
    """Gbit/s by [host or flow, bin] of the bytes in each bin, up to a time.

    The last bin of a run that has outlasted them holds all that came later, which is no rate.
    """
    used = bins_begun(series, width_ps, now_ps)
    if used > series.shape[1]:
        used = series.shape[1] - 1
    rates: NDArray[np.float64] = series[:, :used] * 8e3 / width_ps
    return rates


def goodput_series(run: Run) -> str | None:
    """Goodput over time, of each host or flow."""
    width = run.scenario.probes.goodput
    series = run.goodput
    if width is None or series.size == 0:
        return None
    rates = bin_rates(series, width, run.now_ps)
    times = (np.arange(rates.shape[1]) + 0.5) * width / 1e6
    what = run.scenario.probes.goodput_of.removesuffix("s")
    figure, axes = axes_of("time [us]", f"goodput of a {what} [Gbit/s]")
    if len(rates) <= _LINES_MAX:
        axes.plot(times, rates.T, linewidth=0.8)
    else:
        axes.fill_between(
            times, rates.min(axis=0), rates.max(axis=0), alpha=0.25, label="smallest to largest"
        )
        axes.plot(times, rates.mean(axis=0), label="mean")
        axes.legend()
    axes.set_ylim(bottom=0)
    return svg_of(figure)
