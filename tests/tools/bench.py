"""Measure the hot operations of the C core: instructions by callgrind, nanoseconds natively.

Each bench program runs one operation `--count N` times. Running it with two counts and dividing
the difference leaves the operation alone: start-up costs cancel. Instructions repeat exactly and
are gated (T35, exit 1); nanoseconds depend on the machine and are only reported.

    python tests/tools/bench.py                 # table with targets and verdicts
    python tests/tools/bench.py --check         # instructions only
    python tests/tools/bench.py --json
    python tests/tools/bench.py --write docs/performance.md
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from ndpstack.bench import processor

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


@dataclass(frozen=True)
class Bench:
    """One row: an operation, how to run it, and what it may cost."""

    what: str
    """What one operation is, for people."""
    program: str
    """Name of the meson executable, csrc/test/PROGRAM.c."""
    cases: tuple[str, ...]
    """First argument of each run; their costs add up."""
    target: int | None = None
    """Most instructions (or bytes) that one operation should cost; None: no target."""
    gate: int | None = None
    """What it costs today and a few per cent: `--check` fails above. None: the target."""
    count: int = 10_000
    """Operations that the two callgrind runs differ by."""
    scale: int = 100
    """How many times as many operations the native run does."""
    unit: str = "instructions"
    """`instructions`, or `bytes` when the program prints a size instead."""


BENCHES = (
    Bench("NDP frame: encode + decode", "bench_wire", ("encode-ndp", "decode-ndp"), 200, 200),
    Bench(
        "NDP frame, IPv6: encode + decode", "bench_wire", ("encode-ndp6", "decode-ndp6"), 200, 203
    ),
    Bench("Homa frame: encode + decode", "bench_wire", ("encode-homa", "decode-homa"), 200, 200),
    Bench(
        "NDP frame with a tag: encode + decode",
        "bench_wire",
        ("encode-ndp-tagged", "decode-ndp-tagged"),
        gate=596,
    ),
    Bench(
        "Homa GRANT frame: encode + decode",
        "bench_wire",
        ("encode-homa-grant", "decode-homa-grant"),
        gate=502,
    ),
    Bench(
        "NDP frame, 1408 bytes and their check",
        "bench_wire",
        ("encode-ndp-data", "decode-ndp-data"),
        gate=1_120,
    ),
    Bench(
        "Homa frame, 1408 bytes and their checksum",
        "bench_wire",
        ("encode-homa-data", "decode-homa-data"),
        gate=2_200,
    ),
    Bench("trim a frame in place", "bench_wire", ("trim",), gate=530),
    Bench("droptail: enqueue + dequeue", "bench_queue", ("droptail",), gate=145),
    Bench("ecn: enqueue + dequeue", "bench_queue", ("ecn",), gate=165),
    Bench("cut_payload: enqueue (cut) + dequeue", "bench_queue", ("cut_payload",), gate=200),
    Bench("strict, 8 levels: enqueue + dequeue", "bench_queue", ("strict",), gate=180),
    Bench("ndp: enqueue + dequeue", "bench_queue", ("ndp",), 150, 140),
    Bench("ndp, full: coin, trim, dequeue", "bench_queue", ("ndp-trim",), gate=320),
    Bench("fair (ndp + droptail): enqueue + dequeue", "bench_queue", ("fair",), gate=285),
    Bench("pfabric, 24 packets: enqueue + dequeue", "bench_queue", ("pfabric",), gate=560),
    Bench("pfabric, 576 of 64 B: enqueue + dequeue", "bench_queue", ("pfabric-600",), gate=700),
    Bench("phantom queue: one packet", "bench_queue", ("phantom",), gate=70),
    Bench("Homa 100-byte RPC, both ends", "bench_homa", ("rpc",), 3_000, 3_000, 2_000),
    Bench("Homa data packet, both ends", "bench_homa", ("data",), None, 1_110, 2_000, 10),
    Bench("NDP data packet, sender: DATA, ACK, PULL", "bench_ndp", ("sender",), 600, 615),
    Bench("NDP data packet, receiver: DATA, ACK, PULL", "bench_ndp", ("receiver",), 600, 620),
    Bench("NDP 100-byte message, both ends", "bench_ndp", ("message",), None, 2_380, 2_000, 10),
    Bench(
        "NDP bulk through two hosts, a full packet",
        "bench_fast_bulk",
        ("turns",),
        gate=4_150,
        count=12_800,
    ),
    Bench(
        "Homa 100-byte echo through two hosts",
        "bench_fast_echo",
        ("homa-turns",),
        gate=10_200,
        count=2_000,
    ),
    Bench(
        "NDP 100-byte echo through two hosts",
        "bench_fast_echo",
        ("ndp-turns",),
        gate=12_700,
        count=2_000,
    ),
    Bench("idle NDP connection", "bench_state", ("ndp-connection",), 512, unit="bytes"),
    Bench("idle Homa peer", "bench_state", ("homa-peer",), 512, unit="bytes"),
)


@dataclass(frozen=True)
class Result:
    """What was measured for one bench."""

    what: str
    program: str
    cases: tuple[str, ...]
    value: float
    unit: str
    target: int | None
    gate: int | None
    nanoseconds: float | None

    @property
    def verdict(self) -> str:
        """`ok`, `OVER` the target, `-` where there is none, `WORSE` than it was."""
        if self.gate is not None and self.value > self.gate:
            return "WORSE"
        if self.target is None:
            return "-"
        return "ok" if self.value <= self.target else "OVER"


class BenchError(Exception):
    """A bench program could not be built or run."""


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs a command and raises with its output when it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    except FileNotFoundError as error:
        raise BenchError(f"{command[0]} is missing: run make dev") from error
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done


def instructions(program: Path, case: str, count: int) -> int:
    """Instructions of one whole run, as callgrind counts them."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = run([*valgrind, str(program), case, "--count", str(count)])
    match = re.search(r"Collected : (\d+)", done.stderr)
    if not match:
        raise BenchError(f"{program.name} {case}: callgrind reported no count")
    return int(match[1])


def seconds(program: Path, case: str, count: int) -> float:
    """Wall time of the fastest of three runs."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        run([str(program), case, "--count", str(count)])
        best = min(best, time.perf_counter() - start)
    return best


def measure(bench: Bench, build: Path, timed: bool) -> Result:
    """Measures one bench; nanoseconds too when timed."""
    program = build / "csrc" / bench.program
    value, spent = 0.0, 0.0
    for case in bench.cases:
        if bench.unit == "bytes":
            value += int(run([str(program), case]).stdout)
            continue
        low, high = bench.count // 10, bench.count // 10 + bench.count
        value += (
            instructions(program, case, high) - instructions(program, case, low)
        ) / bench.count
        if timed:
            large = bench.count * bench.scale
            spent += (seconds(program, case, large) - seconds(program, case, low)) * 1e9 / large
    clock = spent if timed and bench.unit == "instructions" else None
    gate = bench.target if bench.gate is None else bench.gate
    return Result(
        bench.what,
        bench.program,
        bench.cases,
        round(value, 1),
        bench.unit,
        bench.target,
        gate,
        clock,
    )


def environment(build: Path) -> dict[str, str]:
    """What the figures depend on."""
    options = json.loads(run(["meson", "introspect", "--buildoptions", str(build)]).stdout)
    wanted = {option["name"]: str(option["value"]) for option in options}
    compilers = json.loads(run(["meson", "introspect", "--compilers", str(build)]).stdout)
    compiler = compilers["host"]["c"]
    return {
        "processor": processor(),
        "cpus": str(os.cpu_count()),
        "kernel": platform.release().split("-")[0],
        "compiler": f"{compiler['id']} {compiler['version']}",
        "optimization": f"-O{wanted['optimization']}",
    }


def table(results: list[Result], around: dict[str, str]) -> str:
    """The results as a Markdown table, which is readable as it is."""
    head = ("operation", "measured", "target", "verdict", "ns")
    rows = [
        (
            result.what,
            f"{result.value:,.0f} {'B' if result.unit == 'bytes' else 'instr.'}",
            "-" if result.target is None else f"<= {result.target:,}",
            result.verdict,
            "-" if result.nanoseconds is None else f"{result.nanoseconds:,.1f}",
        )
        for result in results
    ]
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    rule = tuple("-" * width for width in widths)
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in (head, rule, *rows)
    ]
    conditions = ", ".join(f"{name} {value}" for name, value in around.items())
    return "\n".join([*lines, "", f"Conditions: {conditions}."])


def write(path: Path, text: str) -> None:
    """Replaces what is between the two marks of a document."""
    document = path.read_text(encoding="utf-8")
    if BEGIN not in document or END not in document:
        raise BenchError(f"{path} has no marks: put {BEGIN} and {END} around the table")
    before, rest = document.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build-gcc", help="meson build folder")
    parser.add_argument("--check", action="store_true", help="instruction counts only, no timing")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--write", type=Path, metavar="FILE", help="rewrite the table in FILE")
    parser.add_argument("--only", default="", metavar="TEXT", help="benches whose name has TEXT")
    return parser.parse_args()


def main() -> int:
    """Builds, measures, prints; 1 when a gate is missed, 2 when a bench does not run."""
    options = arguments()
    build = options.build.resolve()
    chosen = [bench for bench in BENCHES if options.only in bench.what]
    if not chosen:
        print(f"bench: no bench is named {options.only!r}", file=sys.stderr)
        return 2
    try:
        run(["ninja", "-C", str(build), *sorted({f"csrc/{b.program}" for b in chosen})])
        results = [measure(bench, build, timed=not options.check) for bench in chosen]
        around = environment(build)
        text = table(results, around)
        if options.write:
            write(options.write, text)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    if options.json:
        rows = [{**asdict(result), "verdict": result.verdict} for result in results]
        print(json.dumps({"environment": around, "results": rows}, indent=2))
    else:
        print(text)
    return 1 if any(result.verdict == "WORSE" for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
