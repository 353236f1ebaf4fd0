"""The experiments of the Homa paper (SIGCOMM'18, complete version), sections 3 and 5.2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ndpstack.reproduce._experiment import (
    Check,
    Effort,
    Experiment,
    Figure,
    Line,
    Outcome,
    simulate,
)
from ndpstack.reproduce._published import SizeBin, homa_slowdown
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
WARM_UP = 0.1
"""Share of the run whose messages are not counted, at its beginning."""
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
    quick_ms: float


LOADS = {
    "w1": Load("w1", 7, 0.657, 3, 0.3),
    "w2": Load("w2", 6, 0.796, 8, 1),
    "w3": Load("w3", 4, 0.887, 40, 4),
    "w4": Load("w4", 1, 0.898, 200, 12),
    "w5": Load("w5", 1, 0.898, 500, 60),
}


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


def _sizes(cutoffs: list[int]) -> str:
    return "[" + ", ".join(f'"{cutoff}B"' for cutoff in cutoffs) + "]"


def levels(name: str, unscheduled: int, scheduled: int) -> list[str]:
    """The overrides for a split of the priority levels."""
    return [
        f"transport.homa.unscheduled-levels={unscheduled}",
        f"transport.homa.scheduled-levels={scheduled}",
        "transport.homa.cutoff-mode=static",
        f"transport.homa.cutoffs={_sizes(balanced_cutoffs(name, unscheduled))}",
    ]


def settings(load: Load, share: float, effort: Effort, *more: str) -> list[str]:
    """The overrides that make the scenario run this workload at this share of the link."""
    return [
        *levels(load.name, load.unscheduled, 8 - load.unscheduled),
        f"traffic.0.sizes={load.name}",
        f"traffic.0.load={share * load.payload_share * 100:.4g}%",
        f"traffic.0.until={effort.choose(load.quick_ms, load.full_ms):g}ms",
        *more,
    ]


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
    """Of the messages that started while the network was busy."""
    times = completion_ps(simulation.flows, simulation.rows)
    start = simulation.rows["start_ps"].astype(np.float64)
    last = start.max()
    rows = np.flatnonzero(~np.isnan(times) & (start >= WARM_UP * last))
    return Slowdowns(
        simulation.flows["bytes"][rows],
        times[rows] / simulation.rows["best_ps"][rows],
        rows,
    )


def _run(outcome: Outcome, name: str, share: float, effort: Effort, *more: str) -> Simulation:
    return simulate(outcome, SCENARIO, *settings(LOADS[name], share, effort, *more))


# ---- E-H01 ----


def constants(_effort: Effort, outcome: Outcome) -> None:
    """RTT, RTTbytes and the smallest one-way time."""
    simulation = simulate(
        outcome, SCENARIO, "traffic.0.until=0.05ms", "probes.timeline=0", "traffic.0.load=1%"
    )
    far = len(simulation.hosts) - 1
    small_us = simulation.best_ps(0, 0, far, 1) / 1e6
    full_us = simulation.best_ps(0, 0, far, 1442) / 1e6
    # A full packet there, a GRANT back.
    rtt_us = full_us + small_us
    outcome.checks += [
        Check("RTT: full packet and GRANT", "7.8", rtt_us, 7.7, 7.9, "us"),
        Check("RTTbytes", "9.7", rtt_us * PORT_BPS / 8e9, 9.6, 9.8, "KB"),
        Check("smallest one-way message", "2.3", small_us, 2.2, 2.4, "us"),
    ]


# ---- E-H02, E-H03: slowdown by size ----


@dataclass(frozen=True)
class Decile:
    """Mean and tail of a tenth of the messages, the paper's and ours."""

    size_max: int
    paper_mean: float
    paper_p99: float
    mean: float
    p99: float


def _compare(bins: list[SizeBin], found: Slowdowns) -> list[Decile]:
    """Both curves by tenths of the messages: what each bin says, weighted by its share."""
    deciles: list[Decile] = []
    below = 0
    share = 0.0
    part: list[tuple[float, SizeBin, float, float]] = []
    for size_bin in bins:
        inside = found.slowdown[(found.sizes > below) & (found.sizes <= size_bin.size_max)]
        below = size_bin.size_max
        share += size_bin.share
        if len(inside) >= SAMPLES_MIN:
            tail = float(np.percentile(inside, 99))
            part.append((size_bin.share, size_bin, float(inside.mean()), tail))
        if share >= 0.1 * (len(deciles) + 1) - 1e-9 and part:
            weight = sum(item[0] for item in part)
            deciles.append(
                Decile(
                    size_bin.size_max,
                    sum(w * b.mean for w, b, _, _ in part) / weight,
                    sum(w * b.p99 for w, b, _, _ in part) / weight,
                    sum(w * mean for w, _, mean, _ in part) / weight,
                    sum(w * tail for w, _, _, tail in part) / weight,
                )
            )
            part = []
    return deciles


def _curve(name: str, share: float, bins: list[SizeBin], deciles: list[Decile]) -> Figure:
    sizes = [float(size_bin.size_max) for size_bin in bins]
    ours = [float(decile.size_max) for decile in deciles]
    return Figure(
        f"{name.upper()} at {share:.0%}: slowdown by message size",
        "message size [B]",
        "slowdown",
        [
            Line("p99, paper", sizes, [size_bin.p99 for size_bin in bins], published=True),
            Line("mean, paper", sizes, [size_bin.mean for size_bin in bins], published=True),
            Line("p99", ours, [decile.p99 for decile in deciles]),
            Line("mean", ours, [decile.mean for decile in deciles]),
        ],
        x_log=True,
        y_log=True,
    )


def slowdown_at(share: float, effort: Effort, outcome: Outcome) -> None:
    """The curves of figure 12 (tail) and 13 (mean) at one load."""
    for name in effort.choose(("w2", "w4"), tuple(LOADS)):
        found = slowdowns(_run(outcome, name, share, effort))
        bins = homa_slowdown("Homa", name, share)
        deciles = _compare(bins, found)
        outcome.figures.append(_curve(name, share, bins, deciles))
        mean = np.array([decile.mean / decile.paper_mean for decile in deciles])
        tail = np.array([decile.p99 / decile.paper_p99 for decile in deciles])
        label = f"{name.upper()} at {share:.0%}"
        outcome.checks += [
            Check(
                f"{label}: p99 of the shortest half",
                "<= 2.2",
                found.shortest(0.5).percentile(99),
                high=2.2,
            ),
            Check(f"{label}: mean, worst decile, ours / paper", "1", _worst(mean), 0.85, 1.15),
            Check(f"{label}: p99, worst decile, ours / paper", "1", _worst(tail), 0.85, 1.15),
        ]


def _worst(ratios: NDArray[np.float64]) -> float:
    return float(ratios[np.argmax(np.abs(np.log(ratios)))])


# ---- E-H07: where the tail comes from ----


def tail_causes(effort: Effort, outcome: Outcome) -> None:
    """Of the delay at the 99th percentile of short messages, what preemption lag makes."""
    for name in effort.choose(("w3",), ("w1", "w2", "w3", "w4")):
        simulation = _run(outcome, name, 0.8, effort, "probes.delays=true")
        found = slowdowns(simulation).shortest(0.2)
        limit = found.percentile(98)
        at_tail = found.rows[(found.slowdown >= limit) & (found.slowdown <= found.percentile(99.5))]
        lag = float(simulation.rows["lag_ns"][at_tail].sum())
        wait = float(simulation.rows["wait_ns"][at_tail].sum())
        outcome.checks.append(
            Check(
                f"{name.upper()}: preemption lag, share of the waiting at p98-p99.5",
                "almost all",
                lag / wait,
                low=0.8,
            )
        )


# ---- E-H08, E-H09, E-H20: what load is sustained ----


def overcommitment(effort: Effort, outcome: Outcome) -> None:
    """W4 with 1 to 7 scheduled levels: the load that is reached when 95 % are asked for."""
    levels = effort.choose((1, 7), (1, 2, 3, 4, 5, 7))
    reached = []
    for count in levels:
        more = (
            f"transport.homa.scheduled-levels={count}",
            f"transport.homa.overcommit={count}",
            f"duration={effort.choose(25, 200)}ms",
        )
        simulation = _run(outcome, "w4", 0.95, effort, *more)
        reached.append(_carried(simulation))
    outcome.figures.append(
        Figure(
            "W4: load carried by scheduled levels",
            "scheduled levels",
            "load carried [%]",
            [Line("Homa", [float(level) for level in levels], [100 * load for load in reached])],
        )
    )
    outcome.checks += [
        Check("W4, 1 level: load carried", "63", 100 * reached[0], 60, 66, "%"),
        Check("W4, 7 levels: load carried", "89", 100 * reached[-1], 87, None, "%"),
    ]


def _carried(simulation: Simulation) -> float:
    """Share of the links to hosts that carried data, over the run."""
    seconds = simulation.now_ps / 1e12
    wire = float(simulation.hosts["wire_bytes"].sum())
    return wire * 8 / (seconds * PORT_BPS * len(simulation.hosts))


# ---- E-H10: queues ----

TABLE_1 = {
    "w1": ((0.7, 21.1), (0.8, 22.4), (1.7, 58.7)),
    "w2": ((1.0, 30.0), (1.1, 34.1), (5.5, 93.0)),
    "w3": ((1.6, 50.3), (1.8, 57.1), (12.8, 117.9)),
    "w4": ((1.7, 82.7), (1.7, 92.2), (17.3, 146.1)),
    "w5": ((1.7, 93.6), (1.6, 78.1), (17.3, 126.4)),
}
TABLE_1_ROWS = (("edge-up", "TOR->Aggr"), ("agg-down", "Aggr->TOR"), ("edge-down", "TOR->host"))


def queue_lengths(effort: Effort, outcome: Outcome) -> None:
    """Table 1: mean and largest queue of each kind of port at 80 %."""
    for name in effort.choose(("w4",), tuple(LOADS)):
        simulation = _run(outcome, name, 0.8, effort, "probes.queues=true")
        network = simulation.plan.network
        tiers = np.array([network.tier(port) for port in range(network.ports)])
        busy_ps = float(simulation.rows["start_ps"].max())
        drops = simulation.counters["dropped_packets"]
        for (tier, label), (mean, largest) in zip(TABLE_1_ROWS, TABLE_1[name], strict=True):
            depths = simulation.depths[tiers == tier]
            ours = float(depths["bytes_ns"].sum()) / len(depths) / (busy_ps / 1e3) / 1e3
            margin = max(0.3 * mean, 0.5)
            outcome.checks += [
                Check(
                    f"{name.upper()} {label}: mean queue",
                    f"{mean}",
                    ours,
                    mean - margin,
                    mean + margin,
                    "KB",
                ),
                Check(
                    f"{name.upper()} {label}: largest queue",
                    f"{largest}",
                    float(depths["bytes_max"].max()) / 1e3,
                    high=1.4 * largest,
                    unit="KB",
                ),
            ]
        outcome.checks.append(Check(f"{name.upper()}: drops", "0", drops, high=0))


# ---- E-H11..E-H15: priorities ----


def unscheduled_levels(effort: Effort, outcome: Outcome) -> None:
    """W1 with 1, 2 and 7 unscheduled levels and one scheduled."""
    tails = {}
    for count in (1, 2, 7):
        found = slowdowns(_run(outcome, "w1", 0.8, effort, *levels("w1", count, 1)))
        median = np.percentile(found.sizes, 50, method="nearest")
        around = (found.sizes >= median * 0.8) & (found.sizes <= median * 1.2)
        tails[count] = float(np.percentile(found.slowdown[around], 99))
    outcome.checks += [
        Check("p99 at the median size, 1 level / 7 levels", "> 2.5", tails[1] / tails[7], 2.2),
        Check(
            "gain from 2 to 7 levels / gain from 1 to 2",
            "< 1",
            (tails[2] - tails[7]) / (tails[1] - tails[2]),
            high=1,
        ),
    ]


def cutoff_sweep(effort: Effort, outcome: Outcome) -> None:
    """W3 with two unscheduled levels: the tail of small messages by the cutoff between them."""
    cutoffs = effort.choose((500, 2000, 4000), (200, 500, 1000, 1930, 2000, 4000, 8000))
    tails = []
    for cutoff in cutoffs:
        more = (
            *levels("w3", 2, 6),
            f"transport.homa.cutoffs={_sizes([0] * 6 + [UNLIMITED, cutoff])}",
        )
        found = slowdowns(_run(outcome, "w3", 0.8, effort, *more))
        tails.append(found.percentile(99, 500))
    best = min(tails)
    upto = [tail / best for tail, cutoff in zip(tails, cutoffs, strict=True) if cutoff <= 2000]
    outcome.figures.append(
        Figure(
            "W3: p99 of messages up to 500 B by the cutoff",
            "cutoff [B]",
            "slowdown",
            [Line("p99", [float(cutoff) for cutoff in cutoffs], tails)],
            x_log=True,
        )
    )
    outcome.checks += [
        Check("penalty of cutoffs up to 2000 B", "about none", max(upto), high=1.05),
        Check("penalty of 4000 B", "hurts 90 %", tails[cutoffs.index(4000)] / best, low=1.0),
    ]


def scheduled_levels(effort: Effort, outcome: Outcome) -> None:
    """W4 at 75 % with 4 and 7 scheduled levels: the same tail."""
    tails = {}
    for count in (4, 7):
        more = (
            f"transport.homa.scheduled-levels={count}",
            f"transport.homa.overcommit={count}",
        )
        tails[count] = slowdowns(_run(outcome, "w4", 0.75, effort, *more)).shortest(0.9)
    ratio = tails[4].percentile(99) / tails[7].percentile(99)
    outcome.checks.append(Check("p99 of all but the longest tenth, 4 / 7", "1", ratio, 0.85, 1.15))


def unscheduled_limit(effort: Effort, outcome: Outcome) -> None:
    """W4: what may be sent without a grant, against the tail of messages below RTTbytes."""
    limits = effort.choose((500, RTT_BYTES), (500, 1500, 5000, RTT_BYTES, 2 * RTT_BYTES))
    tails = []
    for limit in limits:
        more = (
            f"transport.homa.rtt-bytes={limit}B",
            f"transport.homa.window-bytes={RTT_BYTES}B",
        )
        found = slowdowns(_run(outcome, "w4", 0.8, effort, *more))
        between = found.slowdown[(found.sizes > 2000) & (found.sizes < RTT_BYTES)]
        tails.append(float(np.percentile(between, 99)))
    full = tails[limits.index(RTT_BYTES)]
    outcome.checks.append(
        Check("p99 of 2 to 9.7 KB, limit 500 B / RTTbytes", "2.5", tails[0] / full, low=2.0)
    )


def bytes_by_level(effort: Effort, outcome: Outcome) -> None:
    """W3 at 50, 80 and 90 %: how the levels are used (figure 21)."""
    shares = {}
    for share in effort.choose((0.5, 0.8), (0.5, 0.8, 0.9)):
        simulation = _run(outcome, "w3", share, effort)
        shares[share] = simulation.priority_bytes[0].astype(np.float64)
    for share, levels in shares.items():
        unscheduled = levels[4:] / levels[4:].mean()
        outcome.checks.append(
            Check(
                f"{share:.0%}: unscheduled levels, furthest from their mean",
                "equal",
                float(np.abs(unscheduled - 1).max()),
                high=0.15,
            )
        )
    lowest = shares[0.5][0] / shares[0.5][:4].sum()
    lower = shares[0.8][:3].sum() / shares[0.8][:4].sum()
    outcome.checks += [
        Check("50 %: scheduled bytes on P0", "mostly", lowest, low=0.6),
        Check("80 %: scheduled bytes on P0-P2", "> half", lower, low=0.5),
    ]


def allocation(_effort: Effort, outcome: Outcome) -> None:
    """Section 3.4: unscheduled levels by the text's rule on our copies of the workloads."""
    for name, (share, levels) in {
        "w1": (0.995, 7),
        "w2": (0.772, 6),
        "w3": (0.295, 2),
        "w4": (0.027, 1),
        "w5": (0.004, 1),
    }.items():
        workload = load_workload(name)
        sizes = np.array(workload.sizes, float)
        weights = np.diff(np.array((0.0, *workload.cumulative)))
        ours = float((weights * np.minimum(sizes, RTT_BYTES)).sum() / (weights * sizes).sum())
        outcome.checks += [
            Check(
                f"{name.upper()}: unscheduled share", f"{share}", ours, share - 0.03, share + 0.03
            ),
            Check(
                f"{name.upper()}: unscheduled levels by the rule",
                f"{levels}",
                min(7, max(1, round(8 * ours))),
                levels,
                levels,
            ),
        ]


# ---- E-H18, E-H19: incast ----


def incast_control(effort: Effort, outcome: Outcome) -> None:
    """Figure 10: one client, N requests at once for 10 KB replies from 15 servers."""
    counts = effort.choose((300, 3000), (50, 100, 300, 1000, 2000, 3000, 5000))
    rates: dict[bool, list[float]] = {True: [], False: []}
    for count in counts:
        for controlled, gbps in rates.items():
            simulation = simulate(
                outcome,
                "homa-incast",
                f"traffic.0.flows-per-host={count}",
                f"transport.homa.incast-rpcs={36 if controlled else 0}",
                "probes.queues=true",
            )
            seconds = float(simulation.rows["done_ps"].max()) / 1e12
            gbps.append(count * 10_000 * 8 / seconds / 1e9)
            if controlled and count == 1000:
                deepest = float(simulation.depths["bytes_max"].max()) / 1e3
                outcome.checks.append(
                    Check(
                        "E-H19: deepest queue, 1000 marked requests",
                        "few 100 KB",
                        deepest,
                        high=400,
                        unit="KB",
                    )
                )
    sizes = [float(count) for count in counts]
    outcome.figures.append(
        Figure(
            "Goodput of 10 KB replies to N requests at once",
            "requests at once",
            "goodput [Gb/s]",
            [
                Line("incast control", sizes, rates[True]),
                Line("without", sizes, rates[False]),
            ],
            x_log=True,
        )
    )
    outcome.checks += [
        Check(
            "goodput with control at the most requests / at 300",
            "flat to thousands",
            rates[True][-1] / rates[True][counts.index(300)],
            low=0.95,
        ),
        Check(
            "goodput without control at the most requests, Gb/s",
            "drops beyond 300",
            rates[False][-1],
        ),
    ]


EXPERIMENTS = (
    Experiment("E-H01", "constants of the fabric", "Homa §5.2", constants, True, 1),
    Experiment(
        "E-H02",
        "slowdown by size at 80 %",
        "Homa F12a, F13a",
        lambda effort, outcome: slowdown_at(0.8, effort, outcome),
        True,
        300,
    ),
    Experiment(
        "E-H03",
        "slowdown by size at 50 %",
        "Homa F12b, F13b",
        lambda effort, outcome: slowdown_at(0.5, effort, outcome),
        False,
        200,
    ),
    Experiment(
        "E-H07", "what delays the tail of short messages", "Homa F14", tail_causes, True, 150
    ),
    Experiment("E-H09", "overcommitment and load, W4", "Homa F16", overcommitment, True, 400),
    Experiment("E-H10", "queue lengths", "Homa T1", queue_lengths, True, 300),
    Experiment("E-H11", "unscheduled levels, W1", "Homa F17", unscheduled_levels, False, 150),
    Experiment("E-H12", "cutoff between two levels, W3", "Homa F18", cutoff_sweep, False, 200),
    Experiment("E-H13", "scheduled levels, W4", "Homa F19", scheduled_levels, False, 100),
    Experiment("E-H14", "unscheduled limit, W4", "Homa F20", unscheduled_limit, False, 250),
    Experiment("E-H15", "bytes by priority level, W3", "Homa F21", bytes_by_level, True, 60),
    Experiment("E-H18", "incast control", "Homa F10, §3.6", incast_control, True, 30),
    Experiment("E-H16", "levels by the text's rule", "Homa §3.4", allocation, True, 1),
)
