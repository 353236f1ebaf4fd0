"""A report that is one file: tables, figures, the scenario, the command that repeats it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ndpstack import __version__
from ndpstack.report import _plots
from ndpstack.report._document import command_line
from ndpstack.report._tables import result_tables

if TYPE_CHECKING:
    from pathlib import Path

    from ndpstack.report._tables import Table
    from ndpstack.scenario import ScenarioFile
    from ndpstack.sim import Result, Run

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem }
th, td { padding: 0.15rem 0.8rem; border-bottom: 1px solid #ccc; text-align: right }
th:first-child, td:first-child { text-align: left; white-space: nowrap }
pre { background: #f4f4f4; padding: 0.8rem; overflow-x: auto }
svg { max-width: 100%; height: auto }
"""


def html_table(table: Table) -> str:
    """A table with its title."""
    head = "".join(f"<th>{escape(column.header)}</th>" for column in table.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in table.texts()
    )
    return f"<h3>{escape(table.title)}</h3><table><tr>{head}</tr>{rows}</table>"


def _figures(run: Run, result: Result) -> str:
    figures = {
        "Completion times": _plots.completion_cdf(run),
        "Slowdown by size": _plots.slowdown_by_size(result),
        "Goodput of hosts": _plots.host_rates(run),
        "Goodput over time": _plots.goodput_series(run),
    }
    return "".join(f"<h3>{title}</h3>{svg}" for title, svg in figures.items() if svg)


def _trace(result: Result) -> str:
    return "" if result.trace_hash is None else f", trace {result.trace_hash:016x}"


def _conditions(result: Result) -> str:
    items = (f"{escape(name)}: {escape(text)}" for name, text in result.conditions.items())
    lines = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul>{lines}</ul>" if lines else ""


def write_report(path: Path, file: ScenarioFile, run: Run, result: Result) -> Path:
    """Writes the report."""
    title = escape(file.scenario.title or file.name)
    overrides = "".join(f"# --set {item}\n" for item in file.overrides)
    path.write_text(
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{title}</title>"
        f"<style>{STYLE}</style><h1>{title}</h1>"
        f"<p>ndpstack {__version__}, on {run.world}{_trace(result)}. "
        f"Repeat it with</p><pre>{escape(command_line(file, run))}</pre>"
        f"<h2>Results</h2>{_conditions(result)}{''.join(map(html_table, result_tables(result)))}"
        f"<h2>Figures</h2>{_figures(run, result)}"
        f"<h2>Scenario</h2><pre>{escape(overrides + file.text)}</pre></html>\n",
        # What the head says, wherever it is written; names of files may be no text.
        encoding="utf-8",
        errors="xmlcharrefreplace",
    )
    return path
