"""Incasts: figures 4, 13, 16, 19 and 20 of the NDP paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ndpstack.reproduce._experiment import (
    Check,
    Effort,
    Figure,
    Line,
    Outcome,
    advance,
    prepare,
    simulate,
)
from ndpstack.reproduce._ndp_runs import (
    IW_23,
    PAYLOAD_BYTES,
    SCENARIO,
    ends_us,
    engine_totals,
    incast_to_0,
    optimum_us,
    queue_totals,
)
from ndpstack.reproduce._published import columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ndpstack.sim import Simulation

HOSTS_PER_EDGE = 6
"""Hosts below this share the target's edge switch: theirs are the first packets of a window at the
queue, which is empty then, and the authors' incasts seem to have none (their fastest flow is as our
fastest of other racks)."""


def incast(effort: Effort, outcome: Outcome) -> None:
    """Figure 16: N:1 incast of 450 KB on 432 hosts, IW 23."""
    published = {int(row[0]): row[1:] for row in columns("ndp_incast_450KB_iw23.txt")}
    counts = effort.choose((21, 101), tuple(count for count in published if count > 1))
    ours = []
    for count in counts:
        simulation = incast_to_0(outcome, count, "450KB", IW_23)
        ends = ends_us(simulation)
        far = ends[simulation.flows["source"] >= HOSTS_PER_EDGE]
        ours.append(float(ends.max()))
        best = optimum_us(count, 50)
        outcome.checks += [
            Check(f"{count}:1 last flow / optimum", "1.01", ours[-1] / best, high=1.01),
            Check(
                f"{count}:1 slowest / fastest of other racks",
                "1.2",
                float(ends.max() / far.min()),
                high=1.2,
            ),
            Check(f"{count}:1 slowest / fastest of all", "-", float(ends.max() / ends.min())),
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


FIRST_WAVE = (
    "the first windows' headers fill the header queue, and passing 1,125 of them at 10 to a data "
    "packet takes 0.82 ms whoever they belong to; about half of the flow's own were sent back, so "
    "that some 12 of its 50 packets are in flight from then on: three to four round trips more"
)


def priority(effort: Effort, outcome: Outcome) -> None:
    """One sender of the incast is pulled first."""
    for count, high in effort.choose({100: 1.1}, {100: 1.1, 400: 3.9}).items():
        simulation = simulate(
            outcome,
            SCENARIO,
            f'traffic=[{{kind="incast", size="450KB", senders={count}}}, '
            '{kind="flow", size="450KB", source=200, target=0, priority=7}]',
            IW_23,
            "duration=10s",
        )
        first = float(ends_us(simulation)[-1]) / 1e3
        outcome.checks.append(
            Check(
                f"prioritised flow among {count}",
                "1 / 3.5",
                first,
                high=high,
                unit="ms",
                explained=FIRST_WAVE,
            )
        )


def _bound(senders: int, window: int) -> float:
    """Largest overhead over the optimum in percent that E-N22 allows."""
    if window == 23:
        return 3.5 if senders < 8 else 2.0 if senders < 100 else 0.4
    return 2.0 if window == 10 else 0.5


def incast_scaling(effort: Effort, outcome: Outcome) -> None:
    """Figure 20: incast of 270 KB up to 8000:1 on 8192 hosts.

    Small ones are run five times and the median counts: who sends from where moves them by 2 %.
    """
    k = effort.choose(12, 32)
    for window in effort.choose((23,), (23, 10, 1)):
        published = {
            int(row[0]): row[1] * 1e6 for row in columns(f"ndp_incast_270KB_iw{window}.txt")
        }
        counts = effort.choose((3, 8, 100), (3, 8, 30, 100, 1000, 8000))
        ours = []
        for count in counts:
            lasts = [
                ends_us(
                    incast_to_0(
                        outcome,
                        count,
                        "270KB",
                        f"topology.k={k}",
                        f"transport.ndp.initial-window={window}",
                        f"seed={seed}",
                    )
                ).max()
                for seed in range(1, 6 if count < 100 else 2)
            ]
            ours.append(float(np.median(lasts)))
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
    simulation = incast_to_0(
        outcome,
        count,
        "270KB",
        f"topology.k={effort.choose(12, 32)}",
        IW_23,
    )
    total = engine_totals(simulation)
    outcome.checks += [
        Check(
            f"{count}:1: sent again per packet",
            "0.82 at 1000",
            total["data_resent"] / (count * 30),
            *effort.choose((None, 1.0), (0.7, 0.95)),
        ),
        Check(f"{count}:1: timeouts", "0", total["timeouts"], high=0),
    ]


# ---- E-N03 ----

ACK = 2
"""Type of the packet, csrc/wire/ndp.h."""
SEND, RECEIVE = 1, 2
"""Kinds of timeline entries; a packet is received by hosts only."""
TIMELINE = "probes.timeline=8000000"


def _latencies_us(simulation: Simulation) -> NDArray[np.float64]:
    """From the first time that a packet is sent until its ACK is at the sender."""
    entries = simulation.timeline
    data = entries[(entries["kind"] == SEND) & (entries["wire_bytes"] > PAYLOAD_BYTES)]
    acks = entries[(entries["kind"] == RECEIVE) & (entries["type"] == ACK)]
    first = _earliest(data["source"], data["target"], data["sequence"], data["time_ps"])
    last = _earliest(acks["target"], acks["source"], acks["sequence"], acks["time_ps"])
    return np.array([(last[key] - first[key]) / 1e6 for key in last.keys() & first.keys()])


def _earliest(
    source: NDArray[np.uint32],
    target: NDArray[np.uint32],
    sequence: NDArray[np.uint32],
    time_ps: NDArray[np.uint64],
) -> dict[tuple[int, int, int], int]:
    """The first time of each packet; entries come in the order of time."""
    keys = zip(source.tolist(), target.tolist(), sequence.tolist(), strict=True)
    times: dict[tuple[int, int, int], int] = {}
    for key, time in zip(keys, time_ps.tolist(), strict=True):
        times.setdefault(key, time)
    return times


def latencies(effort: Effort, outcome: Outcome) -> None:
    """Figure 4: from the first sending of a packet until it is acknowledged."""
    lines = [
        _loaded_latency(effort, outcome, "permutation", 'kind="permutation"'),
        _loaded_latency(effort, outcome, "random", 'kind="random"'),
        _short_incast(outcome),
        _long_incast(effort, outcome),
    ]
    outcome.figures.append(
        Figure(
            "From first sending to ACK",
            "latency [us]",
            "share of packets",
            lines,
            x_log=True,
        )
    )


def _distribution(label: str, values: NDArray[np.float64]) -> Line:
    shares = np.linspace(0, 1, 101)
    return Line(label, np.quantile(values, shares).tolist(), shares.tolist())


def _loaded_latency(effort: Effort, outcome: Outcome, name: str, kind: str) -> Line:
    """With a window of 12: the text does not say which, and what it holds beyond that waits."""
    simulation = prepare(
        outcome,
        SCENARIO,
        f"topology.k={effort.choose(8, 12)}",
        f'traffic.0={{{kind}, size="endless"}}',
        "transport.ndp.initial-window=12",
        TIMELINE,
    )
    advance(outcome, simulation, round(1.5e9))
    values = _latencies_us(simulation)
    median = float(np.median(values))
    outcome.checks.append(Check(f"{name}: median", "100", median, 85, 115, "us"))
    return _distribution(name, values)


def _short_incast(outcome: Outcome) -> Line:
    simulation = incast_to_0(outcome, 100, "135KB", TIMELINE)
    totals = engine_totals(simulation)
    outcome.checks += [
        Check(
            "100:1, 135 KB: headers returned to sender",
            "25",
            100 * totals["bounces_received"] / (100 * 15),
            20,
            30,
            "%",
            "1,500 packets meet 1,125 places for headers, and some 250 leave while they come",
        ),
        Check(
            "100:1, 135 KB: last packet",
            "11055",
            float(ends_us(simulation).max()),
            10950,
            11165,
            "us",
        ),
    ]
    return _distribution("100:1, 135 KB", _latencies_us(simulation))


def _long_incast(effort: Effort, outcome: Outcome) -> Line:
    senders = effort.choose(20, 100)
    simulation = prepare(
        outcome,
        SCENARIO,
        f'traffic.0={{kind="incast", size="1350KB", senders={senders}}}',
        "duration=10s",
        TIMELINE,
    )
    tiers = ("edge-down", "edge-up", "agg-down", "agg-up", "core-down")
    advance(outcome, simulation, FIRST_WINDOW_PS)
    before = queue_totals(simulation, *tiers)["trimmed_packets"]
    advance(outcome, simulation)
    later = queue_totals(simulation, *tiers)["trimmed_packets"] - before
    values = _latencies_us(simulation)
    outcome.checks += [
        Check(
            f"{senders}:1, 1350 KB: trimmed after the first window",
            "0",
            100 * later / (senders * 150),
            high=0.1,
            unit="%",
        ),
        Check(f"{senders}:1, 1350 KB: median", "95", float(np.median(values)), 80, 110, "us"),
    ]
    return _distribution(f"{senders}:1, 1350 KB", values)


FIRST_WINDOW_PS = round(1.5e9)
"""The first windows of 100 senders and what of them was sent at once again are through."""


# ---- E-N19 ----


def neighbour(effort: Effort, outcome: Outcome) -> None:
    """Figures 18 and 19: a long flow to host 1, and an incast to host 2 on the same edge switch."""
    senders = effort.choose(32, 64)
    simulation = prepare(
        outcome,
        SCENARIO,
        "transport.ndp.initial-window=15",
        "probes.goodput=100us",
        "duration=80ms",
        'traffic=[{kind="flow", size="endless", source=300, target=1}, '
        f'{{kind="incast", size="900KB", senders={senders}, target=2, start="5ms"}}]',
    )
    advance(outcome, simulation)
    end = int(ends_us(simulation)[1:].max() / 100)
    gbps = simulation.goodput[1, :end].astype(float) * 8 / 100e3
    steady = gbps[20:50].mean()
    during = gbps[50:] / steady
    low = np.flatnonzero(during < 0.9)
    outcome.checks += [
        Check("before the incast", "10", float(steady), low=9.5, unit="Gb/s"),
        Check("time below 90 % of it", "< 1", len(low) * 0.1, high=1, unit="ms"),
        Check(
            "mean after the dip, of before",
            "1",
            float(during[(low[-1] + 1 if len(low) else 0) :].mean()),
            low=0.95,
        ),
    ]
    outcome.figures.append(
        Figure(
            f"A long flow beside a {senders}:1 incast to its neighbour",
            "time [ms]",
            "goodput [Gb/s]",
            [Line("long flow", [i / 10 for i in range(len(gbps))], gbps.tolist())],
        )
    )
