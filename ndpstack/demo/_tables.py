"""The demo's numbers as tables, and what would be wrong about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ndpstack._table import Cell, Column
from ndpstack.agent import Rounds, incast_rounds
from ndpstack.report._tables import Table
from ndpstack.sim import completion_ps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ndpstack.demo._runs import Done

OVER_OPTIMUM_MAX = 1.15
TAIL_MAX = 1.10
"""E-N08 on real links: last flow against the optimum, and its 90th percentile to its median."""

SHORT_BYTES = 1400
"""A short message fits into a packet."""


def by_key(done: list[Done]) -> dict[str, Done]:
    """Runs by their short names."""
    return {item.job.key: item for item in done}


def _rounds(done: dict[str, Done], key: str) -> dict[int, Rounds]:
    return {row.size: row for row in incast_rounds(done[key].run)} if key in done else {}


def incast_table(done: list[Done]) -> Table:
    """Time of the last of seven replies by their size, in every world."""
    runs = by_key(done)
    names = {"ndp": "NDP", "sim": "NDP simulated", "tcp": "TCP", "shallow": "TCP, 16 packets"}
    found = {key: _rounds(runs, key) for key in names if key in runs}
    columns = [Column("reply", "KB", 0), Column("optimum", "ms", 1)]
    for key in found:
        columns += [Column(f"{names[key]} p50", "ms", 1), Column("p90", "ms", 1)]
    columns.append(Column("NDP / optimum"))
    rows: list[tuple[Cell, ...]] = []
    for size, ndp in found["ndp"].items():
        row: list[Cell] = [size // 1000, ndp.optimum_ms]
        for rounds in found.values():
            row += [rounds[size].median_ms, rounds[size].p90_ms]
        rows.append((*row, ndp.over_optimum))
    return Table(
        "(a), (c) Seven servers answer one: when the last reply is there",
        tuple(columns),
        tuple(rows),
    )


def slowdowns(done: Done) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Sizes and slowdowns of the messages that ended."""
    flows, rows = done.run.flows, done.run.rows
    times = completion_ps(flows, rows)
    ended = ~np.isnan(times)
    return flows["bytes"][ended], times[ended] / rows["best_ps"][ended]


def rpc_table(done: list[Done]) -> Table:
    """Slowdown of requests, short ones apart."""
    runs = by_key(done)
    columns = (
        Column("requests"),
        Column("count"),
        Column("short p50"),
        Column("short p99"),
        Column("all p50"),
        Column("all p99"),
    )
    rows: list[tuple[Cell, ...]] = []
    for key, name in (("homa", "Homa"), ("rpc-tcp", "kernel TCP")):
        if key not in runs:
            continue
        sizes, slow = slowdowns(runs[key])
        short = slow[sizes <= SHORT_BYTES]
        quantiles = (*np.percentile(short, [50, 99]), *np.percentile(slow, [50, 99]))
        rows.append((name, len(slow), *map(float, quantiles)))
    title = "(b) W4 up to 1 MB at 80 % load: slowdown against an idle network"
    return Table(title, columns, tuple(rows))


def failure_table(done: list[Done]) -> Table | None:
    """What a broken cable did."""
    runs = by_key(done)
    if "failure" not in runs:
        return None
    result = runs["failure"].result
    counters = result.engines["ndp"]
    columns = (
        Column("flows"),
        Column("ended"),
        Column("lost"),
        Column("corrupted"),
        Column("sent again", "pkt"),
        Column("p50", "ms", 1),
        Column("max", "ms", 1),
    )
    damaged = sum(item.error == -74 for item in result.unfinished)
    fct = result.fct_us
    row: tuple[Cell, ...] = (
        result.flows,
        result.finished,
        result.flows - result.finished,
        damaged,
        counters["data_resent"],
        fct.p50 / 1000 if fct else None,
        fct.max / 1000 if fct else None,
    )
    return Table("(d) A cable between two switches goes down under load", columns, (row,))


def demo_tables(done: list[Done]) -> list[Table]:
    """Everything, in the order of the demo."""
    failure = failure_table(done)
    return [incast_table(done), rpc_table(done), *([failure] if failure else [])]


def machine_of(done: list[Done]) -> str:
    """What the demo was measured on."""
    return by_key(done)["ndp"].run.conditions["machine"]


def what_is_lost(done: list[Done]) -> list[str]:
    """Messages that did not arrive; none on any machine."""
    return [
        f"{item.job.title}: {item.result.flows - item.result.finished} of {item.result.flows} "
        "flows did not end"
        for item in done
        if item.result.finished < item.result.flows
    ]


def what_is_wrong(done: list[Done]) -> list[str]:
    """Numbers that are outside their bounds; none on a machine that has time for the demo."""
    wrong = []
    for rounds in incast_rounds(by_key(done)["ndp"].run):
        size = f"incast of {rounds.size // 1000} KB"
        if rounds.over_optimum > OVER_OPTIMUM_MAX:
            wrong.append(
                f"{size}: last flow at {rounds.over_optimum:.2f} of the optimum, "
                f"above {OVER_OPTIMUM_MAX}"
            )
        if rounds.p90_ms > TAIL_MAX * rounds.median_ms:
            wrong.append(
                f"{size}: p90 at {rounds.p90_ms / rounds.median_ms:.2f} of the median, "
                f"above {TAIL_MAX}"
            )
    return wrong
