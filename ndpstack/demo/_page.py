"""demo-report.html: one file with tables, figures, the topology, counters and commands."""

from __future__ import annotations

from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ndpstack import __version__
from ndpstack.demo._tables import demo_tables, what_is_wrong
from ndpstack.report import command_line
from ndpstack.report._html import STYLE, html_table
from ndpstack.report._tables import result_tables
from ndpstack.testbed._blueprint import blueprint

if TYPE_CHECKING:
    from pathlib import Path

    from ndpstack.demo._runs import Done

_WIDTH, _ROW = 860, 110
_BOX_WIDTH, _BOX_HEIGHT = 84, 34


def topology_picture(done: Done) -> str:
    """The nodes and cables of a run, hosts below and the tiers of switches above them."""
    plan = blueprint(done.file.scenario).plan
    tiers: dict[str, list[str]] = {}
    for node in plan.nodes:
        tiers.setdefault(node.name.rstrip("0123456789"), []).append(node.name)
    height = _ROW * len(tiers)
    places: dict[str, tuple[float, float]] = {}
    for row, names in enumerate(reversed(tiers.values())):
        for column, name in enumerate(names):
            places[name] = ((column + 0.5) * _WIDTH / len(names), (row + 0.5) * _ROW)
    parts = [
        f"<line x1='{places[a][0]:.0f}' y1='{places[a][1]:.0f}' x2='{places[b][0]:.0f}' "
        f"y2='{places[b][1]:.0f}' stroke='#888'/>"
        for a, b in ((link.a, link.b) for link in plan.links)
    ]
    hosts = {node.name for node in plan.hosts}
    for name, (x, y) in places.items():
        fill = "#e6f0ff" if name in hosts else "#fff0d9"
        parts.append(
            f"<rect x='{x - _BOX_WIDTH / 2:.0f}' y='{y - _BOX_HEIGHT / 2:.0f}' rx='6' "
            f"width='{_BOX_WIDTH}' height='{_BOX_HEIGHT}' fill='{fill}' stroke='#666'/>"
            f"<text x='{x:.0f}' y='{y + 5:.0f}' text-anchor='middle'>{escape(name)}</text>"
        )
    return (
        f"<svg viewBox='0 0 {_WIDTH} {height}' role='img' font-family='sans-serif' "
        f"font-size='14'>{''.join(parts)}</svg>"
    )


def _figures(done: list[Done]) -> str:
    if find_spec("matplotlib") is None:
        return ""
    from ndpstack.demo import _plots

    figures = {
        "(a), (c) Incast": _plots.incast(done),
        "(b) Requests": _plots.requests(done),
        "(d) A cable goes down": _plots.failure(done),
    }
    return "".join(f"<h3>{title}</h3>{svg}" for title, svg in figures.items() if svg)


def _run(done: Done) -> str:
    """One run: how to repeat it, under which conditions, and what was counted."""
    conditions = "".join(
        f"<li>{escape(name)}: {escape(text)}</li>" for name, text in done.result.conditions.items()
    )
    counters = "".join(
        f"<tr><td>{escape(engine)}</td><td>{escape(name)}</td><td>{value:,}</td></tr>"
        for engine, values in done.result.engines.items()
        for name, value in values.items()
        if value
    )
    tables = "".join(map(html_table, result_tables(done.result)))
    return (
        f"<h3>{escape(done.job.title)}</h3><pre>{escape(command_line(done.file, done.run))}</pre>"
        f"<ul>{conditions}</ul><details><summary>Results and counters</summary>{tables}"
        f"<table><tr><th>protocol</th><th>counter</th><th>all hosts</th></tr>{counters}</table>"
        "</details>"
    )


def write_page(path: Path, done: list[Done], world: str) -> Path:
    """Writes the page; it needs no other file and no network."""
    wrong = "".join(f"<li>{escape(item)}</li>" for item in what_is_wrong(done))
    verdict = f"<ul>{wrong}</ul>" if wrong else "<p>All numbers are within their bounds.</p>"
    path.write_text(
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>ndpstack demo</title>"
        f"<style>{STYLE}</style><h1>ndpstack demo</h1>"
        f"<p>ndpstack {__version__}, real stacks and switches on {escape(world)}. Repeat it with"
        f"</p><pre>ndpstack demo --on {escape(world)}</pre>{verdict}"
        f"{''.join(map(html_table, demo_tables(done)))}{_figures(done)}"
        f"<h2>Topology</h2>{topology_picture(done[0])}"
        f"<h2>Runs</h2>{''.join(map(_run, done))}</html>\n"
    )
    return path
