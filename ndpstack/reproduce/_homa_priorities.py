"""What the priority levels are for: figures 17 to 21 and section 3.4 of the Homa paper."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ndpstack.reproduce._experiment import Check, Effort, Figure, Line, Outcome
from ndpstack.reproduce._homa_load import degree
from ndpstack.reproduce._homa_runs import (
    LOADS,
    RTT_BYTES,
    UNLIMITED,
    cutoff_list,
    levels,
    run,
    run_steady,
    slowdowns,
)
from ndpstack.scenario import load_workload

W1 = LOADS["w1"]
W3 = LOADS["w3"]
CUTOFF_MIN = 200
"""Bytes: the cutoff that gives both levels as many messages."""
W4 = LOADS["w4"].lasting(40, 60)


def unscheduled_levels(effort: Effort, outcome: Outcome) -> None:
    """W1 with 1, 2 and 7 unscheduled levels and one scheduled."""
    tails = {}
    for count in (1, 2, 7):
        found = slowdowns(run(outcome, W1, 0.8, effort, *levels("w1", count, 1)))
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
    """W3 with two unscheduled levels: the tail of small messages by the cutoff between them.

    Small are the messages that are below every cutoff.
    """
    cutoffs = effort.choose((500, 2000, 4000), (CUTOFF_MIN, 500, 1000, 1930, 2000, 4000, 8000))
    tails = []
    for cutoff in cutoffs:
        more = (
            *levels("w3", 2, 6),
            f"transport.homa.cutoffs={cutoff_list([0] * 6 + [UNLIMITED, cutoff])}",
        )
        found = slowdowns(run(outcome, W3, 0.8, effort, *more))
        tails.append(found.percentile(99, CUTOFF_MIN))
    best = min(tails)
    upto = [tail / best for tail, cutoff in zip(tails, cutoffs, strict=True) if cutoff <= 2000]
    outcome.figures.append(
        Figure(
            f"W3: p99 of messages up to {CUTOFF_MIN} B by the cutoff",
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
    """W4 at 75 % with 4 and 7 scheduled levels: the same tail; with 3, no more than 80 %."""
    tails = {}
    for count in (4, 7):
        simulation = run(outcome, W4, 0.75, effort, *degree(count))
        tails[count] = slowdowns(simulation).shortest(0.9)
    ratio = tails[4].percentile(99) / tails[7].percentile(99)
    three = run_steady(outcome, W4, 0.95, effort, *degree(3)).carried
    outcome.checks += [
        Check("p99 of all but the longest tenth, 4 / 7", "1", ratio, 0.85, 1.15),
        Check("3 levels: load carried when asked for 95 %", "< 80", 100 * three, high=80, unit="%"),
    ]


def unscheduled_limit(effort: Effort, outcome: Outcome) -> None:
    """W4: what may be sent without a grant, against the tail of messages below RTTbytes.

    Only those above the smallest limit: for the others nothing changes.
    """
    limits = effort.choose((500, RTT_BYTES), (500, 1500, 5000, RTT_BYTES, 2 * RTT_BYTES))
    tails = []
    for limit in limits:
        more = (
            f"transport.homa.rtt-bytes={limit}B",
            f"transport.homa.window-bytes={RTT_BYTES}B",
        )
        found = slowdowns(run(outcome, W4, 0.8, effort, *more))
        between = found.slowdown[(found.sizes > limits[0]) & (found.sizes < RTT_BYTES)]
        tails.append(float(np.percentile(between, 99)))
    full = tails[limits.index(RTT_BYTES)]
    below = tails[: limits.index(RTT_BYTES) + 1]
    growth = max(larger / smaller for smaller, larger in pairwise(below))
    outcome.checks += [
        Check("p99 of 0.5 to 9.7 KB, limit 500 B / RTTbytes", "2.5", tails[0] / full, low=2.0),
        Check("largest step up as the limit grows to RTTbytes", "monotone", growth, high=1),
    ]


def bytes_by_level(effort: Effort, outcome: Outcome) -> None:
    """W3 at 50, 80 and 90 %: how the levels are used (figure 21)."""
    shares = {}
    for share in effort.choose((0.5, 0.8), (0.5, 0.8, 0.9)):
        simulation = run(outcome, W3, share, effort)
        shares[share] = simulation.priority_bytes[0].astype(np.float64)
    for share, sent in shares.items():
        unscheduled = sent[4:] / sent[4:].mean()
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
    for name, (share, count) in {
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
                f"{count}",
                min(7, max(1, round(8 * ours))),
                count,
                count,
            ),
        ]
