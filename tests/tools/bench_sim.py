"""Measure the simulator: packet-hops a second of CPU time, memory, and what Python adds.

    python tests/tools/bench_sim.py             # table with targets and verdicts
    python tests/tools/bench_sim.py --runs 5
    python tests/tools/bench_sim.py --json

Runs take turns, so that a disturbance of the machine meets all of them, and the median counts. A
packet-hop is one packet sent by one port, hosts' included. CPU time is that of the run alone:
building the network and its flows is left out, touching memory for the first time is not.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING
from unittest import mock

from bench_fast import PROGRAMS, BenchError, Figures, Row, conditions, medians, print_rows

from ndpstack._core import lib
from ndpstack.scenario import load_scenario
from ndpstack.sim import Simulation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ndpstack._core import nd_sim

PERMUTATIONS: Mapping[str, tuple[str, float | None]] = {
    "432 hosts, 9000 B": ("12 9000 10000", 10.0),
    "1,024 hosts, 9000 B": ("16 9000 4000", 8.0),
    "8,192 hosts, 9000 B": ("32 9000 600", 4.0),
    "432 hosts, 1500 B": ("12 1500 1500", 8.0),
}
"""Arguments of bench_sim, and packet-hops in millions a second that are the target."""

LARGEST = "8,192 hosts, 9000 B"
MEMORY_TARGET_MB = 1000.0
HOMA_TARGET = 5.0
PYTHON_TARGET = 2.0
HOMA_TIME = "10ms"


class Timed:
    """The core, with the CPU time of its runs counted."""

    seconds = 0.0

    def __getattr__(self, name: str) -> object:
        """Everything else is the core's own."""
        return getattr(lib, name)

    def nd_sim_run(self, sim: nd_sim, until_ps: int) -> int:
        """One slice of a run."""
        began = time.process_time()
        status = lib.nd_sim_run(sim, until_ps)
        self.seconds += time.process_time() - began
        return status


def permutation(arguments: str) -> Figures:
    """One run of the bench program: its figures, and the most memory that it had resident."""
    command = [str(PROGRAMS / "bench_sim"), *arguments.split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise BenchError(f"bench_sim {arguments}: exit {process.returncode}")
    figures = {name: float(value) for name, value in re.findall(r"(\w+)=([\d.]+)%?(?= )", output)}
    return {**figures, "resident_mb": usage.ru_maxrss * 1024 / 1e6}


def homa() -> Figures:
    """W4 on 144 hosts at 80 % through the Python API, with its progress shown to nobody."""
    scenario = load_scenario(Path(str(files("ndpstack"))) / "scenarios" / "homa-w4.toml")
    simulation = Simulation(scenario)
    timed = Timed()
    with mock.patch("ndpstack.sim._simulation.lib", timed):
        began = time.process_time()
        simulation.run(HOMA_TIME, progress=lambda _: None)
        whole = time.process_time() - began
    hops = simulation.counters["hops"]
    return {
        "mhops_per_s": hops / timed.seconds / 1e6,
        "events_per_hop": simulation.counters["events"] / hops,
        "python_percent": 100 * (whole - timed.seconds) / whole,
    }


def homa_run() -> Figures:
    """The same in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--homa"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise BenchError(f"Homa W4: {done.stderr.strip()}")
    figures: Figures = json.loads(done.stdout)
    return figures


def measure(runs: int) -> list[Row]:
    """All rows."""
    results: dict[str, list[Figures]] = {what: [] for what in PERMUTATIONS}
    w4 = []
    for _ in range(runs):
        for what, (arguments, _) in PERMUTATIONS.items():
            results[what].append(permutation(arguments))
        w4.append(homa_run())
    rows = []
    for what, (_, target) in PERMUTATIONS.items():
        speed = medians(results[what], "mhops_per_s")
        events = medians(results[what], "events_per_hop")
        best = max(figures["mhops_per_s"] for figures in results[what])
        note = f"best {best:.2f}; {events:.2f} events a hop"
        rows.append(Row(f"NDP permutation, {what}", speed, "M hops/s", target, True, note))
    resident = medians(results[LARGEST], "resident_mb")
    rows.append(Row(f"memory, {LARGEST}", resident, "MB resident", MEMORY_TARGET_MB))
    speed = median(figures["mhops_per_s"] for figures in w4)
    best = max(figures["mhops_per_s"] for figures in w4)
    note = f"best {best:.2f}; {medians(w4, 'events_per_hop'):.2f} events a hop"
    rows.append(Row("Homa W4, 144 hosts, 80 %", speed, "M hops/s", HOMA_TARGET, True, note))
    added = medians(w4, "python_percent")
    rows.append(Row("of its CPU time: Python", added, "%", PYTHON_TARGET))
    return rows


def main() -> int:
    """Prints the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=3, help="of each kind; the median counts")
    parser.add_argument("--homa", action="store_true", help="one run of Homa W4, as JSON")
    arguments = parser.parse_args()
    try:
        if arguments.homa:
            print(json.dumps(homa()))
            return 0
        rows = measure(arguments.runs)
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    facts = conditions(arguments.runs)
    if arguments.json:
        table = [{**asdict(row), "verdict": row.verdict} for row in rows]
        print(json.dumps({"schema_version": 1, "conditions": facts, "rows": table}, indent=1))
        return 0
    print_rows(rows, facts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
