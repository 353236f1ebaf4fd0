"""The experiments of the NDP paper (SIGCOMM'17), sections 3, 5.1 and 6."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ndpstack.reproduce._experiment import (
    Check,
    Effort,
    Experiment,
    Figure,
    Line,
    Outcome,
    prepare,
    simulate,
)
from ndpstack.reproduce._published import columns
from ndpstack.sim import completion_ps, summarise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ndpstack.sim import Simulation

SCENARIO = "ndp-paper"
WIRE_BYTES = 9064
"""A full packet of the paper's simulations."""
PAYLOAD_BYTES = 9000
LINK_BPS = 10e9
BASE_US = 42.256
"""A full packet over six links of 1 us after its first serialisation."""


def optimum_us(senders: int, packets: int) -> float:
    """When the last byte of an incast can be at its target (section 6.1)."""
    return senders * packets * WIRE_BYTES * 8 / LINK_BPS * 1e6 + BASE_US


def goodput_gbps(
    outcome: Outcome, *overrides: str, warm_ms: float = 2, run_ms: float = 8
) -> NDArray[np.float64]:
    """Payload rate of each host in a steady state, from the paper's permutation."""
    simulation = prepare(outcome, SCENARIO, *overrides)
    simulation.run(round(warm_ms * 1e9))
    before = simulation.hosts["payload_bytes"].astype(np.float64)
    simulation.run(round((warm_ms + run_ms) * 1e9))
    after = simulation.hosts["payload_bytes"].astype(np.float64)
    return (after - before) * 8 / (run_ms * 1e6)


def _share(name: str, paper: str, rates: NDArray[np.float64], low: float) -> Check:
    return Check(name, paper, float(rates.mean()) * 10, low=low, unit="%")


# ---- E-N04, E-N05, E-N06, E-N28 ----


def constants(_effort: Effort, outcome: Outcome) -> None:
    """Serialisation and the longest round trip of small networks' worth."""
    simulation = prepare(outcome, SCENARIO, "traffic.0.size=9KB")
    serial_us = PAYLOAD_BYTES * 8 / LINK_BPS * 1e6
    far = len(simulation.hosts) - 1
    outcome.checks += [
        Check("9000 B at 10 Gb/s", "7.2", round(serial_us, 6), 7.2, 7.2, "us"),
        Check(
            "one packet across the network",
            f"{BASE_US + WIRE_BYTES * 8e-4:.2f}",
            simulation.best_ps(0, 0, far, PAYLOAD_BYTES) / 1e6,
            BASE_US + WIRE_BYTES * 8e-4 - 0.1,
            BASE_US + WIRE_BYTES * 8e-4 + 0.1,
            "us",
        ),
    ]


def path_choice(effort: Effort, outcome: Outcome) -> None:
    """128 hosts: paths chosen by the source against drawn by the switches."""
    rates = {}
    trims = {}
    for route in ("source", "random"):
        simulation = prepare(outcome, SCENARIO, "topology.k=8", f"switch.route={route}")
        simulation.run(round(effort.choose(4, 10) * 1e9))
        result = summarise(simulation)
        uplinks = [result.queues[tier] for tier in ("edge-up", "agg-up")]
        trimmed = sum(queue["trimmed_packets"] for queue in uplinks)
        passed = sum(queue["dequeued_packets"] for queue in uplinks)
        trims[route] = 100 * trimmed / passed
        rates[route] = goodput_gbps(outcome, "topology.k=8", f"switch.route={route}")
    outcome.checks += [
        Check("trimmed on uplinks, source-chosen", "0.01", trims["source"], high=0.05, unit="%"),
        Check("trimmed on uplinks, switch-random", "2.4", trims["random"], 1.5, 4, "%"),
        _share("utilisation, 128 hosts, source-chosen", "98", rates["source"], 97),
        Check(
            "gain of permuted lists over random",
            "up to 10",
            float(rates["source"].mean() - rates["random"].mean()) * 10,
            low=4,
            unit="points",
        ),
    ]


# ---- E-N14, E-N20, E-N21 ----


def permutation(effort: Effort, outcome: Outcome) -> None:
    """Figure 14: throughput of each of 432 hosts, IW 23 as in the authors' files."""
    rates = goodput_gbps(
        outcome, "transport.ndp.initial-window=23", run_ms=effort.choose(3.0, 20.0)
    )
    published = sorted(row[0] for row in columns("ndp_permutation_logfile.rates"))
    order = [float(i) for i in range(len(rates))]
    outcome.figures.append(
        Figure(
            "Permutation on 432 hosts: goodput of each, sorted",
            "host",
            "goodput [Gb/s]",
            [
                Line("NDP", order, sorted(rates.tolist())),
                Line("authors' file", order[: len(published)], published, published=True),
            ],
        )
    )
    outcome.checks += [
        Check("mean", "9.249", float(rates.mean()), low=9.2, unit="Gb/s"),
        Check("slowest", "8.849", float(rates.min()), low=8.8, unit="Gb/s"),
    ]


WINDOWS = {
    6: {12: 77.1, 20: 85.7, 30: 85.6},
    8: {10: 72.0, 15: 84.8, 20: 91.1, 23: 92.4, 30: 92.5, 40: 92.2},
    10: {12: 78.1, 20: 92.4, 30: 95.8},
}
"""Utilisation by buffer and initial window, in percent: the authors' code, E-N20."""


def windows(effort: Effort, outcome: Outcome) -> None:
    """Figure 17: initial window and buffer."""
    chosen = effort.choose({8: {10: 72.0, 23: 92.4}}, WINDOWS)
    lines = []
    for buffer, points in chosen.items():
        ours = []
        for window, reference in points.items():
            rates = goodput_gbps(
                outcome,
                f"transport.ndp.initial-window={window}",
                f"switch.queue.data={buffer}pkt",
                run_ms=effort.choose(3.0, 8.0),
            )
            ours.append(float(rates.mean()) * 10)
            outcome.checks.append(
                Check(
                    f"buffer {buffer}, IW {window}",
                    f"{reference}",
                    ours[-1],
                    low=reference - 1,
                    unit="%",
                )
            )
        lines.append(Line(f"buffer {buffer}", [float(window) for window in points], ours))
        lines.append(
            Line(
                f"buffer {buffer}, authors' code",
                [float(window) for window in points],
                list(points.values()),
                published=True,
            )
        )
    outcome.figures.append(
        Figure(
            "Utilisation by initial window", "initial window [packets]", "utilisation [%]", lines
        )
    )


SIZES = {8: (128, 97.0), 12: (432, 92.0), 16: (1024, 89.2), 32: (8192, 84.6)}


def sizes(effort: Effort, outcome: Outcome) -> None:
    """Utilisation of a permutation by the size of the network."""
    reached = []
    for k in effort.choose((8, 12), tuple(SIZES)):
        hosts, floor = SIZES[k]
        run_ms = 1.0 if k == 32 else effort.choose(3.0, 8.0)
        rates = goodput_gbps(outcome, f"topology.k={k}", warm_ms=1 if k == 32 else 2, run_ms=run_ms)
        reached.append(float(rates.mean()) * 10)
        outcome.checks.append(_share(f"{hosts} hosts", "98 falling to 90", rates, floor))
    rises = max((b - a for a, b in pairwise(reached)), default=0.0)
    outcome.checks.append(Check("largest rise with size", "falls", rises, high=0.2, unit="points"))


# ---- E-N16, E-N17, E-N22, E-N23: incast ----


def _incast(outcome: Outcome, senders: int, size: str, *overrides: str) -> Simulation:
    """An incast to host 0, run until every flow is done."""
    return simulate(
        outcome,
        SCENARIO,
        'traffic.0={kind="incast", size="' + size + f'", senders={senders}}}',
        "duration=10s",
        *overrides,
    )


def _ends_us(simulation: Simulation) -> NDArray[np.float64]:
    return completion_ps(simulation.flows, simulation.rows) / 1e6


def incast(effort: Effort, outcome: Outcome) -> None:
    """Figure 16: N:1 incast of 450 KB on 432 hosts, IW 23."""
    published = {int(row[0]): row[1:] for row in columns("ndp_incast_450KB_iw23.txt")}
    counts = effort.choose((21, 101), tuple(count for count in published if count > 1))
    ours = []
    for count in counts:
        ends = _ends_us(_incast(outcome, count, "450KB", "transport.ndp.initial-window=23"))
        ours.append(float(ends.max()))
        best = optimum_us(count, 50)
        outcome.checks += [
            Check(f"{count}:1 last flow / optimum", "1.01", ours[-1] / best, high=1.01),
            Check(f"{count}:1 slowest / fastest", "1.2", float(ends.max() / ends.min()), high=1.2),
            Check(
                f"{count}:1 last flow / authors' file",
                "1",
                ours[-1] / (published[count][-1] * 1e6),
                0.99,
                1.01,
            ),
        ]
    outcome.figures.append(
        Figure(
            "Incast of 450 KB: last flow",
            "senders",
            "completion [us]",
            [
                Line("NDP", [float(count) for count in counts], ours),
                Line(
                    "authors' file",
                    [float(count) for count in published],
                    [row[-1] * 1e6 for row in published.values()],
                    published=True,
                ),
            ],
        )
    )


def priority(effort: Effort, outcome: Outcome) -> None:
    """One sender of the incast is pulled first."""
    for count, high in effort.choose({100: 1.1}, {100: 1.1, 431: 3.9}).items():
        simulation = simulate(
            outcome,
            SCENARIO,
            f'traffic=[{{kind="incast", size="450KB", senders={count}}}, '
            '{kind="flow", size="450KB", source=200, target=0, priority=7}]',
            "transport.ndp.initial-window=23",
            "duration=10s",
        )
        first = float(_ends_us(simulation)[-1]) / 1e3
        outcome.checks.append(
            Check(f"prioritised flow among {count}", "1 / 3.5", first, high=high, unit="ms")
        )


def _bound(senders: int, window: int) -> float:
    """Largest overhead over the optimum in percent that E-N22 allows."""
    if window == 23:
        return 3.5 if senders < 8 else 2.0 if senders < 100 else 0.4
    return 2.0 if window == 10 else 0.5


def incast_scaling(effort: Effort, outcome: Outcome) -> None:
    """Figure 20: incast of 270 KB up to 8000:1 on 8192 hosts."""
    k = effort.choose(12, 32)
    for window in effort.choose((23,), (23, 10, 1)):
        published = {
            int(row[0]): row[1] * 1e6 for row in columns(f"ndp_incast_270KB_iw{window}.txt")
        }
        counts = effort.choose((3, 8, 100), (3, 8, 30, 100, 1000, 8000))
        ours = []
        for count in counts:
            ends = _ends_us(
                _incast(
                    outcome,
                    count,
                    "270KB",
                    f"topology.k={k}",
                    f"transport.ndp.initial-window={window}",
                )
            )
            ours.append(float(ends.max()))
            if window > 1 or count >= 8:
                outcome.checks.append(
                    Check(
                        f"IW {window}, {count}:1: over the optimum",
                        "<= 2 % for small N",
                        100 * (ours[-1] / optimum_us(count, 30) - 1),
                        high=_bound(count, window),
                        unit="%",
                    )
                )
        outcome.figures.append(
            Figure(
                f"Incast of 270 KB, IW {window}: last flow",
                "senders",
                "completion [us]",
                [
                    Line("NDP", [float(count) for count in counts], ours),
                    Line(
                        "authors' file",
                        [float(count) for count in published],
                        list(published.values()),
                        published=True,
                    ),
                ],
                x_log=True,
                y_log=True,
            )
        )


def retransmissions(effort: Effort, outcome: Outcome) -> None:
    """Figure 20b: why packets are sent again, and that none is lost."""
    count = effort.choose(200, 1000)
    simulation = _incast(
        outcome,
        count,
        "270KB",
        f"topology.k={effort.choose(12, 32)}",
        "transport.ndp.initial-window=23",
    )
    names, table = simulation.engine_counters("ndp")
    total = {name: int(value) for name, value in zip(names, table.sum(axis=0), strict=True)}
    outcome.checks += [
        Check(
            f"{count}:1: sent again per packet",
            "0.82 at 1000",
            total["data_resent"] / (count * 30),
            *effort.choose((None, 1.0), (0.7, 0.95)),
        ),
        Check(f"{count}:1: timeouts", "0", total["timeouts"], high=0),
    ]


# ---- E-N24, E-N26 ----


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
        "transport.ndp.initial-window=23",
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


def slow_link(effort: Effort, outcome: Outcome) -> None:
    """Figure 22: one link between an aggregation switch and a core runs at 1 Gb/s."""
    slow = 'link=[{between=["agg 0", "core 0"], rate="1Gbit"}]'
    for scoreboard in (True, False):
        rates = goodput_gbps(
            outcome,
            "topology.k=8",
            "transport.ndp.initial-window=23",
            f"transport.ndp.score.scoreboard={str(scoreboard).lower()}",
            slow,
            run_ms=effort.choose(8.0, 20.0),
        )
        if scoreboard:
            outcome.checks += [
                Check("with penalty: mean", "9.642", float(rates.mean()), low=9.5, unit="Gb/s"),
                Check("with penalty: slowest", "9.216", float(rates.min()), low=9.0, unit="Gb/s"),
            ]
        else:
            slow_flows = int(np.count_nonzero(rates < 5))
            outcome.checks.append(
                Check("without: flows below 5 Gb/s", "14", slow_flows, 10, 20, "flows")
            )


EXPERIMENTS = (
    Experiment("E-N04", "constants", "NDP §3.2", constants, True, 1),
    Experiment("E-N05", "path choice (with E-N06, E-N28)", "NDP §3.1.1", path_choice, True, 30),
    Experiment("E-N14", "permutation", "NDP F14", permutation, True, 40),
    Experiment("E-N16", "incast of 450 KB", "NDP F16", incast, True, 150),
    Experiment("E-N17", "a prioritised flow in an incast", "NDP §6.1", priority, True, 10),
    Experiment("E-N20", "initial window and buffer", "NDP F17", windows, True, 250),
    Experiment("E-N21", "size of the network", "NDP §6.2", sizes, True, 200),
    Experiment("E-N22", "incast to 8000:1", "NDP F20a", incast_scaling, True, 300),
    Experiment("E-N23", "retransmissions in incast", "NDP F20b", retransmissions, True, 20),
    Experiment("E-N24", "collateral damage", "NDP F21", collateral, True, 20),
    Experiment("E-N26", "a slow link", "NDP F22", slow_link, True, 60),
)
