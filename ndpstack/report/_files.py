"""Writes a run's files into a folder."""

from __future__ import annotations

import csv
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from ndpstack._errors import UserError
from ndpstack.report._document import document, dumps
from ndpstack.report._timeline import write_timeline
from ndpstack.sim._result import STATES, bins_begun, completion_ps

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


def port_columns(run: Run) -> Columns:
    """The switch ports: how long the queue of each was, and its counters."""
    network, depths = run.plan.network, run.depths
    names, counters = run.queue_counters()
    ports = range(network.hosts, network.ports)
    return {
        "port": np.array([network.port_name(port) for port in ports]),
        "leads": np.array([network.tier(port) for port in ports]),
        "mean_bytes": depths["bytes_ns"][network.hosts :] / max(run.now_ps / 1e3, 1),
        "max_bytes": depths["bytes_max"][network.hosts :],
        **{name: counters[network.hosts :, column] for column, name in enumerate(names)},
    }


def goodput_columns(run: Run) -> Columns:
    """Payload bytes that arrived, by bin of time and host or flow."""
    width = run.scenario.probes.goodput or 1
    series = run.goodput[:, : bins_begun(run.goodput, width, run.now_ps)]
    who, bins = np.indices(series.shape).reshape(2, -1)
    return {
        "start_us": bins * (width / 1e6),
        run.scenario.probes.goodput_of.removesuffix("s"): who,
        "bytes": series.reshape(-1),
    }


def write_table(folder: Path, name: str, columns: Columns) -> Path:
    """name.parquet where pyarrow is installed, else name.csv."""
    if find_spec("pyarrow") is None:
        path = folder / f"{name}.csv"
        _write_csv(path, columns)
        return path
    import pyarrow as pa
    from pyarrow import parquet

    path = folder / f"{name}.parquet"
    parquet.write_table(pa.table(columns), path)
    return path


def _tables(run: Run) -> dict[str, Columns]:
    """What the probes of a run allow, by name of the file."""
    tables = {"flows": flow_columns(run)}
    if len(run.depths):
        tables["ports"] = port_columns(run)
    if run.goodput.size:
        tables["goodput"] = goodput_columns(run)
    return tables


_NAMES = (
    "report.html",
    "timeline.json",
    *(f"{table}.{end}" for table in ("flows", "ports", "goodput") for end in ("csv", "parquet")),
)
"""Files that not every run leaves."""


def _clear(folder: Path) -> None:
    """Takes away what an earlier run left, which would pass for this one's."""
    for name in _NAMES:
        (folder / name).unlink(missing_ok=True)


def write_results(folder: Path, file: ScenarioFile, run: Run, result: Result) -> list[Path]:
    """Everything that a run leaves behind, in place of what an earlier one left there.

    Returns:
        The files, report.html among them where matplotlib is installed.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _clear(folder)
        results = folder / "results.json"
        results.write_text(dumps(document(file, run, result)) + "\n")
        written = [results]
        written += [write_table(folder, name, table) for name, table in _tables(run).items()]
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
