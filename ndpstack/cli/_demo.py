"""`ndpstack demo`: what the stack is for, on real packets, in under three minutes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack.cli._exit import Exit
from ndpstack.cli._extra import need
from ndpstack.cli._folder import make_folder

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from ndpstack.demo import Demo, Done

PAGE = "demo-report.html"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("--short", action="store_true", help="half a minute, fewer rounds")
    parser.add_argument(
        "--on",
        choices=["memory", "netns"],
        help="netns where there is root for it, else memory",
    )
    parser.add_argument(
        "--out", type=Path, default=Path(), metavar="DIR", help=f"where {PAGE} goes"
    )
    parser.add_argument(
        "--strict", action="store_true", help="fail when a number is outside its bounds"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Runs the demo, prints its tables and writes its page."""
    need("the demo", "sim,cli", "numpy", "rich")
    from rich.console import Console

    from ndpstack.demo import Demo, demo_tables, machine_of, what_is_lost, what_is_wrong, write_page

    make_folder(arguments.out)
    console = Console(stderr=True)
    world = _world(arguments.on, console)
    demo = Demo(world, short=arguments.short)
    began = time.monotonic()
    done = _watched(demo, console)
    seconds = round(time.monotonic() - began)
    lost, wrong = what_is_lost(done), what_is_wrong(done)
    try:
        page = write_page(arguments.out / PAGE, done, world)
    except OSError as error:
        raise UserError(f"{arguments.out}: cannot write there: {error.strerror}") from None
    tables = demo_tables(done)
    if arguments.json:
        rows = {
            table.title: [dict(zip(_names(table), row, strict=True)) for row in table.rows]
            for table in tables
        }
        print(
            json.dumps(
                {
                    "schema_version": 1,
                    "on": world,
                    "machine": machine_of(done),
                    "seconds": seconds,
                    "tables": rows,
                    "lost": lost,
                    "wrong": wrong,
                    "page": str(page),
                },
                indent=1,
            )
        )
    else:
        for table in tables:
            print(f"{table}\n")
        for item in lost:
            print(f"lost: {item}")
        for item in wrong:
            print(f"outside its bounds: {item}")
        print(f"done in {seconds} s; more in {page}")
    return Exit.FAILED if lost or (wrong and arguments.strict) else Exit.OK


def _names(table: object) -> list[str]:
    from ndpstack.report._tables import Table

    assert isinstance(table, Table)
    names: list[str] = []
    for column in table.columns:
        before = names[-1].removesuffix(" p50 [ms]") if names else ""
        name = f"{before} {column.header}" if column.name == "p90" else column.header
        names.append(name)
    return names


def _world(wanted: str | None, console: Console) -> str:
    """Namespaces where they can be made; else memory, and a line that says why."""
    from ndpstack.testbed import why_unavailable

    reason = why_unavailable()
    if wanted == "netns" and reason:
        raise UserError(reason)
    if wanted is None and reason:
        console.print(
            f"No network namespaces here ({reason}): the demo runs over shared memory, without "
            "kernel TCP and without a cable that breaks."
        )
    return wanted or ("memory" if reason else "netns")


def _watched(demo: Demo, console: Console) -> list[Done]:
    """Runs the demo with a line for each run that fills up."""
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    from ndpstack.cli._progress import share_done
    from ndpstack.demo._runs import Watch

    bars = Bars(
        TextColumn("{task.description:<42}"), BarColumn(), TimeElapsedColumn(), console=console
    )

    class Lines(Watch):
        """A bar for each job."""

        def __init__(self) -> None:
            self.tasks = [bars.add_task(job.title, total=1.0, start=False) for job in demo.jobs]

        def begin(self, number: int) -> None:
            bars.start_task(self.tasks[number])

        def advance(self, number: int, progress: object) -> None:
            bars.update(self.tasks[number], completed=share_done(progress))  # type: ignore[arg-type]

        def end(self, number: int) -> None:
            bars.update(self.tasks[number], completed=1.0)
            bars.stop_task(self.tasks[number])

    with bars:
        return demo.run(Lines())
