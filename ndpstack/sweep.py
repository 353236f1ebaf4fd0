"""A scenario at many points: every combination of values, several seeds each, in processes.

A point's outcome is one file, written when it is complete, so a sweep that was stopped goes on
where it was. Any `concurrent.futures.Executor` can do the work; dask's does it on many
machines.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from concurrent.futures import BrokenExecutor, Executor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from importlib import import_module
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from ndpstack import __version__, _json
from ndpstack._errors import UserError
from ndpstack.scenario import load_scenario
from ndpstack.toml import join_keys, split_override

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ndpstack.scenario import Scenario

Document = dict[str, object]

POINTS_MAX = 100_000

WORKER_DIED = (
    "a process that ran a point was killed; if memory ran out, use fewer at a time (--jobs). "
    "Points that are done are kept: the same command goes on where it was"
)

DASK_WAIT_S = 10
"""A scheduler that does not answer within this is not there."""


@dataclass(frozen=True)
class Vary:
    """A key of the scenario and the values that it takes."""

    key: str
    values: tuple[str, ...]

    @staticmethod
    def parse(text: str) -> Vary:
        """From "topology.k=4,8,12"; commas within brackets or quotes do not separate."""
        if "=" not in text:
            raise UserError(f"--vary {text}: write it like topology.k=4,8,12")
        keys, values = split_override(text)
        parts = _split(values)
        if not all(parts):
            raise UserError(f"--vary {text}: a value is empty; write it like topology.k=4,8,12")
        if len(set(parts)) < len(parts):
            raise UserError(f"--vary {text}: a value stands there twice")
        if keys == ["seed"]:
            raise UserError(f"--vary {text}: for more seeds, say how many with --seeds")
        return Vary(join_keys(keys), tuple(parts))


def _split(text: str) -> list[str]:
    parts, depth, quoted = [""], 0, False
    for letter in text:
        quoted ^= letter == '"'
        depth += (letter in "[{") - (letter in "]}")
        if letter == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


@dataclass(frozen=True)
class Point:
    """One run of a sweep."""

    scenario: str
    """Path or name."""
    base: tuple[str, ...]
    """What all points set."""
    values: tuple[tuple[str, str], ...]
    """Keys and values of this one."""
    seed: int
    inputs: str
    """Names what the run is made of: all settings, and what is in the files that they name."""

    @property
    def overrides(self) -> list[str]:
        """As `ndpstack run --set` takes them."""
        return [*self.base, *(f"{key}={value}" for key, value in self.values), f"seed={self.seed}"]

    def digest(self) -> str:
        """Names the point's file: a run of another scenario or version is another point."""
        parts = json.dumps([__version__, self.inputs, self.overrides])
        return hashlib.sha256(parts.encode()).hexdigest()[:16]


def _inputs(scenario: Scenario) -> str:
    parts = hashlib.sha256(repr(scenario).encode())
    for path in _paths(scenario):
        # What cannot be read is told when the point is run.
        with suppress(OSError):
            parts.update(path.read_bytes())
    return parts.hexdigest()


def _paths(value: object) -> Iterator[Path]:
    """The files that settings name, at any depth."""
    if isinstance(value, Path):
        yield value
    elif is_dataclass(value):
        for item in fields(value):
            yield from _paths(getattr(value, item.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from _paths(item)


def plan(scenario: str, base: Sequence[str], vary: Sequence[Vary], seeds: int) -> list[Point]:
    """All points, the last key varying fastest, seeds faster still."""
    first = load_scenario(scenario, base).scenario.seed
    grid = itertools.product(*(vary_.values for vary_ in vary))
    keys = [vary_.key for vary_ in vary]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise UserError(f"--vary {twice} stands there twice; give all its values at once")
    count = seeds * prod(len(vary_.values) for vary_ in vary)
    if not 1 <= count <= POINTS_MAX:
        raise UserError(f"a sweep of {count:,} points; there must be 1 to {POINTS_MAX:,}")
    points = []
    for values in grid:
        point = Point(scenario, tuple(base), tuple(zip(keys, values, strict=True)), first, "")
        found = load_scenario(scenario, point.overrides).scenario
        if found.probes.capture is not None and count > 1:
            raise UserError(
                "probes.capture: all points of a sweep would write the same file; leave it out, "
                "and capture one point with `ndpstack run`"
            )
        inputs = _inputs(found)
        points += [replace(point, seed=first + i, inputs=inputs) for i in range(seeds)]
    return points


def run_point(point: Point) -> Document:
    """Runs one point, in whatever process; errors of the user become part of the outcome."""
    from ndpstack.report import document
    from ndpstack.sim import Simulation, summarise

    file = load_scenario(point.scenario, point.overrides)
    simulation = Simulation(file)
    simulation.run()
    if simulation.error:
        raise UserError(f"{' '.join(point.overrides)}: {simulation.error}")
    return document(file, simulation, summarise(simulation))


class Store:
    """The outcomes of a sweep in a folder, one file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "points"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"{folder}: cannot write there: {error.strerror}; choose another folder with --out"
            ) from None

    def _path(self, point: Point) -> Path:
        return self._folder / f"{point.digest()}.json"

    def get(self, point: Point) -> Document | None:
        """The outcome, or None when the point has not been run."""
        try:
            result = _json.loads(self._path(point).read_text())
        except (OSError, ValueError, RecursionError):
            return None
        # What is not one of ours, or not whole, is a point to be run again.
        if isinstance(result, dict) and isinstance(result.get("result"), dict):
            return result
        return None

    def put(self, point: Point, outcome: Document) -> None:
        """Keeps an outcome; it is there whole or not at all."""
        path = self._path(point)
        part = path.with_suffix(f".{os.getpid()}.part")
        try:
            part.write_text(json.dumps(outcome, indent=1))
            part.replace(path)
        except OSError as error:
            raise UserError(
                f"{path}: cannot be written: {error.strerror}; what is done is kept: make room, "
                "and the same command goes on where it was"
            ) from None


def run(
    points: Sequence[Point], store: Store, executor: Executor, done: Callable[[int, int], None]
) -> list[Document]:
    """Runs the points that have no outcome yet.

    Args:
        points: The whole sweep.
        store: Where outcomes are kept.
        executor: Who runs them.
        done: Called with the number of points that have an outcome, and of all.

    Returns:
        The outcomes in the order of the points.

    Raises:
        UserError: A point cannot be run, or a worker was killed; what is done is kept.
    """
    outcomes = {point: store.get(point) for point in points}
    todo = [point for point, outcome in outcomes.items() if outcome is None]
    done(len(points) - len(todo), len(points))
    futures = {executor.submit(run_point, point): point for point in todo}
    missing = len(todo)
    try:
        for future in as_completed(futures):
            point = futures[future]
            try:
                outcomes[point] = outcome = future.result()
            except BrokenExecutor:
                # Others may have ended before; theirs are kept.
                continue
            store.put(point, outcome)
            missing -= 1
            done(len(points) - missing, len(points))
    finally:
        for future in futures:
            future.cancel()
    if missing:
        raise UserError(WORKER_DIED)
    return [outcome for outcome in outcomes.values() if outcome is not None]


@contextmanager
def dask_executor(scheduler: str) -> Iterator[Executor]:
    """The workers of a dask cluster, which need this version of ndpstack and the scenario's files.

    Raises:
        UserError: dask is not installed, nobody answers at that address, or workers were killed.
    """
    try:
        distributed = import_module("distributed")
    except ImportError:
        raise UserError(
            "--dask needs dask; install it with: pip install 'ndpstack[dask]'"
        ) from None
    try:
        client = distributed.Client(scheduler, timeout=DASK_WAIT_S)
    except (OSError, ValueError) as error:
        raise UserError(f"--dask {scheduler}: no scheduler there: {error}") from None
    try:
        with client, client.get_executor(pure=False) as executor:
            yield executor
    except distributed.KilledWorker:
        raise UserError(WORKER_DIED) from None


def metric(outcome: Document, path: Iterable[str]) -> float | None:
    """A number of an outcome by the names on the way to it; None where there is none."""
    node: object = outcome
    for name in path:
        if not isinstance(node, dict) or name not in node:
            return None
        node = node[name]
    return float(node) if isinstance(node, int | float) else None
