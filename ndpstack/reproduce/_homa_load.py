"""What load is sustained, and how long queues are: figures 15 and 16 and table 1."""

from __future__ import annotations

import numpy as np

from ndpstack.reproduce._experiment import (
    Check,
    Effort,
    Figure,
    Line,
    Outcome,
    advance,
    prepare,
)
from ndpstack.reproduce._homa_runs import LOADS, PORT_BPS, SCENARIO, Load, run, run_steady

W4 = LOADS["w4"].lasting(50, 60)
W4_OVERLOADED = LOADS["w4"].lasting(50, 240)
"""The backlog of an overloaded network takes longer to reach every receiver."""


def degree(count: int) -> tuple[str, str]:
    """The overrides for this many scheduled levels, a message active on each."""
    return (f"transport.homa.scheduled-levels={count}", f"transport.homa.overcommit={count}")


# ---- E-H08, E-H09, E-H20: what load is sustained ----


def overcommitment(effort: Effort, outcome: Outcome) -> None:
    """W4 with 1 to 7 scheduled levels: the load that is carried when 95 % are asked for."""
    counts = effort.choose((1,), (1, 4, 7))
    carried = [
        100 * run_steady(outcome, W4_OVERLOADED, 0.95, effort, *degree(count), begin=0.5).carried
        for count in counts
    ]
    outcome.figures.append(
        Figure(
            "W4: load carried by scheduled levels",
            "scheduled levels",
            "load carried [%]",
            [Line("Homa", [float(count) for count in counts], carried)],
        )
    )
    outcome.checks += [
        Check("W4, 1 level: load carried", "63", carried[0], 60, 66, "%"),
    ]
    if effort is Effort.FULL:
        outcome.checks.append(Check("W4, 7 levels: load carried", "89", carried[-1], 87, None, "%"))
        _waste(effort, outcome, 1, 0.5)
        _waste(effort, outcome, 7, 0.5)
        _waste(effort, outcome, 7, 0.8)


def _waste(effort: Effort, outcome: Outcome, count: int, share: float) -> None:
    """Time that links to hosts were idle while their host had a message to receive."""
    more = (*degree(count), "probes.waste=true")
    simulation = run(outcome, W4, share, effort, *more)
    seconds = W4.arrivals_ms(effort) / 1e3
    waste = 100 * float(simulation.hosts["idle_ps"].mean()) / 1e12 / seconds
    label = f"W4, {count} level{'s' if count > 1 else ''}: bandwidth wasted at {share:.0%}"
    outcome.checks.append(Check(label, "<= what is left", waste, high=100 * (1 - share), unit="%"))


# ---- E-H06: NDP on this fabric ----

NDP = (
    'transport={ndp={preset="paper", mss-bytes="1442B", data-header-bytes="96B", '
    'control-bytes="84B", initial-window=7}}',
    'switch.queue={discipline="ndp", preset="paper", data="7pkt"}',
    "switch.route=source",
    "traffic.0.sizes=w5",
    "probes.waste=true",
)
"""The window is RTTbytes; a connection for each message."""
BETTER_THAN_THEIRS = (
    "our NDP carries more and wastes less than the model of it that the Homa authors simulated, "
    "which is not at hand to compare with"
)


def ndp_long_messages(effort: Effort, outcome: Outcome) -> None:
    """Section 5.2: W5 over NDP: the load that is carried, and what is wasted at 70 %."""
    carried, _ = _ndp_steady(effort, outcome, 0.95)
    _, waste = _ndp_steady(effort, outcome, 0.70)
    outcome.checks += [
        Check("W5 over NDP: load carried", "73", carried, 68, 78, "%", BETTER_THAN_THEIRS),
        Check("W5 over NDP, 70 %: wasted", "27", waste, 22, 32, "%", BETTER_THAN_THEIRS),
    ]


def _ndp_steady(effort: Effort, outcome: Outcome, share: float) -> tuple[float, float]:
    """Percent of the links to hosts in use, and idle though messages were to come."""
    load = LOADS["w5"].lasting(20, 200)
    end_ps = int(load.arrivals_ms(effort) * 1e9)
    simulation = prepare(
        outcome,
        SCENARIO,
        *NDP,
        f"traffic.0.load={share * load.payload_share * 100:.4g}%",
        f"traffic.0.until={load.arrivals_ms(effort):g}ms",
    )
    advance(outcome, simulation, end_ps * 3 // 4)
    before = simulation.hosts.copy()
    advance(outcome, simulation, end_ps)
    seconds = end_ps / 4 / 1e12
    wire = (simulation.hosts["wire_bytes"] - before["wire_bytes"]).mean()
    idle = (simulation.hosts["idle_ps"] - before["idle_ps"]).mean()
    return float(wire) * 800 / (seconds * PORT_BPS), float(idle) / 1e10 / seconds


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
    """Table 1: mean and largest queue of each kind of port at 80 %.

    Means grow for as long as the backlog of long messages does; quick runs are too short to judge
    them, and say them without a band.
    """
    for name in effort.choose(("w3",), tuple(LOADS)):
        _queues(effort, outcome, LOADS[name])


def _queues(effort: Effort, outcome: Outcome, load: Load) -> None:
    steady = run_steady(outcome, load, 0.8, effort, "probes.queues=true")
    network = steady.simulation.plan.network
    tiers = np.array([network.tier(port) for port in range(network.ports)])
    name = load.name.upper()
    for (tier, label), (mean, largest) in zip(TABLE_1_ROWS, TABLE_1[load.name], strict=True):
        chosen = tiers == tier
        ours = float(steady.bytes_ns[chosen].mean()) / (steady.seconds * 1e9) / 1e3
        deepest = float(steady.simulation.depths["bytes_max"][chosen].max()) / 1e3
        margin = max(0.3 * mean, 0.5)
        band = effort.choose((None, None), (mean - margin, mean + margin))
        outcome.checks += [
            Check(f"{name} {label}: mean queue", f"{mean}", ours, *band, "KB"),
            Check(
                f"{name} {label}: largest queue",
                f"{largest}",
                deepest,
                high=1.4 * largest,
                unit="KB",
            ),
        ]
    drops = steady.simulation.counters["dropped_packets"]
    outcome.checks.append(Check(f"{name}: drops", "0", drops, high=0))
