"""The experiments of the Homa paper (SIGCOMM'18, complete version), sections 3 and 5.2."""

from __future__ import annotations

from ndpstack.reproduce._experiment import (
    Check,
    Effort,
    Experiment,
    Figure,
    Line,
    Outcome,
    simulate,
)
from ndpstack.reproduce._homa_load import (
    ndp_long_messages,
    overcommitment,
    queue_lengths,
    sustained,
)
from ndpstack.reproduce._homa_priorities import (
    allocation,
    bytes_by_level,
    cutoff_sweep,
    scheduled_levels,
    unscheduled_levels,
    unscheduled_limit,
)
from ndpstack.reproduce._homa_runs import PORT_BPS, SCENARIO
from ndpstack.reproduce._homa_slowdown import slowdown_at, tail_causes

SMALLEST = (
    "1 byte is 97 bytes on the link: twice 78 ns at 10 Gbit/s, twice 19 ns at 40 Gbit/s, three "
    "switches of 250 ns and the host's 1.5 us make 2.44 us. The smallest Ethernet frame, 84 bytes, "
    "would make 2.42 us: with the text's own constants no message arrives before that."
)


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
        Check("smallest one-way message", "2.3", small_us, 2.2, 2.4, "us", SMALLEST),
    ]


def incast_control(effort: Effort, outcome: Outcome) -> None:
    """Figure 10: one client, N requests at once for 10 KB replies from 15 servers."""
    counts = effort.choose((300, 3000), (50, 100, 300, 1000, 2000, 3000, 4000))
    rates: dict[bool, list[float]] = {True: [], False: []}
    for count in counts:
        for controlled, gbps in rates.items():
            simulation = simulate(
                outcome,
                "homa-incast",
                f"traffic.0.flows-per-host={count}",
                f"transport.homa.incast-rpcs={36 if controlled else 0}",
            )
            seconds = float(simulation.rows["done_ps"].max()) / 1e12
            gbps.append(count * 10_000 * 8 / seconds / 1e9)
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
    marked = simulate(
        outcome,
        "homa-incast",
        "traffic.0.flows-per-host=1000",
        "transport.homa.incast-rpcs=1",
        "probes.queues=true",
    )
    outcome.checks += [
        Check(
            "E-H19: deepest queue, 1000 marked requests",
            "few 100",
            float(marked.depths["bytes_max"].max()) / 1e3,
            high=400,
            unit="KB",
        ),
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
        700,
    ),
    Experiment(
        "E-H03",
        "slowdown by size at 50 %",
        "Homa F12b, F13b",
        lambda effort, outcome: slowdown_at(0.5, effort, outcome),
        False,
        100,
    ),
    Experiment("E-H06", "NDP with long messages, W5", "Homa §5.2", ndp_long_messages, False, 220),
    Experiment(
        "E-H07", "what delays the tail of short messages", "Homa F14", tail_causes, True, 80
    ),
    Experiment("E-H08", "highest load by workload", "Homa F15", sustained, True, 500),
    Experiment(
        "E-H09",
        "overcommitment and load, W4",
        "Homa F16, §5.2",
        overcommitment,
        True,
        500,
        also=("E-H20",),
    ),
    Experiment("E-H10", "queue lengths", "Homa T1", queue_lengths, True, 600),
    Experiment("E-H11", "unscheduled levels, W1", "Homa F17", unscheduled_levels, False, 15),
    Experiment("E-H12", "cutoff between two levels, W3", "Homa F18", cutoff_sweep, False, 65),
    Experiment("E-H13", "scheduled levels, W4", "Homa F19", scheduled_levels, False, 55),
    Experiment("E-H14", "unscheduled limit, W4", "Homa F20", unscheduled_limit, False, 90),
    Experiment("E-H15", "bytes by priority level, W3", "Homa F21", bytes_by_level, True, 30),
    Experiment("E-H16", "levels by the text's rule", "Homa §3.4", allocation, True, 1),
    Experiment(
        "E-H18", "incast control", "Homa F10, §3.6", incast_control, True, 30, also=("E-H19",)
    ),
)
