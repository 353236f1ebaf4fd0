"""How the experiments of the NDP paper are run: its fabric, its permutation, its incast."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ndpstack.reproduce._experiment import Outcome, prepare, simulate
from ndpstack.sim import completion_ps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ndpstack.sim import Simulation

SCENARIO = "ndp-paper"
WIRE_BYTES = 9064
"""A full packet of the paper's simulations."""
PAYLOAD_BYTES = 9000
HEADER_BYTES = 64
LINK_BPS = 10e9
BASE_US = 42.256
"""A full packet over six links of 1 us after its first serialisation."""
IN_SERVICE = 1
"""The authors' queues count the packet in service, ours do not."""
SMALL = "transport.ndp.mss-bytes=1436B"
"""Packets of 1,500 bytes with the paper's header."""
IW_23 = "transport.ndp.initial-window=23"
"""The window of the authors' files."""


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


def incast_to_0(outcome: Outcome, senders: int, size: str, *overrides: str) -> Simulation:
    """An incast to host 0, run until every flow is done."""
    return simulate(
        outcome,
        SCENARIO,
        'traffic.0={kind="incast", size="' + size + f'", senders={senders}}}',
        "duration=10s",
        *overrides,
    )


def ends_us(simulation: Simulation) -> NDArray[np.float64]:
    """When each flow was complete."""
    return completion_ps(simulation.flows, simulation.rows) / 1e6


def engine_totals(simulation: Simulation) -> dict[str, int]:
    """NDP's counters, summed over all hosts."""
    names, table = simulation.engine_counters("ndp")
    return {name: int(value) for name, value in zip(names, table.sum(axis=0), strict=True)}


def queue_totals(simulation: Simulation, *tiers: str) -> dict[str, int]:
    """Queue counters, summed over these kinds of port."""
    network = simulation.plan.network
    names, table = simulation.queue_counters()
    chosen = [network.tier(port) in tiers for port in range(network.ports)]
    return {name: int(value) for name, value in zip(names, table[chosen].sum(axis=0), strict=True)}
