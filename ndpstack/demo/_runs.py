"""What the demo runs, in which world, and how far it is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ndpstack.agent import Replay
from ndpstack.scenario import load_scenario
from ndpstack.sim import Simulation, summarise
from ndpstack.testbed import TestbedError, guarded, interruptible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ndpstack.scenario import ScenarioFile
    from ndpstack.sim import Progress, Result, Run

INCAST, RPC, FAILURE = "servers-incast", "servers-rpc", "servers-failure"

SHALLOW_PACKETS = 16
"""What a port of NDP's switches holds: eight packets, and as many bytes of headers."""

DEEP_PACKETS = 100
"""What a port of a plain switch holds."""

FAST_CPUS = 4
"""With fewer, all hosts sending at full rate would ask for more than the machine has."""


@dataclass(frozen=True)
class Job:
    """One run of the demo."""

    key: str
    """Short name, for the tables."""
    title: str
    scenario: str
    world: str
    kernel_tcp: int = 0
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True)
class Done:
    """A job and what came of it."""

    job: Job
    file: ScenarioFile
    run: Run
    result: Result


def _short_incast() -> tuple[str, ...]:
    """Three rounds of each size, one second and a half in all."""
    items = []
    at_ms = 250
    for index, gap_ms in enumerate((60, 80, 130, 250, 750), start=1):
        items += [
            f"traffic.{index}.start={at_ms}ms",
            f"traffic.{index}.every={gap_ms}ms",
            f"traffic.{index}.repeat=3",
        ]
        at_ms += 3 * gap_ms
    return tuple(items)


def jobs(world: str, *, short: bool) -> Iterator[Job]:
    """All runs, in order."""
    incast = _short_incast() if short else ()
    failure = ["traffic.0.repeat=4"] if short else []
    rpc = [f"traffic.0.until={'3s' if short else '10s'}"]
    if len(os.sched_getaffinity(0)) < FAST_CPUS:
        rpc.append("topology.rate=25Mbit")
        failure += ["topology.rate=25Mbit", "traffic.0.size=125KB"]
    yield Job("sim", "incast, simulated", INCAST, "sim", 0, incast)
    yield Job("ndp", "incast, NDP", INCAST, world, 0, incast)
    if world == "netns":
        yield Job("tcp", "incast, kernel TCP", INCAST, world, DEEP_PACKETS, incast)
        title = f"incast, kernel TCP, {SHALLOW_PACKETS} packets a port"
        yield Job("shallow", title, INCAST, world, SHALLOW_PACKETS, incast)
    yield Job("homa", "requests, Homa", RPC, world, 0, tuple(rpc))
    if world == "netns":
        yield Job("rpc-tcp", "requests, kernel TCP", RPC, world, DEEP_PACKETS, tuple(rpc))
        yield Job("failure", "a cable goes down, NDP", FAILURE, world, 0, tuple(failure))


class Demo:
    """All runs of the demo, one after the other.

    Args:
        world: memory or netns.
        short: The short form, for CI.
    """

    def __init__(self, world: str, *, short: bool = False) -> None:
        self.world = world
        self.short = short
        self.jobs = list(jobs(world, short=short))

    def run(self, watch: Watch) -> list[Done]:
        """Runs everything; what it makes is gone afterwards, however it ends.

        Args:
            watch: Is told how far it is.
        """
        with interruptible(), guarded():
            return [self._run(number, job, watch) for number, job in enumerate(self.jobs)]

    def _run(self, number: int, job: Job, watch: Watch) -> Done:
        file = load_scenario(job.scenario, job.overrides)
        watch.begin(number)
        made: Simulation | Replay
        if job.world == "sim":
            made = Simulation(file)
        else:
            made = Replay(file, job.world, kernel_tcp=job.kernel_tcp)
        made.run(progress=lambda progress: watch.advance(number, progress))
        if made.error:
            raise TestbedError(f"{job.title}: {made.error}")
        result = summarise(made)
        watch.end(number)
        return Done(job, file, made, result)


class Watch:
    """Who wants to know how far the demo is; this one does not."""

    def begin(self, number: int) -> None:
        """A job begins: its world is being built."""

    def advance(self, number: int, progress: Progress) -> None:
        """A job goes on."""

    def end(self, number: int) -> None:
        """A job has ended."""
