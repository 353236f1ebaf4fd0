"""Standings as a table and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from ndpstack._table import Cell, Column, render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ndpstack.bench._rounds import Match, Standing

Document = dict[str, object]

COLUMNS = (
    Column("contestant"),
    Column("p50", "us", 1),
    Column("p99", "us", 1),
    Column("requests", "1/s", 0),
    Column("goodput", "Gbit/s", 3),
    Column("p50 to ours"),
    Column("requests to ours"),
)

FIGURES = ("p50_us", "p99_us", "requests_per_s", "gbit_per_s")


def standings_table(standings: Sequence[Standing]) -> str:
    """One row a contestant; ratios are to the first, round by round."""
    first = standings[0]
    rows: list[tuple[Cell, ...]] = []
    for each in standings:
        row: list[Cell] = [each.title, *(each.median(figure) for figure in FIGURES)]
        row += [first.against(each, "p50_us"), first.against(each, "requests_per_s")]
        rows.append(tuple(row))
    return render(COLUMNS, rows)


def standings_document(match: Match, standings: Sequence[Standing]) -> Document:
    """All that was measured, round by round."""
    return {
        "kind": match.kind,
        "request_bytes": match.request_bytes,
        "reply_bytes": match.reply_bytes,
        "count": match.count,
        "outstanding": match.outstanding,
        "contestants": {
            each.name: {
                "title": each.title,
                "mode": each.mode,
                "error": each.error,
                "median": {figure: each.median(figure) for figure in FIGURES},
                "rounds": [asdict(one) if one else None for one in each.rounds],
            }
            for each in standings
        },
    }
