"""Writes a run's files into a folder."""

from __future__ import annotations

import csv
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from ndpstack._errors import UserError
from ndpstack.report._document import document, dumps
from ndpstack.report._timeline import write_timeline
from ndpstack.sim._result import STATES, completion_ps

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from ndpstack.scenario import ScenarioFile
    from ndpstack.sim import Result, Run

Columns = dict[str, "NDArray[np.generic]"]


def flow_columns(run: Run) -> Columns:
    """The flows as named columns, times in microseconds."""
    flows, rows = run.flows, run.rows
    fct = completion_ps(flows, rows)
    start = rows["start_ps"].astype(np.float64)
    start[rows["start_ps"] == np.iinfo(np.uint64).max] = np.nan
    return {
        "flow": np.arange(len(flows)),
        "source": flows["source"],
        "target": flows["target"],
        "bytes": flows["bytes"],
        "state": np.array(STATES)[rows["state"]],
        "start_us": start / 1e6,
        "fct_us": fct / 1e6,
        "slowdown": fct / np.maximum(rows["best_ps"], 1),
        "arrived_bytes": rows["payload_bytes"],
        "packets": rows["packets"],
        "lag_ns": rows["lag_ns"],
        "wait_ns": rows["wait_ns"],
        "error": rows["error"],
    }


def _write_csv(path: Path, columns: Columns) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in zip(*(column.tolist() for column in columns.values()), strict=True):
            writer.writerow(["" if cell != cell else cell for cell in row])


def write_flows(folder: Path, run: Run) -> Path:
    """flows.parquet where pyarrow is installed, else flows.csv."""
    columns = flow_columns(run)
    if find_spec("pyarrow") is None:
        path = folder / "flows.csv"
        _write_csv(path, columns)
        return path
    import pyarrow as pa
    from pyarrow import parquet

    path = folder / "flows.parquet"
    parquet.write_table(pa.table(columns), path)
    return path


def write_results(folder: Path, file: ScenarioFile, run: Run, result: Result) -> list[Path]:
    """Everything that a run leaves behind.

    Returns:
        The files, report.html among them where matplotlib is installed.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        results = folder / "results.json"
        results.write_text(dumps(document(file, run, result)) + "\n")
        written = [results, write_flows(folder, run)]
        if len(run.timeline):
            written.append(write_timeline(folder / "timeline.json", run))
        if find_spec("matplotlib") is not None:
            from ndpstack.report._html import write_report

            written.append(write_report(folder / "report.html", file, run, result))
    except OSError as error:
        raise UserError(
            f"{folder}: cannot write results: {error.strerror}; choose another folder with --out"
        ) from None
    return written
