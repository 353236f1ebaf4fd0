"""What a report writes of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ndpstack._table import Column
from ndpstack.report._html import html_table, write_report
from ndpstack.report._tables import Table
from ndpstack.scenario import load_scenario
from ndpstack.sim import Simulation, summarise

if TYPE_CHECKING:
    from pathlib import Path


def test_no_text_becomes_a_tag() -> None:
    table = Table("<title>", (Column("<head>"),), (("<cell>",),))
    html = html_table(table)
    for word in ("title", "head", "cell"):
        assert f"&lt;{word}&gt;" in html
        assert f"<{word}>" not in html


def test_a_report_tells_the_conditions_of_its_run(tmp_path: Path) -> None:
    file = load_scenario("incast", ["traffic.0.senders=2", "probes.timeline=1"])
    simulation = Simulation(file)
    simulation.run()
    text = write_report(tmp_path / "r.html", file, simulation, summarise(simulation)).read_text()
    assert "<li>timeline: " in text


def test_a_report_is_written_whatever_the_name_of_its_scenario_is(tmp_path: Path) -> None:
    """Names of files are bytes: those that are no UTF-8 come as surrogates."""
    file = load_scenario("incast", ["traffic.0.senders=2", 'title="\u2192 \udcff"'])
    simulation = Simulation(file)
    simulation.run()
    path = write_report(tmp_path / "r.html", file, simulation, summarise(simulation))
    assert "<h1>\u2192 &#56575;</h1>" in path.read_bytes().decode("utf-8")
