"""`ndpstack run`: one scenario, once."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack.cli._exit import Exit
from ndpstack.cli._extra import need
from ndpstack.cli._folder import make_folder
from ndpstack.cli._numbers import count
from ndpstack.cli._progress import Bar
from ndpstack.scenario import load_scenario, shipped_scenarios
from ndpstack.toml import format_time

if TYPE_CHECKING:
    import argparse

    from ndpstack.agent import Replay
    from ndpstack.scenario import ScenarioFile
    from ndpstack.sim import Result, Run, Simulation


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument(
        "scenario",
        metavar="SCENARIO",
        help="a TOML file, or one of those that come with ndpstack: "
        + ", ".join(shipped_scenarios()),
    )
    parser.add_argument(
        "--on",
        choices=["sim", "memory", "netns"],
        default="sim",
        help="where it runs: in virtual time, or as real stacks and switches over shared memory, "
        "or over AF_XDP in network namespaces (root)",
    )
    parser.add_argument(
        "--kernel-tcp",
        type=count,
        nargs="?",
        const=100,
        default=0,
        metavar="PACKETS",
        help="let the kernel's TCP carry the flows, through plain switches that hold so many "
        "packets a port, 100 unless told (--on netns)",
    )
    parser.add_argument("--seed", type=int, help="instead of the scenario's")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change the scenario: topology.k=8, traffic.0.size=1MB; repeatable",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="write results.json, report.html and tables (flows, ports, goodput) there",
    )


def overrides(arguments: argparse.Namespace) -> list[str]:
    """What the command line sets in the scenario, --seed included."""
    items: list[str] = list(arguments.set)
    if arguments.seed is not None:
        items.append(f"seed={arguments.seed}")
    return items


def execute(arguments: argparse.Namespace) -> int:
    """Runs the scenario and says what happened."""
    need("the simulator", "sim", "numpy")
    from ndpstack.report import document, dumps, write_results
    from ndpstack.sim import summarise
    from ndpstack.testbed import interruptible

    file = load_scenario(arguments.scenario, overrides(arguments))
    if arguments.out:
        make_folder(arguments.out)
        file = _captured_in(arguments.out, file)
    run = _make(arguments, file)
    bar = Bar(wanted=not arguments.json)
    began = time.monotonic()
    try:
        with interruptible():
            run.run(progress=bar)
    finally:
        bar.close()
    wall_s = time.monotonic() - began
    result = summarise(run)
    written = write_results(arguments.out, file, run, result) if arguments.out else []
    if file.scenario.probes.capture and run.world == "sim":
        written.append(Path(file.scenario.probes.capture.file))
    if arguments.json:
        print(dumps(document(file, run, result)))
    else:
        _print(file, run, result, wall_s, written)
    return exit_code(run, result)


def _captured_in(folder: Path, file: ScenarioFile) -> ScenarioFile:
    """The same scenario with its capture, if any, in the output folder."""
    probes = file.scenario.probes
    if probes.capture is None:
        return file
    capture = replace(probes.capture, file=str(folder / probes.capture.file))
    scenario = replace(file.scenario, probes=replace(probes, capture=capture))
    return replace(file, scenario=scenario)


def _make(arguments: argparse.Namespace, file: ScenarioFile) -> Simulation | Replay:
    """The world that was asked for."""
    if arguments.on == "sim":
        from ndpstack.sim import Simulation

        if arguments.kernel_tcp:
            raise UserError("the kernel's TCP is not simulated; add --on netns")
        return Simulation(file)
    from ndpstack.agent import Replay

    return Replay(file, arguments.on, kernel_tcp=arguments.kernel_tcp)


def exit_code(run: Simulation | Replay, result: Result) -> Exit:
    """A run that did not do what it should is no success."""
    from ndpstack.sim import Status

    if run.status is Status.BROKEN:
        print(f"ndpstack: {run.world}: {run.error}", file=sys.stderr)
        return Exit.FAILED
    if run.error:
        raise UserError(f"{run.world}: {run.error}")
    return Exit.UNFINISHED if result.unfinished else Exit.OK


def _print(
    file: ScenarioFile, run: Run, result: Result, wall_s: float, written: list[Path]
) -> None:
    from ndpstack.report._tables import result_tables
    from ndpstack.sim import Status

    about = f"{run.plan.network.hosts:,} hosts"
    if result.trace_hash is not None:
        about += f", trace {result.trace_hash:016x}"
    print(f"{file.scenario.title or file.name}  (seed {file.scenario.seed}, {about})")
    ended = f"{result.finished:,} of {result.flows:,} flows ended by"
    if result.flows == 0:
        ended = f"{result.background:,} background flows ran until"
    print(f"{ended} {format_time(result.time_ps)}; {_speed(result, wall_s)}")
    for name, text in result.conditions.items():
        print(f"  {name}: {text}")
    if run.status is Status.STUCK:
        print("stuck: nothing is left to happen, and flows are unfinished")
    for table in result_tables(result):
        print(f"\n{table}")
    if written:
        print("\nwritten: " + ", ".join(str(path) for path in written))


def _speed(result: Result, wall_s: float) -> str:
    hops = result.network.get("hops")
    if hops is None:
        return f"set up, run and taken down in {wall_s:.1f} s"
    speed = hops / max(wall_s, 1e-9) / 1e6
    return f"{hops:,} packet-hops in {wall_s:.2f} s, {speed:.1f} M/s"
