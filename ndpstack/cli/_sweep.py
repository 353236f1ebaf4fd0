"""`ndpstack sweep`: one scenario at many points."""

from __future__ import annotations

import csv
import multiprocessing
import os
import sys
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from ndpstack import sweep
from ndpstack._errors import UserError
from ndpstack._table import Column, render
from ndpstack.cli._exit import Exit
from ndpstack.cli._extra import need
from ndpstack.cli._numbers import count
from ndpstack.cli._pool import Pool

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from concurrent.futures import Executor
    from contextlib import AbstractContextManager

    from ndpstack._table import Cell
    from ndpstack.sweep import Document, Point

METRICS = {
    Column("mean FCT", "us"): (("result", "fct_us", "mean"), 1.0),
    Column("p50 FCT", "us"): (("result", "fct_us", "p50"), 1.0),
    Column("p99 FCT", "us"): (("result", "fct_us", "p99"), 1.0),
    Column("max FCT", "us"): (("result", "fct_us", "max"), 1.0),
    Column("p50 slowdown"): (("result", "slowdown", "p50"), 1.0),
    Column("p99 slowdown"): (("result", "slowdown", "p99"), 1.0),
    Column("mean goodput", "Gbit/s", 3): (("result", "flow_goodput", "mean"), 1e-9),
    Column("min goodput", "Gbit/s", 3): (("result", "flow_goodput", "min"), 1e-9),
    Column("finished"): (("result", "finished"), 1.0),
    Column("flows"): (("result", "flows"), 1.0),
}
"""What the summary shows: where it stands in an outcome, and the factor to the column's unit."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument(
        "scenario", metavar="SCENARIO", help="a TOML file, or one that comes with ndpstack"
    )
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="KEY=A,B,C",
        required=True,
        help="values of a key: topology.k=4,8,12; repeatable, all combinations",
    )
    parser.add_argument(
        "--seeds",
        type=count,
        default=1,
        metavar="N",
        help="runs of each point with seeds that follow each other (default: 1)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change the scenario at all points; repeatable",
    )
    parser.add_argument(
        "--jobs",
        type=count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes (default: one a processor)",
    )
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="a dask scheduler, such as tcp://10.0.0.1:8786, whose workers run the points",
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="outcomes and summary.csv; points that are there are not run again",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Runs what is missing and shows all."""
    need("the simulator", "sim", "numpy")
    from ndpstack.report import dumps

    vary = [sweep.Vary.parse(text) for text in arguments.vary]
    points = sweep.plan(_anywhere(arguments), arguments.set, vary, arguments.seeds)
    store = sweep.Store(arguments.out)
    with _executor(arguments) as executor:
        outcomes = sweep.run(points, store, executor, _progress)
    _write_csv(arguments.out / "summary.csv", points, outcomes)
    if arguments.json:
        print(dumps(outcomes))
    else:
        print(_summary(points, outcomes))
        print(
            f"\nwritten: {arguments.out / 'summary.csv'} and {len(points):,} files in "
            f"{arguments.out / 'points'}"
        )
    whole = all(not _unfinished(outcome) for outcome in outcomes)
    return Exit.OK if whole else Exit.UNFINISHED


def _executor(arguments: argparse.Namespace) -> AbstractContextManager[Executor]:
    """Who runs the points: workers of a dask cluster, or processes here."""
    if arguments.dask is not None:
        return sweep.dask_executor(arguments.dask)
    # Spawned: a child must not inherit threads or open files of whoever calls this.
    context = multiprocessing.get_context("spawn")
    return Pool(arguments.jobs, context)


def _anywhere(arguments: argparse.Namespace) -> str:
    """The scenario as a worker finds it, which runs in another folder."""
    file = Path(arguments.scenario)
    return str(file.resolve() if file.is_file() else file)


def _progress(done: int, points: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == points else ""
        print(f"\r{done:,} of {points:,} points", end=end, file=sys.stderr, flush=True)


def _unfinished(outcome: Document) -> bool:
    return sweep.metric(outcome, ("result", "finished")) != sweep.metric(
        outcome, ("result", "flows")
    )


def _numbers(outcome: Document) -> list[float | None]:
    numbers = []
    for path, factor in METRICS.values():
        number = sweep.metric(outcome, path)
        numbers.append(None if number is None else number * factor)
    return numbers


def _write_csv(path: Path, points: Sequence[Point], outcomes: Sequence[Document]) -> None:
    """A row for every point and seed."""
    rows: list[list[object]] = [
        [*(key for key, _ in points[0].values), "seed", *(column.header for column in METRICS)]
    ]
    for point, outcome in zip(points, outcomes, strict=True):
        rows.append([*(value for _, value in point.values), point.seed, *_numbers(outcome)])
    try:
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    except OSError as error:
        raise UserError(
            f"{path}: cannot be written: {error.strerror}; what is done is kept: mend that, and "
            "the same command goes on where it was"
        ) from None


def _mean(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return fmean(known) if known else None


def _summary(points: Sequence[Point], outcomes: Sequence[Document]) -> str:
    """A row for every point: the mean over its seeds."""
    groups: dict[tuple[tuple[str, str], ...], list[list[float | None]]] = {}
    for point, outcome in zip(points, outcomes, strict=True):
        groups.setdefault(point.values, []).append(_numbers(outcome))
    rows: list[tuple[Cell, ...]] = [
        (*(value for _, value in values), *(_mean(column) for column in zip(*numbers, strict=True)))
        for values, numbers in groups.items()
    ]
    columns = [*(Column(key) for key, _ in points[0].values), *METRICS]
    seeds = len(points) // len(groups)
    title = f"{len(groups):,} points" + (f", mean of {seeds} seeds each" if seeds > 1 else "")
    return render(columns, rows, title)
