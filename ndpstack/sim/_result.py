"""What a run says about its flows: completion times, slowdown, goodput, losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ndpstack._core import lib

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ndpstack.sim._run import Run

_DECILES = 10
STATES = ("waiting", "started", "received", "done", "failed")
"""enum nd_flow_state in words."""


@dataclass(frozen=True)
class Spread:
    """A distribution in six numbers; percentiles between two values are interpolated."""

    count: int
    mean: float
    p50: float
    p99: float
    p999: float
    max: float

    @staticmethod
    def of(values: NDArray[np.float64]) -> Spread | None:
        """Of these values; None when there are none."""
        if len(values) == 0:
            return None
        p50, p99, p999 = np.percentile(values, [50, 99, 99.9])
        return Spread(
            len(values),
            float(values.mean()),
            float(p50),
            float(p99),
            float(p999),
            float(values.max()),
        )


@dataclass(frozen=True)
class SizeBand:
    """Slowdown of the flows of a tenth of all, by size."""

    size_max: int
    """Largest size of the band in bytes, replies included; the smallest lies above the band
    before."""
    slowdown: Spread


@dataclass(frozen=True)
class Goodput:
    """Payload that arrived, as a rate in bits per second."""

    mean: float
    min: float
    max: float

    @staticmethod
    def of(values: NDArray[np.float64]) -> Goodput | None:
        """Of these rates; None when there are none."""
        if len(values) == 0:
            return None
        return Goodput(float(values.mean()), float(values.min()), float(values.max()))


@dataclass(frozen=True)
class Depth:
    """How long the queues of one kind of port were; the packet in service is not counted."""

    mean: float
    """Bytes, over time and ports."""
    max: int
    """Bytes in the longest one."""


@dataclass(frozen=True)
class Unfinished:
    """A flow that the run waited for and that did not end well."""

    flow: int
    source: int
    target: int
    size: int
    state: str
    arrived: int
    """Payload bytes at the target, duplicates included."""
    error: int
    """Negative errno when it failed."""


@dataclass(frozen=True)
class Result:
    """The outcome of a run; of a simulation, the same for the same scenario and seed."""

    status: str
    """Why the run ended: done, until, stuck, limit or broken."""
    time_ps: int
    """Time at the end."""
    trace_hash: int | None
    """Equal for two runs that did the same; None where no two do."""
    flows: int
    """Flows that the run waits for."""
    finished: int
    """Of these, the ones that ended well: all has arrived, and the source knows it."""
    background: int
    """Other flows."""
    fct_us: Spread | None
    """Completion times, also of flows that are complete and whose source does not know it yet."""
    slowdown: Spread | None
    """Completion time over the shortest possible one on one path of an idle network. A short last
    packet that overtakes the one before it on another path ends a hair before that."""
    slowdown_by_size: tuple[SizeBand, ...]
    """The same for each tenth of the flows by size, which is that of request and reply together: a
    short question may ask for much."""
    flow_goodput: Goodput | None
    """Of each flow while it lasted, its reply included once that is whole."""
    host_goodput: Goodput | None
    """Of each host that received something, over the whole run."""
    network: dict[str, int]
    """Counters of the network."""
    queues: dict[str, dict[str, int]]
    """Counters of switch ports, summed over each kind of port."""
    phantoms: dict[str, dict[str, int]]
    """Counters of phantom queues, summed over each kind of port; empty where there are none."""
    depths: dict[str, Depth]
    """Queues of each kind of port; empty without the probe `queues`."""
    engines: dict[str, dict[str, int]]
    """Counters of each protocol, summed over the hosts."""
    priority_bytes: list[list[int]]
    """Wire bytes that arrived, by priority: packets with payload, then those without."""
    waste: float | None
    """Share of the time with messages to come that last hops were idle; with probe `waste`, of a
    simulation."""
    unfinished: tuple[Unfinished, ...]
    """Flows that did not end well."""
    conditions: dict[str, str]
    """Under which the run was measured; of the simulator, what its probes had no place for."""


def completion_ps(flows: NDArray[np.void], rows: NDArray[np.void]) -> NDArray[np.float64]:
    """Completion time of each flow in picoseconds; NaN where it has none.

    A one-way flow is complete when its last byte is at the target, one with a reply when that is
    back.
    """
    end = np.where(flows["kind"] == lib.ND_FLOW_ECHO, rows["done_ps"], rows["received_ps"])
    ended = (end != lib.ND_FLOW_NEVER) & (rows["state"] >= lib.ND_FLOW_RECEIVED)
    ended &= rows["state"] != lib.ND_FLOW_FAILED
    times: NDArray[np.float64] = np.full(len(rows), np.nan)
    times[ended] = (end[ended] - rows["start_ps"][ended]).astype(np.float64)
    return times


def bins_begun(series: NDArray[np.uint64], width_ps: int, now_ps: int) -> int:
    """Bins that a run has come to, those that it has outlasted included.

    One that begins as the run ends counts where something arrived at that very moment.
    """
    begun, into = divmod(now_ps, width_ps)
    return begun + bool(into or series[:, begun : begun + 1].any())


def _sizes(flows: NDArray[np.void]) -> NDArray[np.uint64]:
    """Bytes of each flow, both ways."""
    replies = np.where(flows["kind"] == lib.ND_FLOW_ECHO, flows["reply_bytes"], 0)
    sizes: NDArray[np.uint64] = flows["bytes"] + replies
    return sizes


def _flow_goodput(run: Run, times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bits per second of each flow that has started; its reply counts once it is whole."""
    flows, rows = run.flows, run.rows
    started = rows["start_ps"] != lib.ND_FLOW_NEVER
    started &= rows["start_ps"] < run.now_ps
    lasted = np.where(np.isnan(times), run.now_ps - rows["start_ps"], times)[started]
    whole = ~np.isnan(times)[started]
    arrived = np.where(whole, _sizes(flows)[started], rows["payload_bytes"][started])
    rates: NDArray[np.float64] = arrived.astype(np.float64) * 8e12 / lasted.astype(np.float64)
    return rates


def _by_size(sizes: NDArray[np.uint64], slowdown: NDArray[np.float64]) -> list[SizeBand]:
    """A band for each tenth of the flows; tenths of one size fall together."""
    bands: list[SizeBand] = []
    below = -1
    for size in np.unique(np.percentile(sizes, np.arange(1, _DECILES + 1) * 10, method="higher")):
        spread = Spread.of(slowdown[(sizes > below) & (sizes <= size)])
        if spread is not None:
            bands.append(SizeBand(int(size), spread))
        below = int(size)
    return bands


def _by_tier(run: Run, names: list[str], table: NDArray[np.uint64]) -> dict[str, dict[str, int]]:
    """Counters of ports, summed over each kind of switch port."""
    network = run.plan.network
    sums: dict[str, NDArray[np.uint64]] = {}
    for port in range(network.hosts, network.ports):
        tier = network.tier(port)
        sums[tier] = sums.get(tier, np.zeros(len(names), np.uint64)) + table[port]
    return {
        tier: {name: int(value) for name, value in zip(names, row, strict=True)}
        for tier, row in sums.items()
    }


def _phantoms(run: Run) -> dict[str, dict[str, int]]:
    names, table = run.phantom_counters()
    return _by_tier(run, names, table) if table.any() else {}


def _depths(run: Run) -> dict[str, Depth]:
    network, depths = run.plan.network, run.depths
    if len(depths) == 0 or run.now_ps == 0:
        return {}
    tiers = np.array([network.tier(port) for port in range(network.ports)])
    time_ns = run.now_ps / 1000
    return {
        str(tier): Depth(
            float(depths["bytes_ns"][tiers == tier].mean()) / time_ns,
            int(depths["bytes_max"][tiers == tier].max()),
        )
        for tier in np.unique(tiers)
        if tier != "nic"
    }


def _engines(run: Run) -> dict[str, dict[str, int]]:
    result = {}
    for engine in run.plan.engines:
        names, table = run.engine_counters(engine)
        sums = table.sum(axis=0)
        result[engine] = {name: int(value) for name, value in zip(names, sums, strict=True)}
    return result


def _waste(run: Run) -> float | None:
    if not run.scenario.probes.waste or run.world != "sim":
        return None
    expecting = int(run.hosts["expecting_ps"].sum())
    return int(run.hosts["idle_ps"].sum()) / expecting if expecting else 0.0


def _unfinished(run: Run, waited: NDArray[np.bool_]) -> tuple[Unfinished, ...]:
    flows, rows = run.flows, run.rows
    open_ones = np.flatnonzero(waited & (rows["state"] != lib.ND_FLOW_DONE))
    return tuple(
        Unfinished(
            int(i),
            int(flows["source"][i]),
            int(flows["target"][i]),
            int(flows["bytes"][i]),
            STATES[rows["state"][i]],
            int(rows["payload_bytes"][i]),
            int(rows["error"][i]),
        )
        for i in open_ones
    )


def summarise(run: Run) -> Result:
    """The result of a run so far."""
    flows, rows = run.flows, run.rows
    waited = flows["background"] == 0
    times = completion_ps(flows, rows)
    complete = waited & ~np.isnan(times)
    slowdown = times[complete] / np.maximum(rows["best_ps"][complete], 1)
    received = run.hosts["payload_bytes"]
    seconds = run.now_ps / 1e12
    rates = received[received > 0] * 8 / seconds if seconds else np.empty(0)
    unfinished = _unfinished(run, waited)
    count = int(np.count_nonzero(waited))
    return Result(
        status=run.status.name.lower() if run.status is not None else "until",
        time_ps=run.now_ps,
        trace_hash=run.trace_hash,
        flows=count,
        finished=count - len(unfinished),
        background=len(flows) - count,
        fct_us=Spread.of(times[complete] / 1e6),
        slowdown=Spread.of(slowdown),
        slowdown_by_size=tuple(_by_size(_sizes(flows)[complete], slowdown))
        if len(slowdown)
        else (),
        flow_goodput=Goodput.of(_flow_goodput(run, times)),
        host_goodput=Goodput.of(rates),
        network=dict(run.counters),
        queues=_by_tier(run, *run.queue_counters()),
        phantoms=_phantoms(run),
        depths=_depths(run),
        engines=_engines(run),
        priority_bytes=run.priority_bytes.tolist(),
        waste=_waste(run),
        unfinished=unfinished,
        conditions=dict(run.conditions),
    )
