"""Measure the fast path: echoes, bulk, the switch, PULL spacing; beside bare AF_XDP in one run.

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
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from ndpstack.bench import processor
from ndpstack.switch import Opening, PortConfig, Switch, SwitchConfig, queue

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build-gcc" / "csrc"

Figures = Mapping[str, float]

TCP_GATE_US = 60
"""E-N07: a kernel whose TCP is faster than this says nothing about the paper's ratios."""

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
    not_gated: str = ""
    """Why the target does not bind here; empty where it does."""

    @property
    def verdict(self) -> str:
        """`ok`, `MISSED`, why it does not count, or `-` where there is no target."""
        if self.target is None:
            return "-"
        if self.not_gated:
            return f"not gated: {self.not_gated}"
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


def ways() -> tuple[list[str], list[str]]:
    """How echoes are run on as many CPUs as there are, and what that leaves out."""
    count = os.cpu_count() or 1
    left_out = []
    if count < 2:
        left_out.append("echoes by polling threads: need 2 CPUs, a thread each")
    if count < 4:
        left_out.append(
            "echoes by spinning cores beside spinning applications: need 4 CPUs; these block"
        )
    return (["turns", "polled", "cores"] if count >= 2 else ["turns", "cores"]), left_out


DESCRIPTIONS = {
    "turns": "both ends in one thread",
    "polled": "two polling threads",
    "cores": "cores of their own",
}


def describe(way: str, figures: Figures) -> str:
    """What a row of this way is called."""
    how = "" if way != "cores" else (", spinning" if figures["spin"] else ", blocking")
    return DESCRIPTIONS[way] + how


def echo_memory(runs: int, cpus: str) -> list[Row]:
    """Echoes over shared memory, the ways of it in turns."""
    rows = []
    for protocol, size, target in (("homa", "100", 2.0), ("ndp", "64", None)):
        results: dict[str, list[Figures]] = {way: [] for way in ways()[0]}
        for _ in range(runs):
            for way, figures in results.items():
                what = f"{protocol}-{way}"
                figures.append(run("bench_fast_echo", what, "--count", "20000", size, cpus))
        for way, figures in results.items():
            rows.append(
                Row(
                    f"{protocol} echo, {size} B, memory, {describe(way, figures[0])}, p50",
                    medians(figures, "p50_ns") / 1e3,
                    "us",
                    target if way != "turns" and figures[0]["spin"] else None,
                    note=f"p10 {medians(figures, 'p10_ns') / 1e3:.2f} us",
                )
            )
    return rows


def echo_xdp(runs: int, cpus: str) -> list[Row]:
    """Echoes over veth and AF_XDP, and the same by rings alone, in turns."""
    kinds = ["bare", *(f"{name}-{way}" for name in ("homa", "ndp") for way in ways()[0][1:])]
    results: dict[str, list[Figures]] = {kind: [] for kind in kinds}
    for _ in range(runs):
        for kind in kinds:
            figures = run("bench_fast_echo", kind, "--count", "20000", "64", cpus, veth=True)
            results[kind].append(figures)
    bare = results.pop("bare")
    rows = [Row("bare AF_XDP ping-pong, 64 B, p50", medians(bare, "p50_ns") / 1e3, "us")]
    for kind, runs_of_kind in results.items():
        protocol, way = kind.split("-")
        what = f"{protocol} echo, 64 B, xdp, {describe(way, runs_of_kind[0])}"
        ratios = [
            one["p50_ns"] / other["p50_ns"] for one, other in zip(runs_of_kind, bare, strict=True)
        ]
        rows.append(Row(f"{what}, p50", medians(runs_of_kind, "p50_ns") / 1e3, "us"))
        if runs_of_kind[0]["spin"]:
            rows.append(Row(f"{what}, against bare", median(ratios), "x", 1.6, note="of each pair"))
    return rows


def connect_rows(what: str, figures: Figures) -> list[Row]:
    """What E-N07 asks: NDP's time always counts, ratios only where TCP is slow enough."""
    slow = figures["tcp"] > TCP_GATE_US
    why = "" if slow else f"TCP takes {figures['tcp']:.1f} us, not above {TCP_GATE_US:g}"
    return [
        Row(f"{what}: kernel TCP, p50", figures["tcp"], "us"),
        Row(f"{what}: TCP Fast Open, p50", figures["tfo"], "us"),
        Row(f"{what}: NDP, p50", figures["ndp"], "us", 62.0),
        Row(
            f"{what}: NDP against TCP",
            figures["ndp"] / figures["tcp"],
            "x",
            0.34,
            not_gated=why,
        ),
        Row(
            f"{what}: NDP against TFO",
            figures["ndp"] / figures["tfo"],
            "x",
            0.5,
            not_gated=why,
        ),
    ]


def connect(runs: int) -> list[Row]:
    """Connect, ask for 1 KB by 1 KB, over veth (E-N07): NDP, kernel TCP and TFO in turns."""
    rows = []
    for way in ("cores", "polled"):
        results = [run("bench_fast_connect", way, "1000") for _ in range(runs)]
        figures = {
            name: median(one[name]["p50_ns"] for one in results) / 1e3  # type: ignore[index]
            for name in ("ndp", "tcp", "tfo")
        }
        what = f"connect, 1 KB, 1 KB, veth, {'both polling' if way == 'polled' else 'blocking'}"
        rows += connect_rows(what, figures)
    return rows


def bulk(runs: int) -> list[Row]:
    """NDP through two stacks over shared memory: what each end costs, and what comes of it."""
    results: dict[str, list[Figures]] = {way: [] for way in DESCRIPTIONS}
    for _ in range(runs):
        for way, figures in results.items():
            figures.append(run("bench_fast_bulk", way, "--count", "400000"))
    turns = results["turns"]
    slower = median(max(one["sender_ns"], one["receiver_ns"]) for one in turns)
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


def switch(runs: int, port: str) -> list[Row]:
    """Frames a second that a switch forwards on one core, by its CPU time; xdp: and against bare.

    The program takes turns with the bare forwarder itself, and makes its own namespace.
    """
    rows = []
    for size in ("64", "1500"):
        figures = [run("bench_fast_switch", port, size) for _ in range(runs)]
        what = f"switch, {size} B, {port}"
        target = 5.0 if port == "memory" and size == "64" else None
        rate = medians(figures, "mpps")
        rows.append(Row(f"{what}, of a core", rate, "Mpps", target, more_is_better=True))
        if port == "xdp":
            ratio = medians(figures, "ratio")
            bare = f"bare {medians(figures, 'bare_ns_per_frame') / 1e3:.2f} us"
            rows.append(Row(f"{what}, against bare", ratio, "x", 0.85, True, f"{bare} a frame"))
    return rows


def idle_switch(seconds: float = 5) -> float:
    """CPU time of a switch of four ports, two cables between them, in % of a core."""
    with Switch(SwitchConfig(name="idle")) as made:
        for number in range(4):
            cable = f"bench-idle-switch-{os.getpid()}-{number // 2}"
            opening = Opening(backend="memory", device=cable, listen=number % 2 == 0)
            made.add_port(PortConfig(name=f"p{number}", opening=opening, queue=queue("ndp")))
        made.start()
        time.sleep(1)
        before = time.process_time()
        time.sleep(seconds)
        return (time.process_time() - before) / seconds * 100


def idle() -> list[Row]:
    """CPU time of a host that nobody talks to, and of a switch."""
    figures = run("bench_fast_idle", "5")
    return [
        Row("idle host", figures["cpu_percent"], "% of a core", 2.0),
        Row("idle switch", idle_switch(), "% of a core", 2.0),
    ]


def measure(runs: int) -> tuple[list[Row], list[str]]:
    """All rows, and what was left out."""
    cpus = cpu_list()
    rows = pull(runs) + idle() + bulk(runs) + switch(runs, "memory") + echo_memory(runs, cpus)
    left_out = ways()[1]
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return rows, [*left_out, "AF_XDP: needs root and iproute2"]
    return rows + echo_xdp(runs, cpus) + switch(runs, "xdp") + connect(runs), left_out


def conditions(runs: int) -> dict[str, object]:
    """What the figures belong to."""
    return {
        "processor": processor(),
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "load": round(os.getloadavg()[0], 1),
        "runs": runs,
    }


def print_rows(rows: Sequence[Row], facts: Mapping[str, object]) -> None:
    """The rows as a table, and what they were measured on."""
    print("| figure | measured | target | verdict | |\n|---|---|---|---|---|")
    for row in rows:
        sign = ">=" if row.more_is_better else "<="
        target = "-" if row.target is None else f"{sign} {row.target:g}"
        print(
            f"| {row.what} | {row.value:.3g} {row.unit} | {target} | {row.verdict} | {row.note} |"
        )
    print(f"\nConditions: {', '.join(f'{name} {value}' for name, value in facts.items())}.")


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
    print_rows(rows, facts)
    for reason in left_out:
        print(f"Left out: {reason}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
