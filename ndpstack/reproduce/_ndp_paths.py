"""Where paths are unequal: figures 21 and 22 of the NDP paper."""

from __future__ import annotations

import numpy as np

from ndpstack.reproduce._experiment import Check, Effort, Outcome, prepare
from ndpstack.reproduce._ndp_runs import IW_23, SCENARIO, goodput_gbps


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


def slow_link(effort: Effort, outcome: Outcome) -> None:
    """Figure 22: a link from an aggregation switch to a core runs at 1 Gb/s, in that direction."""
    rates = {
        scoreboard: goodput_gbps(
            outcome,
            "topology.k=8",
            IW_23,
            f"transport.ndp.score.scoreboard={str(scoreboard).lower()}",
            NO_LIMIT,
            'link=[{between=["agg 0", "core 0"], rate="1Gbit", both-ways=false}]',
            warm_ms=10,
            run_ms=effort.choose(5.0, 20.0),
        )
        for scoreboard in (True, False)
    }
    below_5 = int(np.count_nonzero(rates[False] < 5))
    outcome.checks += [
        Check("with penalty: mean", "9.642", float(rates[True].mean()), low=9.5, unit="Gb/s"),
        Check(
            "with penalty: slowest",
            "9.216",
            float(rates[True].min()),
            low=9.0,
            unit="Gb/s",
            explained="without one of sixteen paths, three of an edge switch's four uplinks take "
            "4/15 each of what four hosts send: 10.3 Gb/s at the rate of the others",
        ),
        Check(
            "without: flows below 5 Gb/s",
            "14",
            below_5,
            10,
            20,
            "flows",
            "ours suffers less: what the slow link trims goes again first, on another path, and "
            "the slowest flow has 8.2 Gb/s",
        ),
    ]
