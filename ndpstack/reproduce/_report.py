"""What a reproduction shows: a table for people, JSON for machines, figures, a docs page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ndpstack._table import Column, render

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ndpstack.reproduce._experiment import Check, Experiment, Figure, Outcome

Result = tuple["Experiment", "Outcome"]

COLUMNS = (
    Column("id"),
    Column("number"),
    Column("paper"),
    Column("band"),
    Column("ours"),
    Column("verdict"),
)


def number(value: float) -> str:
    """Four significant digits, without an exponent where that is readable."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 6)}f}"


def _cells(identifier: str, check: Check) -> list[str]:
    unit = f" {check.unit}" if check.unit else ""
    return [
        identifier,
        check.what,
        f"{check.paper}{unit}",
        check.band,
        f"{number(check.ours)}{unit}",
        check.verdict,
    ]


def table(results: Iterable[Result]) -> str:
    """Every number of every experiment."""
    rows = [
        _cells(experiment.id, check) for experiment, outcome in results for check in outcome.checks
    ]
    return render(COLUMNS, rows)


def as_dict(result: Result, seconds: float) -> dict[str, object]:
    """An experiment for --json."""
    experiment, outcome = result
    return {
        "id": experiment.id,
        "title": experiment.title,
        "source": experiment.source,
        "passed": outcome.passed,
        "error": outcome.error,
        "seconds": round(seconds, 2),
        "commands": outcome.commands,
        "checks": [
            {
                "what": check.what,
                "paper": check.paper,
                "low": check.low,
                "high": check.high,
                "ours": check.ours,
                "unit": check.unit,
                "verdict": check.verdict,
                "explained": check.explained,
            }
            for check in outcome.checks
        ],
    }


def draw(figure: Figure, path: Path) -> None:
    """Writes a figure as SVG; published series are dashed."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Plot

    plot = Plot(figsize=(7, 4.2), layout="constrained")
    FigureCanvasSVG(plot)
    axes = plot.add_subplot()
    for line in figure.lines:
        style = "--" if line.published else "-o"
        axes.plot(line.x, line.y, style, label=line.label, markersize=3, linewidth=1.2)
    axes.set_title(figure.title)
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label)
    axes.set_xscale("log" if figure.x_log else "linear")
    axes.set_yscale("log" if figure.y_log else "linear")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small")
    plot.savefig(path)


def markdown(experiment: Experiment, outcome: Outcome, seconds: float) -> str:
    """A section of docs/reproduction.md."""
    parts = [
        f"### {experiment.id}: {experiment.title}\n",
        f"{experiment.source}; {seconds:.0f} CPU s.\n",
        "| number | paper | band | ours | verdict |\n|---|---|---|---|---|",
    ]
    for check in outcome.checks:
        cells = " | ".join(word.replace("|", "\\|") for word in _cells("", check)[1:])
        parts.append(f"| {cells} |")
    parts.append("")
    reasons = [
        f"- *{check.what}*: {check.explained}"
        for check in outcome.checks
        if check.verdict == "explained"
    ]
    if outcome.error:
        reasons.append(f"- Ended early: `{outcome.error}`")
    return "\n".join([*parts, *reasons, *([""] if reasons else [])])
