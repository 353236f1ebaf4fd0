"""How the experiments of the Homa paper run a workload, and the slowdowns that come out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ndpstack.reproduce._experiment import Effort, Outcome, advance, prepare, simulate
from ndpstack.scenario import load_workload
from ndpstack.sim import Simulation, completion_ps

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCENARIO = "homa-paper"
PORT_BPS = 10e9
RTT_BYTES = 9700
MSS_BYTES = 1442
HEADER_BYTES = 96
UNLIMITED = 2**32 - 1
"""The cutoff of the lowest unscheduled level."""
WARM_UP = 0.4
"""Share of the arrivals that is not counted, at the beginning: long messages pile up slowly."""
LATE = 0.5
"""The same where counters are watched until the end."""
COOL_DOWN = 0.1
"""The same at the end: the last messages see the network run empty."""
SAMPLES_MIN = 100
"""Messages that a size range needs before its tail is compared."""


@dataclass(frozen=True)
class Load:
    """A workload as the paper runs it."""

    name: str
    unscheduled: int
    """Levels for unscheduled packets; the others are for scheduled ones (section 5.2)."""
    payload_share: float
    """Message bytes of the bytes on the link, in the authors' configuration."""
    full_ms: float
    """How long messages arrive."""
    quick_ms: float

    def lasting(self, quick_ms: float, full_ms: float) -> Load:
        """The same for longer or shorter."""
        return replace(self, quick_ms=quick_ms, full_ms=full_ms)

    def arrivals_ms(self, effort: Effort) -> float:
        """How long messages arrive."""
        return effort.choose(self.quick_ms, self.full_ms)


LOADS = {
    "w1": Load("w1", 7, 0.657, 1.5, 1),
    "w2": Load("w2", 6, 0.796, 4, 1.5),
    "w3": Load("w3", 4, 0.887, 20, 5),
    "w4": Load("w4", 1, 0.898, 160, 60),
    "w5": Load("w5", 1, 0.898, 240, 60),
}
SETTLED_MS = {"w1": 4, "w2": 10, "w3": 200, "w4": 640, "w5": 960}
"""How long messages arrive at 80 % until the backlog of the longest has nearly stopped to grow."""


def settled(name: str) -> Load:
    """The workload for as long as it takes to settle at 80 %."""
    load = LOADS[name]
    return load.lasting(load.quick_ms, SETTLED_MS[name])


def balanced_cutoffs(name: str, levels: int) -> list[int]:
    """Largest message of each priority, so that the levels carry equal unscheduled bytes.

    Section 3.4, figure 4: the paper's simulations knew the workload beforehand. Headers count:
    they are most of what small messages put on the link.
    """
    workload = load_workload(name)
    sizes = np.array(workload.sizes, float)
    weights = np.diff(np.array((0.0, *workload.cumulative)))
    unscheduled = np.minimum(sizes, RTT_BYTES)
    carried = np.cumsum(weights * (unscheduled + np.ceil(unscheduled / MSS_BYTES) * HEADER_BYTES))
    cutoffs = [0] * 8
    cutoffs[8 - levels] = UNLIMITED
    for level in range(1, levels):
        at = np.searchsorted(carried, carried[-1] * level / levels)
        cutoffs[8 - level] = int(sizes[at])
    return cutoffs


def cutoff_list(cutoffs: list[int]) -> str:
    """As an override."""
    return "[" + ", ".join(f'"{cutoff}B"' for cutoff in cutoffs) + "]"


def levels(name: str, unscheduled: int, scheduled: int) -> list[str]:
    """The overrides for a split of the priority levels."""
    return [
        f"transport.homa.unscheduled-levels={unscheduled}",
        f"transport.homa.scheduled-levels={scheduled}",
        "transport.homa.cutoff-mode=static",
        f"transport.homa.cutoffs={cutoff_list(balanced_cutoffs(name, unscheduled))}",
    ]


def arrivals(load: Load, share: float, effort: Effort) -> list[str]:
    """The overrides that make messages arrive at this share of the link."""
    return [
        f"traffic.0.sizes={load.name}",
        f"traffic.0.load={share * load.payload_share * 100:.4g}%",
        f"traffic.0.until={load.arrivals_ms(effort):g}ms",
    ]


def settings(load: Load, share: float, effort: Effort, *more: str) -> list[str]:
    """The overrides that make the scenario run this workload over Homa."""
    split = levels(load.name, load.unscheduled, 8 - load.unscheduled)
    return [*split, *arrivals(load, share, effort), *more]


@dataclass(frozen=True)
class Slowdowns:
    """Size and slowdown of the messages that count, and which rows they are."""

    sizes: NDArray[np.uint64]
    slowdown: NDArray[np.float64]
    rows: NDArray[np.intp]

    def percentile(self, share: float, size_max: float | None = None) -> float:
        """Percentile of the slowdown, of all or of messages up to a size."""
        values = self.slowdown if size_max is None else self.slowdown[self.sizes <= size_max]
        return float(np.percentile(values, share))

    def shortest(self, share: float) -> Slowdowns:
        """The shortest part of the messages, whole sizes at a time."""
        limit = np.percentile(self.sizes, share * 100, method="higher")
        chosen = self.sizes <= limit
        return Slowdowns(self.sizes[chosen], self.slowdown[chosen], self.rows[chosen])


def slowdowns(simulation: Simulation) -> Slowdowns:
    """Of the messages that started while the network was in its steady state."""
    times = completion_ps(simulation.flows, simulation.rows)
    start = simulation.rows["start_ps"].astype(np.float64)
    last = start.max()
    steady = (start >= WARM_UP * last) & (start <= (1 - COOL_DOWN) * last)
    rows = np.flatnonzero(~np.isnan(times) & steady)
    return Slowdowns(
        simulation.flows["bytes"][rows],
        times[rows] / simulation.rows["best_ps"][rows],
        rows,
    )


def run(outcome: Outcome, load: Load, share: float, effort: Effort, *more: str) -> Simulation:
    """Runs a workload at this share of the link until every message has arrived."""
    return simulate(outcome, SCENARIO, *settings(load, share, effort, *more))


@dataclass(frozen=True)
class Steady:
    """What the counters of a run gained while its network was in its steady state."""

    simulation: Simulation
    seconds: float
    wire_bytes: NDArray[np.uint64]
    """To each host."""
    idle_ps: NDArray[np.uint64]
    """Time that the link to each host was idle though messages were to come; probe `waste`."""
    bytes_ns: NDArray[np.uint64]
    """Integral of each port's queue; empty without the probe `queues`."""

    @property
    def carried(self) -> float:
        """Share of the links to hosts that was in use."""
        return float(self.wire_bytes.mean()) * 8 / (self.seconds * PORT_BPS)

    @property
    def wasted(self) -> float:
        """Share of the time that links to hosts were idle though messages were to come."""
        return float(self.idle_ps.mean()) / 1e12 / self.seconds


def watch(outcome: Outcome, end_ms: float, begin: float, *overrides: str) -> Steady:
    """Runs the scenario until the last message was asked for, and no longer.

    An overloaded network would take long to run empty, and that time says nothing.

    Args:
        outcome: Where the command is noted.
        end_ms: When the last message is asked for.
        begin: What share of that time has passed when counting begins.
        overrides: What the scenario is to run.
    """
    simulation = prepare(outcome, SCENARIO, *overrides)
    end_ps = int(end_ms * 1e9)
    begin_ps = int(begin * end_ps)
    advance(outcome, simulation, begin_ps)
    hosts = simulation.hosts.copy()
    bytes_ns = simulation.depths["bytes_ns"].copy()
    advance(outcome, simulation, end_ps)
    return Steady(
        simulation,
        (end_ps - begin_ps) / 1e12,
        simulation.hosts["wire_bytes"] - hosts["wire_bytes"],
        simulation.hosts["idle_ps"] - hosts["idle_ps"],
        simulation.depths["bytes_ns"] - bytes_ns,
    )


def run_steady(
    outcome: Outcome, load: Load, share: float, effort: Effort, *more: str, begin: float = LATE
) -> Steady:
    """Watches a workload over Homa in its steady state."""
    overrides = settings(load, share, effort, *more)
    return watch(outcome, load.arrivals_ms(effort), begin, *overrides)
