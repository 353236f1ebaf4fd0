"""`ndpstack run`: one scenario, once."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack.cli._exit import Exit
from ndpstack.cli._progress import Bar
from ndpstack.scenario import load_scenario, shipped_scenarios
from ndpstack.scenario._units import format_time

if TYPE_CHECKING:
    import argparse

    from ndpstack.scenario import ScenarioFile
    from ndpstack.sim import Result, Simulation


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument(
        "scenario",
        help="a TOML file, or one of those that come with ndpstack: "
        + ", ".join(shipped_scenarios()),
    )
    parser.add_argument("--on", choices=["sim"], default="sim", help="where it runs")
    parser.add_argument("--seed", type=int, help="instead of the scenario's")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change the scenario: topology.k=8, traffic.0.size=1MB; repeatable",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="write results.json, flows and report.html there"
    )


def overrides(arguments: argparse.Namespace) -> list[str]:
    """What the command line sets in the scenario, --seed included."""
    items: list[str] = list(arguments.set)
    if arguments.seed is not None:
        items.append(f"seed={arguments.seed}")
    return items


def check_numpy() -> None:
    """Says what to install where the simulator cannot work."""
    from importlib.util import find_spec

    if find_spec("numpy") is None:
        raise UserError("the simulator needs numpy; install it with: pip install 'ndpstack[sim]'")


def execute(arguments: argparse.Namespace) -> int:
    """Runs the scenario and says what happened."""
    check_numpy()
    from ndpstack.report import document, dumps, write_results
    from ndpstack.sim import Simulation, summarise

    file = load_scenario(arguments.scenario, overrides(arguments))
    simulation = Simulation(file)
    bar = Bar(wanted=not arguments.json)
    began = time.monotonic()
    try:
        simulation.run(progress=bar)
    finally:
        bar.close()
    wall_s = time.monotonic() - began
    result = summarise(simulation)
    written = write_results(arguments.out, file, simulation, result) if arguments.out else []
    if arguments.json:
        print(dumps(document(file, simulation, result)))
    else:
        _print(file, simulation, result, wall_s, written)
    return exit_code(simulation, result)


def exit_code(simulation: Simulation, result: Result) -> Exit:
    """A run that did not do what it should is no success."""
    if simulation.error:
        raise UserError(f"simulation: {simulation.error}")
    return Exit.UNFINISHED if result.unfinished else Exit.OK


def _print(
    file: ScenarioFile, simulation: Simulation, result: Result, wall_s: float, written: list[Path]
) -> None:
    from ndpstack.report._tables import result_tables

    hops = simulation.counters["hops"]
    print(
        f"{file.scenario.title or file.name}  (seed {file.scenario.seed}, "
        f"{simulation.plan.network.hosts:,} hosts, trace {result.trace_hash:016x})"
    )
    ended = f"{result.finished:,} of {result.flows:,} flows ended"
    if result.flows == 0:
        ended = f"{result.background:,} flows without an end"
    speed = hops / max(wall_s, 1e-9) / 1e6
    print(
        f"{ended} by {format_time(result.time_ps)}; "
        f"{hops:,} packet-hops in {wall_s:.2f} s, {speed:.1f} M/s"
    )
    for table in result_tables(result):
        print(f"\n{table}")
    if written:
        print("\nwritten: " + ", ".join(str(path) for path in written))
