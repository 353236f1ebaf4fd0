"""What `ndpstack reproduce` does, apart from its arguments, as it takes the simulator."""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from concurrent.futures import BrokenExecutor, as_completed
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack.cli._exit import Exit
from ndpstack.cli._folder import make_folder
from ndpstack.cli._pool import Pool
from ndpstack.reproduce import EXPERIMENTS, Effort, Outcome, find
from ndpstack.reproduce._report import as_dict, draw, markdown, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from ndpstack.reproduce import Experiment

Done = tuple[Outcome, float]

WORKER_DIED = (
    "a process that ran an experiment was killed; if memory ran out, run fewer at a time (--jobs)"
)


def _chosen(arguments: argparse.Namespace) -> list[Experiment]:
    if arguments.ids and arguments.all:
        raise UserError("give experiments or --all, not both")
    if arguments.ids:
        return list(dict.fromkeys(find(identifier) for identifier in arguments.ids))
    if arguments.all:
        return list(EXPERIMENTS.values())
    if arguments.quick:
        return [experiment for experiment in EXPERIMENTS.values() if experiment.quick]
    raise UserError("say which experiments: ids, --quick or --all; --list names them")


def _run(identifier: str, effort: Effort) -> Done:
    outcome = Outcome()
    before = time.process_time()
    try:
        find(identifier).run(effort, outcome)
    except UserError as error:
        outcome.error = str(error)
    return outcome, time.process_time() - before


def _run_all(
    chosen: list[Experiment], effort: Effort, jobs: int, folder: Path | None
) -> dict[str, Done]:
    done: dict[str, Done] = {}
    with Pool(min(jobs, len(chosen)), multiprocessing.get_context("fork")) as pool:
        futures = {pool.submit(_run, item.id, effort): item for item in chosen}
        try:
            for future in as_completed(futures):
                item = futures[future]
                try:
                    done[item.id] = future.result()
                except BrokenExecutor:
                    raise UserError(WORKER_DIED) from None
                if folder:
                    _write(folder, item, done[item.id])
                _tell(item, done[item.id], f"{len(done)}/{len(chosen)}")
        finally:
            for future in futures:
                future.cancel()
    return done


def _tell(experiment: Experiment, done: Done, place: str) -> None:
    outcome, seconds = done
    word = outcome.error or ("ok" if outcome.passed else "MISS")
    print(
        f"[{place}] {experiment.id} {experiment.title}: {word}, {seconds:.0f} CPU s",
        file=sys.stderr,
    )


def _write(folder: Path, experiment: Experiment, done: Done) -> None:
    """Figures and table of an experiment that has ended, so that a long run can be cut short."""
    outcome, seconds = done
    with _writing(folder):
        for number, figure in enumerate(outcome.figures):
            draw(figure, folder / f"{experiment.id}-{number}.svg")
        (folder / f"{experiment.id}.md").write_text(markdown(experiment, outcome, seconds))


def _join(folder: Path, chosen: list[Experiment]) -> None:
    """The tables of all of them, as on the page of the documentation."""
    with _writing(folder):
        pages = [(folder / f"{experiment.id}.md").read_text() for experiment in chosen]
        (folder / "reproduction.md").write_text("\n".join(pages))


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Names what cannot be written."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{error.filename or folder}: cannot be written: {error.strerror}; "
            "what was written before is kept"
        ) from None


def _list(*, as_json: bool) -> None:
    if as_json:
        entries = [
            {
                "id": experiment.id,
                "also": list(experiment.also),
                "title": experiment.title,
                "source": experiment.source,
                "quick": experiment.quick,
                "cost_s": experiment.cost_s,
            }
            for experiment in EXPERIMENTS.values()
        ]
        print(json.dumps({"schema_version": 1, "experiments": entries}))
        return
    for experiment in EXPERIMENTS.values():
        mark = "quick" if experiment.quick else ""
        others = f", answers {' and '.join(experiment.also)} too" if experiment.also else ""
        print(
            f"{experiment.id}  {experiment.cost_s:6.0f} CPU s  {mark:5}  {experiment.title} "
            f"({experiment.source}){others}"
        )


def reproduce(arguments: argparse.Namespace) -> int:
    """Runs what was asked for; fails when a number lies outside its band."""
    if arguments.list:
        _list(as_json=arguments.json)
        return Exit.OK
    chosen = _chosen(arguments)
    effort = Effort.QUICK if arguments.quick else Effort.FULL
    if effort is Effort.FULL:
        cost = sum(experiment.cost_s for experiment in chosen)
        print(f"about {cost / 60:.0f} CPU minutes on one core", file=sys.stderr)
    if arguments.out:
        make_folder(arguments.out)
    finished = _run_all(chosen, effort, arguments.jobs, arguments.out)
    done = {experiment.id: finished[experiment.id] for experiment in chosen}
    if arguments.out:
        _join(arguments.out, chosen)
    results = [(find(identifier), outcome) for identifier, (outcome, _) in done.items()]
    if arguments.json:
        entries = [as_dict(result, done[result[0].id][1]) for result in results]
        print(json.dumps({"schema_version": 1, "experiments": entries}))
    else:
        print(table(results))
    return Exit.OK if all(outcome.passed for _, outcome in results) else Exit.FAILED
