"""What load is sustained, and how long queues are: figures 15 and 16 and table 1."""

from __future__ import annotations

import numpy as np

from ndpstack.reproduce._experiment import Check, Effort, Figure, Line, Outcome
from ndpstack.reproduce._homa_runs import (
    LOADS,
    Load,
    Steady,
    arrivals,
    run_steady,
    settled,
    watch,
)

MOST = 0.95
"""Of the links, asked for to see what is carried at most."""


OVERLOADED_MS = {"w3": 60, "w4": 240, "w5": 640}


def overloaded(name: str) -> Load:
    """The workload for as long as an overloaded network takes to reach every receiver."""
    load = LOADS[name]
    return load.lasting(load.quick_ms, max(load.full_ms, OVERLOADED_MS.get(name, 0)))


def degree(count: int) -> tuple[str, str]:
    """The overrides for this many scheduled levels, a message active on each."""
    return (f"transport.homa.scheduled-levels={count}", f"transport.homa.overcommit={count}")


def _most_carried(effort: Effort, outcome: Outcome, name: str, *more: str) -> float:
    """Percent of the links to hosts in use when more is asked for than they carry."""
    return 100 * run_steady(outcome, overloaded(name), MOST, effort, *more).carried


# ---- E-H08: the highest load, by workload ----


def sustained(effort: Effort, outcome: Outcome) -> None:
    """Figure 15: the load that Homa carries of each workload, and NDP of W5."""
    names = effort.choose(("w1", "w2"), tuple(LOADS))
    carried = {name: _most_carried(effort, outcome, name) for name in names}
    for name, percent in carried.items():
        paper, low = ("89", 87) if name == "w4" else ("-", None)
        outcome.checks.append(
            Check(f"{name.upper()}: load carried", paper, percent, low=low, unit="%")
        )
    if effort is Effort.FULL:
        theirs = 100 * _ndp(effort, outcome, MOST).carried
        outcome.checks.append(
            Check("W5: Homa more than NDP", "16", carried["w5"] - theirs, low=0, unit="points")
        )


# ---- E-H09, E-H20: overcommitment ----


def overcommitment(effort: Effort, outcome: Outcome) -> None:
    """W4 with 1 to 7 scheduled levels: the load that is carried when 95 % are asked for."""
    counts = effort.choose((1,), (1, 4, 7))
    carried = [_most_carried(effort, outcome, "w4", *degree(count)) for count in counts]
    outcome.figures.append(
        Figure(
            "W4: load carried by scheduled levels",
            "scheduled levels",
            "load carried [%]",
            [Line("Homa", [float(count) for count in counts], carried)],
        )
    )
    outcome.checks.append(Check("E-H20: W4, 1 level: load carried", "63", carried[0], 60, 66, "%"))
    if effort is Effort.FULL:
        outcome.checks.append(Check("W4, 7 levels: load carried", "89", carried[-1], 87, None, "%"))
        _waste(effort, outcome, 1, 0.5)
        _waste(effort, outcome, 7, 0.5)
        _waste(effort, outcome, 7, 0.8)


def _waste(effort: Effort, outcome: Outcome, count: int, share: float) -> None:
    """Time that links to hosts were idle while their host had a message to receive."""
    more = (*degree(count), "probes.waste=true")
    steady = run_steady(outcome, settled("w4"), share, effort, *more)
    label = f"W4, {count} level{'s' if count > 1 else ''} at {share:.0%}"
    waste = Check(
        f"{label}: bandwidth wasted",
        "<= what is left",
        100 * steady.wasted,
        high=100 * (1 - share),
        unit="%",
    )
    outcome.checks += [waste, Check(f"{label}: load carried", "-", 100 * steady.carried, unit="%")]


# ---- E-H06: NDP on this fabric ----

NDP = (
    'transport={ndp={preset="paper", mss-bytes="1442B", data-header-bytes="96B", '
    'control-bytes="84B", initial-window=7}}',
    'switch.queue={discipline="ndp", preset="paper", data="7pkt"}',
    "switch.route=source",
    "probes.waste=true",
)
"""The window is RTTbytes; a connection for each message."""
NDP_W5 = LOADS["w5"].lasting(20, 200)
BETTER_THAN_THEIRS = (
    "our NDP carries more than the model of it that the Homa authors simulated, which is not at "
    "hand to compare with"
)


def _ndp(effort: Effort, outcome: Outcome, share: float) -> Steady:
    overrides = (*NDP, *arrivals(NDP_W5, share, effort))
    return watch(outcome, NDP_W5.arrivals_ms(effort), 0.75, *overrides)


def ndp_long_messages(effort: Effort, outcome: Outcome) -> None:
    """Section 5.2: W5 over NDP: the load that is carried, and what is wasted at 70 %."""
    carried = 100 * _ndp(effort, outcome, MOST).carried
    waste = 100 * _ndp(effort, outcome, 0.70).wasted
    outcome.checks += [
        Check("W5 over NDP: load carried", "73", carried, 68, 78, "%", BETTER_THAN_THEIRS),
        Check("W5 over NDP, 70 %: wasted", "27", waste, 22, 32, "%"),
    ]


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
        _queues(effort, outcome, settled(name))


CORE_QUEUES = (
    "the network does not yet carry the 80 % asked for, and queues between switches grow fast "
    "there: packets that draw one of four uplinks wait as in M/D/1, 1.18 KB where 69 % are in use "
    "and 1.34 at 71; W3 goes from 1.02 to 1.16 KB as it comes to carry 80 %"
)


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
            Check(
                f"{name} {label}: mean queue",
                f"{mean}",
                ours,
                *band,
                "KB",
                explained="" if tier == "edge-down" else CORE_QUEUES,
            ),
            Check(
                f"{name} {label}: largest queue",
                f"{largest}",
                deepest,
                high=1.4 * largest,
                unit="KB",
            ),
        ]
    drops = steady.simulation.counters["dropped_packets"]
    outcome.checks += [
        Check(f"{name}: drops", "0", drops, high=0),
        Check(f"{name}: load carried", "80", 100 * steady.carried, unit="%"),
    ]
