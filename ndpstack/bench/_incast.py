"""Small requests beside an incast: Homa, and the kernel's TCP through the same switch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ndpstack._table import Column, render
from ndpstack.agent import PLAIN_PACKETS, Replay
from ndpstack.scenario import load_scenario
from ndpstack.sim import completion_ps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

SCENARIO: Final = "servers-beside-incast"
REQUEST_BYTES: Final = 100
CONTESTANTS: Final = {"Homa": 0, "kernel TCP": PLAIN_PACKETS}
"""Each with the packets that a port of the switch holds for it; 0: the scenario's queues."""

COLUMNS = (
    Column("contestant"),
    Column("requests"),
    Column("unanswered"),
    Column("p50", "ms"),
    Column("p99", "ms"),
    Column("max", "ms"),
    Column("p99 to ours", digits=1),
)


@dataclass(frozen=True)
class Waits:
    """How long requests took beside the incast, in milliseconds."""

    name: str
    requests: int
    unanswered: int
    p50_ms: float
    p99_ms: float
    max_ms: float

    @staticmethod
    def of(name: str, times_ms: NDArray[np.float64]) -> Waits:
        """From all of them; NaN is one without an answer."""
        lost = int(np.isnan(times_ms).sum())
        if lost == len(times_ms):
            return Waits(name, len(times_ms), lost, np.nan, np.nan, np.nan)
        p50, p99, most = (float(x) for x in np.nanpercentile(times_ms, [50, 99, 100]))
        return Waits(name, len(times_ms), lost, p50, p99, most)


def beside_incast(
    rounds: int, told: Callable[[float, str], None], overrides: Sequence[str] = ()
) -> list[Waits]:
    """Runs the scenario on namespaces with each contestant in turns.

    Args:
        rounds: How often.
        told: Called with the share that is done and what comes next.
        overrides: What to change in the scenario.
    """
    times: dict[str, list[NDArray[np.float64]]] = {name: [] for name in CONTESTANTS}
    turns = [name for _ in range(rounds) for name in CONTESTANTS]
    for done, name in enumerate(turns):
        told(done / len(turns), name)
        times[name].append(_one_round(overrides, CONTESTANTS[name]))
    return [Waits.of(name, np.concatenate(rows)) for name, rows in times.items()]


def _one_round(overrides: Sequence[str], kernel_tcp: int) -> NDArray[np.float64]:
    run = Replay(load_scenario(SCENARIO, overrides), "netns", kernel_tcp=kernel_tcp)
    run.run()
    asked = run.flows["bytes"] == REQUEST_BYTES
    times: NDArray[np.float64] = completion_ps(run.flows, run.rows)[asked] / 1e9
    return times


def incast_table(waits: list[Waits]) -> str:
    """A row a contestant."""
    ours = waits[0]
    rows = [
        (each.name, each.requests, each.unanswered, each.p50_ms, each.p99_ms, each.max_ms,
         each.p99_ms / ours.p99_ms)
        for each in waits
    ]  # fmt: skip
    return render(COLUMNS, rows)


def incast_document(waits: list[Waits]) -> dict[str, object]:
    """All of it; what is not a number is null."""
    rows = [
        {
            key: None if isinstance(value, float) and np.isnan(value) else value
            for key, value in asdict(each).items()
        }
        for each in waits
    ]
    return {"kind": "incast", "scenario": SCENARIO, "contestants": rows}
