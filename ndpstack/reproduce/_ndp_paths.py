"""Where paths are unequal: figures 21 and 22 of the NDP paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ndpstack.reproduce._experiment import Check, Effort, Outcome, prepare
from ndpstack.reproduce._ndp_runs import IW_23, SCENARIO, goodput_gbps

if TYPE_CHECKING:
    from numpy.typing import NDArray


def collateral(effort: Effort, outcome: Outcome) -> None:
    """Figure 21: A sends to B, C, D, E while F sends to E; 128 hosts."""
    flows = [(0, 17), (0, 33), (0, 49), (0, 81), (113, 81)]
    tables = ", ".join(
        f'{{kind="flow", size="endless", source={source}, target={target}}}'
        for source, target in flows
    )
    simulation = prepare(
        outcome,
        SCENARIO,
        "topology.k=8",
        IW_23,
        f"traffic=[{tables}]",
    )
    simulation.run(round(5e9))
    before = simulation.rows["payload_bytes"].astype(np.float64)
    span_ms = effort.choose(10, 30)
    simulation.run(round((5 + span_ms) * 1e9))
    rates = (simulation.rows["payload_bytes"].astype(np.float64) - before) * 8 / (span_ms * 1e6)
    for name, rate in zip("BCDE", rates[:4], strict=True):
        outcome.checks.append(Check(f"A->{name}", "2.38-2.51", float(rate), 2.3, 2.6, "Gb/s"))
    outcome.checks += [
        Check("F->E", "7.552", float(rates[4]), 7.4, 7.7, "Gb/s"),
        Check("all from A", "link full", float(rates[:4].sum()), low=9.8, unit="Gb/s"),
        Check("all to E", "link full", float(rates[3] + rates[4]), low=9.8, unit="Gb/s"),
    ]


NO_LIMIT = "transport.ndp.score.avoid-max=250"
"""The authors' code sets a bad path aside for ever longer; ours, so that a repaired one is back
after 1,000 packets, for at most 10 rounds, and sixteen senders' tries then fill the slow link."""
NO_SCORES = "transport.ndp.score.scoreboard=false"


LATE_RTO = ("transport.ndp.rto-min-ns=5ms", "transport.ndp.rto-initial-ns=5ms")
"""The least that the authors' simulations wait. ACKs and PULLs of sixteen receivers are more than
ten to a packet at 1 Gb/s, so headers wait for 8.7 ms there: an RTO of 2 ms hides most of it."""
BALANCE = (
    "without one of sixteen paths, three of an edge switch's four uplinks take 4/15 each of what "
    "four hosts send: 10.3 Gb/s at the rate of the others"
)


def slow_link(effort: Effort, outcome: Outcome) -> None:
    """Figure 22: a link from an aggregation switch to a core runs at 1 Gb/s, in that direction."""
    run_ms = effort.choose(5.0, 20.0)
    penalty = _beside_slow_link(outcome, run_ms)
    plain = _beside_slow_link(outcome, run_ms, NO_SCORES, *LATE_RTO)
    outcome.checks += [
        Check("with penalty: mean", "9.642", float(penalty.mean()), low=9.5, unit="Gb/s"),
        Check(
            "with penalty: slowest",
            "9.216",
            float(penalty.min()),
            low=9.0,
            unit="Gb/s",
            explained=BALANCE,
        ),
        Check("without: flows below 5 Gb/s", "14", _below_5(plain), 10, 20, "flows"),
        Check("without: mean", "9.171", float(plain.mean()), unit="Gb/s"),
    ]
    if effort is Effort.FULL:
        soon = _beside_slow_link(outcome, run_ms, NO_SCORES)
        late = _beside_slow_link(outcome, run_ms, *LATE_RTO)
        outcome.checks += [
            Check("without, RTO 2 ms: flows below 5 Gb/s", "-", _below_5(soon), unit="flows"),
            Check("with penalty, RTO 5 ms: slowest", "-", float(late.min()), unit="Gb/s"),
        ]


def _beside_slow_link(outcome: Outcome, run_ms: float, *more: str) -> NDArray[np.float64]:
    """Goodput of each host of a permutation on 128 hosts."""
    link = 'link=[{between=["agg 0", "core 0"], rate="1Gbit", both-ways=false}]'
    overrides = ("topology.k=8", IW_23, NO_LIMIT, link, *more)
    return goodput_gbps(outcome, *overrides, warm_ms=10, run_ms=run_ms)


def _below_5(gbps: NDArray[np.float64]) -> int:
    return int(np.count_nonzero(gbps < 5))
