"""`switchctl top`: rates of all ports, live."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ndpstack._errors import UserError
from ndpstack._table import Cell, Column, render
from ndpstack._units import format_rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ndpstack.control import Client

    Row = Mapping[str, object]

COLUMNS = (
    Column("switch"),
    Column("port"),
    Column("state"),
    Column("rx", "bit/s"),
    Column("tx", "bit/s"),
    Column("use", "%", 0),
    Column("queued", "B"),
    Column("trimmed", "/s", 0),
    Column("marked", "/s", 0),
    Column("dropped", "/s", 0),
)


@dataclass(frozen=True)
class Sample:
    """All ports at a moment."""

    time: float
    ports: Mapping[tuple[str, str], Row]
    runtime: Row


def sample(client: Client) -> Sample:
    """Asks for everything that is shown."""
    merged: dict[tuple[str, str], dict[str, object]] = {}
    for what in ("trim", "ecn", "queues", "ports"):
        for row in cast("list[Row]", client.call(f"show.{what}")):
            key = (str(row["switch"]), str(row["port"]))
            merged.setdefault(key, {}).update(row)
    runtime = cast("Row", client.call("show.runtime"))
    return Sample(time.monotonic(), merged, runtime)


def rows(before: Sample, now: Sample) -> list[list[Cell]]:
    """What happened between two samples."""
    seconds = max(now.time - before.time, 1e-9)
    found: list[list[Cell]] = []
    for key, row in now.ports.items():
        old = before.ports.get(key, row)

        def rate(*names: str, row: Row = row, old: Row = old) -> float:
            grown = sum(cast("int", row[name]) - cast("int", old[name]) for name in names)
            return max(0, grown) / seconds

        link = cast("int", row["rate_bps"])
        tx = 8 * rate("tx_bytes")
        found.append(
            [
                *key,
                str(row["state"]),
                format_rate(round(8 * rate("rx_bytes"))),
                format_rate(round(tx)),
                100 * tx / link if link else None,
                cast("int", row["bytes"]),
                rate("trim"),
                rate("marked", "phantom_marked"),
                rate("drops"),
            ]
        )
    return found


def headline(now: Sample) -> str:
    """The data path in a line."""
    runtime = now.runtime
    return (
        f"{runtime['rounds_per_second']:,.0f} rounds/s, asleep {runtime['asleep_percent']:.0f} %, "
        f"{runtime['frames_per_busy_round']:.1f} frames a busy round, "
        f"longest gap {runtime['gap_us_max']:,.0f} us, audit {runtime['audit']}"
    )


def screen(before: Sample, now: Sample) -> str:
    """What is shown."""
    return f"{headline(now)}\n\n{render(COLUMNS, rows(before, now))}"


def top(client: Client, seconds: float) -> None:
    """Shows rates until it is interrupted."""
    if not sys.stdout.isatty():
        raise UserError("top needs a terminal; for programs: switchctl -o json show ports")
    try:
        from rich.live import Live
        from rich.text import Text
    except ImportError:
        raise UserError("top needs rich: pip install 'ndpstack[cli]'") from None
    before = sample(client)
    with Live(Text("…"), screen=True, auto_refresh=False) as live:
        while True:
            time.sleep(seconds)
            now = sample(client)
            live.update(Text(screen(before, now), no_wrap=True), refresh=True)
            before = now
