"""A result as tables, for terminals and reports alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ndpstack._table import Cell, Column, cell_text, render

if TYPE_CHECKING:
    from ndpstack.sim import Goodput, Result, Spread

UNFINISHED_MAX = 20
"""Unfinished flows that are listed; results.json has them all."""

_GBIT = 1e9


@dataclass(frozen=True)
class Table:
    """Columns, rows and what they show."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __str__(self) -> str:
        return render(self.columns, self.rows, self.title)

    def texts(self) -> list[list[str]]:
        """The cells as they are printed."""
        return [
            [cell_text(cell, column) for cell, column in zip(row, self.columns, strict=True)]
            for row in self.rows
        ]


def _spread(name: str, spread: Spread | None) -> tuple[Cell, ...]:
    if spread is None:
        return (name, 0, None, None, None, None, None)
    return (name, spread.count, spread.mean, spread.p50, spread.p99, spread.p999, spread.max)


def _flows(result: Result) -> Table:
    columns = (
        Column("complete flows"),
        Column("count"),
        Column("mean"),
        Column("p50"),
        Column("p99"),
        Column("p99.9"),
        Column("max"),
    )
    rows = (_spread("completion time [us]", result.fct_us), _spread("slowdown", result.slowdown))
    return Table("Completion", columns, rows)


def _sizes(result: Result) -> Table:
    columns = (
        Column("size up to", "B"),
        Column("count"),
        Column("mean"),
        Column("p50"),
        Column("p99"),
        Column("max"),
    )
    rows = tuple(
        (
            band.size_max,
            band.slowdown.count,
            band.slowdown.mean,
            band.slowdown.p50,
            band.slowdown.p99,
            band.slowdown.max,
        )
        for band in result.slowdown_by_size
    )
    return Table("Slowdown by size", columns, rows)


def _rate(name: str, goodput: Goodput | None) -> tuple[Cell, ...]:
    if goodput is None:
        return (name, None, None, None)
    return (name, goodput.mean / _GBIT, goodput.min / _GBIT, goodput.max / _GBIT)


def _goodput(result: Result) -> Table:
    columns = (
        Column("goodput"),
        Column("mean", "Gbit/s", 3),
        Column("min", "Gbit/s", 3),
        Column("max", "Gbit/s", 3),
    )
    rows = (
        _rate("of a flow while it lasts", result.flow_goodput),
        _rate("of a host over the run", result.host_goodput),
    )
    return Table("Goodput", columns, rows)


def _queues(result: Result) -> Table:
    columns = (
        Column("ports"),
        Column("enqueued", "pkt"),
        Column("trimmed", "pkt"),
        Column("dropped", "pkt"),
        Column("marked", "pkt"),
        Column("returned", "pkt"),
        Column("mean queue", "KB"),
        Column("max queue", "KB"),
    )
    rows: list[tuple[Cell, ...]] = []
    for tier, counters in result.queues.items():
        depth = result.depths.get(tier)
        rows.append(
            (
                tier,
                counters["enqueued_packets"],
                counters["trimmed_packets"],
                counters["dropped_packets"],
                counters["marked_packets"],
                counters["returned_packets"],
                depth.mean / 1000 if depth else None,
                depth.max / 1000 if depth else None,
            )
        )
    return Table("Switch ports", columns, tuple(rows))


def _unfinished(result: Result) -> Table:
    columns = (
        Column("flow"),
        Column("source"),
        Column("target"),
        Column("size", "B"),
        Column("arrived", "B"),
        Column("state"),
        Column("error", "errno"),
    )
    rows = tuple(
        (
            flow.flow,
            flow.source,
            flow.target,
            flow.size,
            flow.arrived,
            flow.state,
            flow.error or None,
        )
        for flow in result.unfinished[:UNFINISHED_MAX]
    )
    more = len(result.unfinished) - len(rows)
    title = f"Unfinished flows: {len(result.unfinished):,}"
    return Table(title + (f", the first {len(rows)}" if more else ""), columns, rows)


def result_tables(result: Result) -> list[Table]:
    """The tables that say something about this result."""
    tables = [_flows(result)] if result.fct_us else []
    if len(result.slowdown_by_size) > 1:
        tables.append(_sizes(result))
    tables.append(_goodput(result))
    if result.queues:
        tables.append(_queues(result))
    if result.unfinished:
        tables.append(_unfinished(result))
    return tables
