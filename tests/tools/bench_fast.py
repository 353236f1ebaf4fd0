"""Measure the fast path: echoes, bulk, PULL spacing, an idle host; beside bare AF_XDP in one run.

Each bench program prints one JSON object a run. Kinds that are compared take turns, so that a
disturbance of the machine meets all of them, and the median of the runs counts. AF_XDP needs a
network namespace of its own (root); without one those rows are left out, and it is said.

    python tests/tools/bench_fast.py            # table with targets and verdicts
    python tests/tools/bench_fast.py --json
    python tests/tools/bench_fast.py --runs 5
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build-gcc" / "csrc"

Figures = Mapping[str, float]

VETH = """
ip link add s0 mtu 1500 type veth peer name s1 mtu 1500
for end in s0 s1; do echo 1 > /proc/sys/net/ipv6/conf/$end/disable_ipv6; done
ip link set s0 address 02:00:00:00:00:01 up
ip link set s1 address 02:00:00:00:00:02 up
exec "$@"
"""


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    value: float
    unit: str
    target: float | None = None
    """What it is to be at most, or at least where more is better."""
    more_is_better: bool = False
    note: str = ""

    @property
    def verdict(self) -> str:
        """`ok`, `MISSED`, or `-` where there is no target."""
        if self.target is None:
            return "-"
        good = self.value >= self.target if self.more_is_better else self.value <= self.target
        return "ok" if good else "MISSED"


class BenchError(Exception):
    """A bench program could not be run."""


def run(program: str, *words: str, veth: bool = False) -> Figures:
    """One run; veth: in a namespace of its own with the pair s0-s1."""
    command = [str(PROGRAMS / program), *words]
    if veth:
        command = ["unshare", "--net", "bash", "-euc", VETH, "bench", *command, "s0", "s1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        raise BenchError(f"{program} {' '.join(words)}: {done.stderr.strip()}")
    figures: Figures = json.loads(done.stdout)
    return figures


def medians(runs: list[Figures], key: str) -> float:
    """The median of one figure over the runs."""
    return median(figures[key] for figures in runs)


def cpu_list() -> str:
    """Client, its core, the server's core, server: a CPU each, or two that are shared."""
    count = os.cpu_count() or 1
    if count >= 4:
        return "0,1,2,3"
    return "0,0,1,1" if count >= 2 else "-"


def echo_memory(runs: int, cpus: str) -> list[Row]:
    """Echoes over shared memory."""
    rows = []
    for protocol, size, target in (("homa", "100", 2.0), ("ndp", "64", None)):
        results = [run("bench_fast_echo", protocol, size, "20000", cpus) for _ in range(runs)]
        note = "spinning" if results[0]["spin"] else "too few CPUs to spin"
        rows.append(
            Row(
                f"{protocol} echo, {size} B, memory, p50",
                medians(results, "p50_ns") / 1e3,
                "us",
                target,
                note=note,
            )
        )
    return rows


def echo_xdp(runs: int, cpus: str) -> list[Row]:
    """Echoes over veth and AF_XDP, and the same by rings alone, in turns."""
    kinds = ("bare", "homa", "ndp")
    results: dict[str, list[Figures]] = {kind: [] for kind in kinds}
    for _ in range(runs):
        for kind in kinds:
            results[kind].append(run("bench_fast_echo", kind, "64", "20000", cpus, veth=True))
    bare = medians(results["bare"], "p50_ns")
    rows = [Row("bare AF_XDP ping-pong, 64 B, p50", bare / 1e3, "us")]
    for kind in ("homa", "ndp"):
        p50 = medians(results[kind], "p50_ns")
        note = "spinning" if results[kind][0]["spin"] else "too few CPUs to spin"
        rows.append(Row(f"{kind} echo, 64 B, xdp, p50", p50 / 1e3, "us", note=note))
        rows.append(Row(f"{kind} echo, 64 B, xdp, against bare", p50 / bare, "x", 1.6, note=note))
    return rows


def bulk(runs: int) -> list[Row]:
    """NDP through two stacks over shared memory: what each end costs, and what comes of it."""
    ways = ("turns", "polled", "cores")
    results: dict[str, list[Figures]] = {way: [] for way in ways}
    for _ in range(runs):
        for way in ways:
            results[way].append(run("bench_fast_bulk", way, "--count", "400000"))
    turns = results["turns"]
    slower = median(max(figures["sender_ns"], figures["receiver_ns"]) for figures in turns)
    what = "NDP bulk, 1500 B, memory"
    return [
        Row(f"{what}: CPU of the sender's end", medians(turns, "sender_ns"), "ns"),
        Row(f"{what}: CPU of the receiver's end", medians(turns, "receiver_ns"), "ns"),
        Row(f"{what}, a core for each end", 1e3 / slower, "Mpps", 2.0, True, "from the CPU time"),
        Row(
            f"{what}, two polling threads, wall",
            medians(results["polled"], "packets_per_second") / 1e6,
            "Mpps",
            2.0,
            more_is_better=True,
        ),
        Row(
            f"{what}, two cores and an application, wall",
            medians(results["cores"], "packets_per_second") / 1e6,
            "Mpps",
            2.0,
            more_is_better=True,
        ),
    ]


def pull(runs: int) -> list[Row]:
    """Spacing of PULLs (E-N11): how far the median is off the target."""
    rows = []
    for megabits in (100, 300, 1000):
        cpus = ("0", "1") if (os.cpu_count() or 1) > 1 else ()
        results = [run("bench_fast_pull", str(megabits), "5000", *cpus) for _ in range(runs)]
        target = results[0]["target_ns"]
        off = 100 * abs(medians(results, "p50_ns") - target) / target
        note = f"target {target:.0f} ns, p90 {medians(results, 'p90_ns'):.0f} ns"
        rows.append(Row(f"PULL spacing, {megabits} Mb/s, median off", off, "%", 2.0, note=note))
    return rows


def idle() -> list[Row]:
    """CPU time of a host that nobody talks to."""
    figures = run("bench_fast_idle", "5")
    return [Row("idle host", figures["cpu_percent"], "% of a core", 2.0)]


def measure(runs: int) -> tuple[list[Row], list[str]]:
    """All rows, and what was left out."""
    cpus = cpu_list()
    rows = pull(runs) + idle() + bulk(runs) + echo_memory(runs, cpus)
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return rows, ["AF_XDP: needs root and iproute2"]
    return rows + echo_xdp(runs, cpus), []


def conditions(runs: int) -> dict[str, object]:
    """What the figures belong to."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return {
        "processor": model,
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "load": round(os.getloadavg()[0], 1),
        "runs": runs,
    }


def main() -> int:
    """Prints the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=3, help="of each kind; the median counts")
    arguments = parser.parse_args()
    try:
        rows, left_out = measure(arguments.runs)
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    facts = conditions(arguments.runs)
    if arguments.json:
        document = {
            "schema_version": 1,
            "conditions": facts,
            "rows": [{**asdict(row), "verdict": row.verdict} for row in rows],
            "left_out": left_out,
        }
        print(json.dumps(document, indent=1))
        return 0
    print("| figure | measured | target | verdict | |\n|---|---|---|---|---|")
    for row in rows:
        sign = ">=" if row.more_is_better else "<="
        target = "-" if row.target is None else f"{sign} {row.target:g}"
        print(
            f"| {row.what} | {row.value:.3g} {row.unit} | {target} | {row.verdict} | {row.note} |"
        )
    print(f"\nConditions: {', '.join(f'{name} {value}' for name, value in facts.items())}.")
    for reason in left_out:
        print(f"Left out: {reason}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
