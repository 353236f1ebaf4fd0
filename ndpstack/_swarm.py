"""The swarm test from Python: seeds over several processes, failures with their repetition.

One process runs one seed after the other in C. A seed that makes the engine stop itself (an
assertion) takes its process along; the parent knows which seed that was.
"""

from __future__ import annotations

import multiprocessing
import os
import secrets
import time
from dataclasses import dataclass, field
from enum import IntFlag
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Self

from ndpstack._core import ffi, lib
from ndpstack._errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


GRACE_S = 120.0
"""Seconds that a seed, with its shrinking, may take once the time is up: several times the most."""


class Protocol(IntFlag):
    """Which engines the hosts of a run have."""

    NDP = 1
    HOMA = 2
    BOTH = 3


@dataclass(frozen=True)
class Plan:
    """What to run."""

    protocol: Protocol = Protocol.BOTH
    """Engines of every host."""
    first_seed: int = 0
    """The first seed; the others follow it."""
    seeds: int | None = 1
    """How many seeds, or None for as many as the time allows."""
    minutes: float | None = None
    """When to stop, or None when all seeds are done."""
    jobs: int = 1
    """Processes."""
    settings: Mapping[str, int] = field(default_factory=dict)
    """Options that are not drawn but given."""
    calm: bool = False
    """Whether options that are not given are calm instead of drawn."""
    shrink: bool = False
    """Whether to look for the calmest options that still fail."""
    verbose: bool = False
    """Whether to print every event; one process only."""


@dataclass(frozen=True)
class Failure:
    """A seed that failed."""

    seed: int
    """The seed."""
    text: str
    """What the checker said."""
    time_ns: int
    """Virtual time of the failure."""
    options: dict[str, int]
    """Every option of the run."""
    details: str
    """Last events, options and failure, as text."""
    command: str
    """What repeats it."""


@dataclass
class Outcome:
    """What a number of seeds came to."""

    seeds: int = 0
    """Seeds run, the failed one included."""
    counts: dict[str, int] = field(default_factory=dict)
    """What the runs did, all together."""
    failure: Failure | None = None
    """The first failure, which ended the search."""
    wall_s: float = 0.0
    """Seconds it took."""

    def add(self, counts: Mapping[str, int]) -> None:
        """Takes in one more seed."""
        self.seeds += 1
        for name, count in counts.items():
            self.counts[name] = self.counts.get(name, 0) + count


def option_names() -> list[str]:
    """Names of all options of a run."""
    return list(options_help())


def options_help() -> dict[str, str]:
    """What each option means."""
    texts: dict[str, str] = {}
    while name := lib.nd_rig_swarm_option_name(len(texts)):
        text = lib.nd_rig_swarm_option_help(len(texts))
        texts[ffi.string(name).decode()] = ffi.string(text).decode()
    return texts


def fresh_seed() -> int:
    """A seed that nobody has seen yet."""
    return secrets.randbits(48)


class Swarm:
    """One swarm and its memory: runs one seed at a time."""

    def __init__(self, plan: Plan) -> None:
        """Checks the plan's settings; UserError names one that does not exist."""
        self._plan = plan
        self._rig = lib.nd_rig_swarm_new()
        if not self._rig:
            raise MemoryError
        self._names = option_names()
        unknown = sorted(set(plan.settings) - set(self._names))
        if unknown:
            raise UserError(
                f"no swarm option is called {unknown[0]}; they are {', '.join(self._names)}"
            )
        for name, value in plan.settings.items():
            if lib.nd_rig_swarm_set(self._rig, name.encode(), value) < 0:
                help_ = options_help()[name]
                raise UserError(f"swarm option {name}: it cannot be {value}: {help_}")

    def __enter__(self) -> Self:
        """The swarm itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Gives the memory back."""
        self.close()

    def close(self) -> None:
        """Gives the memory back; the swarm is of no use then."""
        lib.nd_rig_swarm_free(self._rig)

    def run(self, seed: int) -> Failure | None:
        """Runs one seed."""
        prepare = lib.nd_rig_swarm_calm if self._plan.calm else lib.nd_rig_swarm_draw
        prepare(self._rig, seed, int(self._plan.protocol))
        for name, value in self._plan.settings.items():
            lib.nd_rig_swarm_set(self._rig, name.encode(), value)
        if lib.nd_rig_swarm_run(self._rig, self._plan.verbose):
            return None
        if self._plan.shrink:
            lib.nd_rig_swarm_shrink(self._rig)
        return self._failure(seed)

    def counts(self) -> dict[str, int]:
        """What the last run did."""
        counts: dict[str, int] = {}
        while name := lib.nd_rig_swarm_count_name(len(counts)):
            count = lib.nd_rig_swarm_count(self._rig, len(counts))
            counts[ffi.string(name).decode()] = count
        return counts

    def _failure(self, seed: int) -> Failure:
        values = [lib.nd_rig_swarm_option(self._rig, at) for at in range(len(self._names))]
        options = dict(zip(self._names, values, strict=True))
        settings = dict(self._plan.settings)
        calm = self._plan.calm or self._plan.shrink
        if self._plan.shrink:
            calms = [lib.nd_rig_swarm_option_calm(at) for at in range(len(self._names))]
            pairs = zip(self._names[1:], values[1:], calms[1:], strict=True)
            settings = {name: value for name, value, calm_one in pairs if value != calm_one}
        return Failure(
            seed=seed,
            text=ffi.string(lib.nd_rig_swarm_failure(self._rig)).decode(),
            time_ns=lib.nd_rig_swarm_time(self._rig),
            options=options,
            details=ffi.string(lib.nd_rig_swarm_text(self._rig)).decode(),
            command=repeat_command(self._plan.protocol, seed, settings, calm=calm),
        )


def repeat_command(
    protocol: Protocol, seed: int, settings: Mapping[str, int], *, calm: bool = False
) -> str:
    """The command line that runs this seed again."""
    words = ["ndpstack swarm", f"--seed {seed}", f"--protocol {(protocol.name or '').lower()}"]
    words += ["--calm"] if calm else []
    words += [f"--set {name}={value}" for name, value in settings.items()]
    return " ".join(words)


def _work(plan: Plan, first: int, end: float | None, pipe: Connection) -> None:
    """One process: every jobs-th seed, each announced before it runs."""
    last = None if plan.seeds is None else plan.first_seed + plan.seeds
    seed = first
    with Swarm(plan) as swarm:
        while (last is None or seed < last) and (end is None or time.monotonic() < end):
            pipe.send(seed)
            failure = swarm.run(seed)
            pipe.send(failure if failure else swarm.counts())
            if failure:
                break
            seed += plan.jobs
    pipe.close()


def _died(plan: Plan, seed: int, exit_code: int | None) -> Failure:
    return Failure(
        seed=seed,
        text=f"the process died with exit code {exit_code}: its message is above",
        time_ns=0,
        options={},
        details="",
        command=repeat_command(plan.protocol, seed, plan.settings, calm=plan.calm) + " --verbose",
    )


def _overdue(plan: Plan, seed: int) -> Failure:
    return Failure(
        seed=seed,
        text=f"had not ended {GRACE_S:.0f} s after the time was up, and was stopped",
        time_ns=0,
        options={},
        details="",
        command=repeat_command(plan.protocol, seed, plan.settings, calm=plan.calm) + " --verbose",
    )


class _Worker:
    """A process and what it has told."""

    def __init__(self, plan: Plan, first: int, end: float | None) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe(duplex=False)
        self.seed: int | None = None
        self.process = context.Process(target=_work, args=(plan, first, end, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def hear(self, plan: Plan, outcome: Outcome) -> bool:
        """Takes one message in; False when the process has ended."""
        try:
            message = self.pipe.recv()
        except EOFError:
            self.process.join()
            if self.seed is not None:
                outcome.seeds += 1
                outcome.failure = outcome.failure or _died(plan, self.seed, self.process.exitcode)
            return False
        if isinstance(message, int):
            self.seed = message
            return True
        self.seed = None
        if isinstance(message, Failure):
            outcome.seeds += 1
            outcome.failure = outcome.failure or message
        else:
            outcome.add(message)
        return True


def _run_here(plan: Plan, end: float | None) -> Outcome:
    outcome = Outcome()
    with Swarm(plan) as swarm:
        for seed in _seeds(plan, end):
            outcome.failure = swarm.run(seed)
            outcome.add(swarm.counts())
            if outcome.failure:
                break
    return outcome


def _seeds(plan: Plan, end: float | None) -> Iterator[int]:
    seed = plan.first_seed
    while plan.seeds is None or seed < plan.first_seed + plan.seeds:
        if end is not None and time.monotonic() >= end:
            return
        yield seed
        seed += 1


def _run_apart(plan: Plan, end: float | None) -> Outcome:
    outcome = Outcome()
    workers = [_Worker(plan, plan.first_seed + i, end) for i in range(plan.jobs)]
    try:
        while workers and not outcome.failure:
            patience = None if end is None else max(0.0, end + GRACE_S - time.monotonic())
            ready = wait([worker.pipe for worker in workers], patience)
            if not ready:
                running = [worker.seed for worker in workers if worker.seed is not None]
                outcome.failure = _overdue(plan, min(running, default=plan.first_seed))
            workers = [
                worker
                for worker in workers
                if worker.pipe not in ready or worker.hear(plan, outcome)
            ]
    finally:
        for worker in workers:
            worker.process.terminate()
            worker.process.join()
    return outcome


def run(plan: Plan) -> Outcome:
    """Runs the plan until its seeds or its time are used up, or a seed fails."""
    Swarm(plan).close()  # Mistakes in the plan show here, not in a process apart.
    start = time.monotonic()
    end = None if plan.minutes is None else start + 60 * plan.minutes
    outcome = _run_here(plan, end) if plan.verbose else _run_apart(plan, end)
    outcome.wall_s = time.monotonic() - start
    return outcome


def default_jobs() -> int:
    """One process for each CPU that we may use."""
    return len(os.sched_getaffinity(0))
