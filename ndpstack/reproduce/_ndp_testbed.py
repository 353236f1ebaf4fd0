"""Small networks: the constants, nine packets, and NDP's testbed (3.2, 5.1, 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ndpstack.reproduce._experiment import Check, Effort, Figure, Line, Outcome, prepare, simulate
from ndpstack.reproduce._ndp_runs import (
    BASE_US,
    HEADER_BYTES,
    LINK_BPS,
    PAYLOAD_BYTES,
    SCENARIO,
    SMALL,
    WIRE_BYTES,
    ends_us,
    engine_totals,
)

if TYPE_CHECKING:
    from ndpstack.sim import Simulation

SERVERS = (
    'topology={kind="leaf-spine", leaves=4, spines=2, hosts-per-leaf=2, rate="10Gbit", delay="1us"}'
)
"""The testbed: 8 servers, six switches of 4 ports."""


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


# ---- E-N02 ----


def nine_packets(_effort: Effort, outcome: Outcome) -> None:
    """Figure 3: nine packets at once into eight places."""
    single = 'topology={kind="single-switch", hosts=10, rate="10Gbit", delay="500ns"}'
    traffic = 'traffic.0={kind="incast", size="9KB", senders=9}'
    lossless = simulate(
        outcome, SCENARIO, single, traffic, 'switch.queue={discipline="droptail", limit="100pkt"}'
    )
    simulation = simulate(outcome, SCENARIO, single, traffic)
    counters = simulation.counters
    late_ns = (float(ends_us(simulation).max()) - float(ends_us(lossless).max())) * 1e3
    header_ns = HEADER_BYTES * 8 / LINK_BPS * 1e9
    names, table = simulation.queue_counters()
    trimmed = int(table[:, names.index("trimmed_packets")].sum())
    outcome.checks += [
        Check("packets trimmed", "1", trimmed, 1, 1),
        Check("packets dropped", "0", counters["dropped_packets"], high=0),
        Check("sent again", "1", engine_totals(simulation)["data_resent"], 1, 1),
        Check(
            "ninth packet later than without loss",
            "0",
            late_ns,
            0,
            10 * header_ns,
            "ns",
        ),
    ]


# ---- E-N08 ----


def _servers_incast(outcome: Outcome, size_kb: int, seed: int) -> Simulation:
    return simulate(
        outcome,
        SCENARIO,
        SERVERS,
        f'traffic.0={{kind="incast", size="{size_kb}KB", senders=7}}',
        f"seed={seed}",
        "duration=1s",
    )


def testbed_incast(effort: Effort, outcome: Outcome) -> None:
    """Figure 9: 7:1 incast on 8 servers; the last flow."""
    sizes = effort.choose((10, 100, 1000), (10, 20, 50, 100, 200, 500, 1000))
    medians = []
    best = []
    for size in sizes:
        runs = [_servers_incast(outcome, size, seed) for seed in range(1, effort.choose(4, 21))]
        last = np.array([float(ends_us(run).max()) for run in runs])
        packets = -(-size * 1000 // PAYLOAD_BYTES)
        wire = size * 1000 + packets * HEADER_BYTES
        base = runs[0].best_ps(0, 7, 0, PAYLOAD_BYTES) / 1e6 - WIRE_BYTES * 8 / LINK_BPS * 1e6
        best.append(7 * wire * 8 / LINK_BPS * 1e6 + base)
        medians.append(float(np.median(last)))
        outcome.checks += [
            Check(f"{size} KB: median / optimum", "1.05", medians[-1] / best[-1], high=1.05),
            Check(
                f"{size} KB: p90 / median",
                "1.1",
                float(np.percentile(last, 90)) / medians[-1],
                high=1.1,
            ),
        ]
    outcome.figures.append(
        Figure(
            "7:1 incast on 8 servers: last flow",
            "reply [KB]",
            "completion [us]",
            [
                Line("NDP", [float(size) for size in sizes], medians),
                Line("optimum", [float(size) for size in sizes], best, published=True),
            ],
            x_log=True,
            y_log=True,
        )
    )


# ---- E-N09 ----


SEVENTH_OF_A_LINK = (
    "one of seven flows that are served alike has a seventh of the link, on which 200 KB take "
    "1.16 ms, 1 ms longer than alone"
)


FIRST_WINDOW = (
    "its seven packets lie in the first window, which is sent before the receiver can prefer "
    "anybody: coins decide how many are trimmed, and 17 seeds spread from 40 to 58 us"
)

SHORT_FLOW_SEEDS = range(1, 10)
"""Coins move a single run by several microseconds."""


def _short_flow_us(
    outcome: Outcome, size_kb: int, longs: int, priority: int, seed: int = 1
) -> float:
    """Completion of a flow from host 7 to host 0 beside long ones from the others."""
    flows = [f'{{kind="flow", size="{size_kb}KB", source=7, target=0, priority={priority}}}'] + [
        f'{{kind="flow", size="endless", source={source}, target=0, background=true}}'
        for source in range(1, 1 + longs)
    ]
    simulation = simulate(
        outcome,
        SCENARIO,
        SERVERS,
        f"traffic=[{', '.join(flows)}]",
        SMALL,
        "transport.ndp.initial-window=20",
        "duration=1s",
        f"seed={seed}",
    )
    return float(ends_us(simulation)[0])


def prioritised_short_flow(effort: Effort, outcome: Outcome) -> None:
    """Figure 10: a short flow and six long ones to one host, all starting at once."""
    sizes = effort.choose((10, 200, 1000), (10, 50, 100, 200, 500, 1000))
    curves: dict[str, list[float]] = {"idle": [], "priority": [], "no priority": []}
    for size in sizes:
        curves["idle"].append(_short_flow_us(outcome, size, 0, 0))
        runs = [_short_flow_us(outcome, size, 6, 7, seed) for seed in SHORT_FLOW_SEEDS]
        curves["priority"].append(float(np.median(runs)))
        curves["no priority"].append(_short_flow_us(outcome, size, 6, 0))
        delta = curves["priority"][-1] - curves["idle"][-1]
        name, why = f"{size} KB: priority - idle", FIRST_WINDOW if size == 10 else ""
        outcome.checks.append(Check(name, "50", delta, high=50, unit="us", explained=why))
        if size == 200:
            plain = curves["no priority"][-1] - curves["idle"][-1]
            name = "200 KB: no priority - idle"
            outcome.checks.append(Check(name, "500", plain, 350, 650, "us", SEVENTH_OF_A_LINK))
    outcome.figures.append(
        Figure(
            "A short flow beside six long ones",
            "size [KB]",
            "completion [us]",
            [Line(name, [float(size) for size in sizes], ys) for name, ys in curves.items()],
            x_log=True,
            y_log=True,
        )
    )


# ---- E-N10, E-N11 ----


def initial_window(effort: Effort, outcome: Outcome) -> None:
    """Figure 11: throughput by initial window, two hosts that 15 packets keep busy."""
    small_us = 1500 * 8 / LINK_BPS * 1e6
    # A window is used up after 15 packets: one on each of two links' ends, the rest is software.
    delay_us = (15 * small_us - 2 * small_us - 64 * 8 / LINK_BPS * 1e6 - 2 * 1) / 2
    rates = {}
    windows = effort.choose((5, 10, 15, 20, 40), tuple(range(1, 41)))
    for window in windows:
        simulation = prepare(
            outcome,
            SCENARIO,
            'topology={kind="back-to-back", rate="10Gbit", delay="1us"}',
            f"hosts.receive-delay.fixed={delay_us:.4g}us",
            'traffic.0={kind="flow", size="endless", source=0, target=1}',
            f"transport.ndp.initial-window={window}",
            SMALL,
        )
        simulation.run(round(1e9))
        before = int(simulation.rows["payload_bytes"][0])
        simulation.run(round(3e9))
        rates[window] = (int(simulation.rows["payload_bytes"][0]) - before) * 8 / 2e6
    most = max(rates.values())
    outcome.checks += [
        Check("IW 15, of the most", "1", rates[15] / most, low=0.99),
        Check("IW 10, of the most", "10/15", rates[10] / most, 0.6, 0.75),
    ]
    outcome.figures.append(
        Figure(
            "Throughput by initial window, two hosts",
            "initial window [packets]",
            "goodput [Gb/s]",
            [Line("NDP", [float(window) for window in windows], list(rates.values()))],
        )
    )


def pull_spacing(_effort: Effort, outcome: Outcome) -> None:
    """Figure 12: time between PULLs, simulated: exactly what they release takes."""
    for payload, paper in ((1436, "1.2"), (8936, "7.2")):
        simulation = simulate(
            outcome,
            SCENARIO,
            'topology={kind="back-to-back", rate="10Gbit", delay="1us"}',
            'traffic.0={kind="flow", size="1MB", source=0, target=1}',
            f"transport.ndp.mss-bytes={payload}B",
            "probes.timeline=100000",
        )
        entries = simulation.timeline
        pulls = entries[(entries["kind"] == SEND) & (entries["type"] == PULL)]
        gaps = np.diff(pulls["time_ps"].astype(np.float64)) / 1e6
        exact = (payload + HEADER_BYTES) * 8 / LINK_BPS * 1e6
        outcome.checks.append(
            Check(
                f"{payload + HEADER_BYTES} B: median",
                paper,
                float(np.median(gaps)),
                exact * 0.999,
                exact * 1.001,
                "us",
            )
        )


SEND = 1
"""Kind of a timeline entry."""
PULL = 4
"""Type of the packet, csrc/wire/ndp.h."""
