"""A simulation: built from a scenario, run in slices, read as arrays."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from ndpstack._core import ffi, lib
from ndpstack._errors import UserError
from ndpstack._reason import reason_of
from ndpstack.scenario import Scenario, ScenarioFile
from ndpstack.sim._arrays import record, view
from ndpstack.sim._plan import Plan
from ndpstack.toml import Picoseconds, format_time, parse_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ndpstack._core import CData, nd_counters_table, nd_sim
    from ndpstack.sim._run import Conditions

_FOREVER = 2**63
"""Later than any run ends, in picoseconds."""

WAIT_NS_MAX = 2**32 - 1
"""Nanoseconds that the probe of delays counts to."""

_SLICE_S = 0.1
"""Wall time between two looks at signals and progress."""
_SLICE_FIRST_PS = 10**7


class Status(IntEnum):
    """Why a run came back."""

    DONE = 0
    """All flows that it waits for have ended."""
    UNTIL = 1
    """The time was reached first."""
    STUCK = 2
    """Nothing will happen any more, and flows are unfinished."""
    LIMIT = 3
    """A memory limit was reached."""
    BROKEN = 4
    """An invariant is broken: a fault of ndpstack."""


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    now_ps: Picoseconds
    """Virtual time."""
    until_ps: Picoseconds | None
    """Where it ends, if that is known."""
    flows: int
    """Flows that it waits for."""
    unfinished: int
    """Of these, not ended yet."""
    events: int
    """Events served so far."""
    wall_s: float
    """Seconds of real time so far."""


def counter_names(table: nd_counters_table) -> list[str]:
    """Names of a table of counters, in order."""
    return [ffi.string(table.texts[i].name).decode() for i in range(table.count)]


class Simulation:
    """One run of a scenario in virtual time.

    Arrays that it hands out are views of the core's memory: they cost nothing, follow the run,
    and stay valid for as long as they are held.

    Args:
        scenario: What to run, as `load_scenario` returns it, or the typed scenario alone.
    """

    world = "sim"
    options: tuple[str, ...] = ()

    def __init__(self, scenario: ScenarioFile | Scenario) -> None:
        file = scenario if isinstance(scenario, ScenarioFile) else None
        self.scenario = scenario.scenario if isinstance(scenario, ScenarioFile) else scenario
        self.plan = Plan(self.scenario, file.name if file else "scenario")
        self.status: Status | None = None
        self._waited = int(np.count_nonzero(self.plan.traffic.flows["background"] == 0))
        self._sim = self._make()

    def _make(self) -> nd_sim:
        traffic = self.plan.traffic
        error = ffi.new("struct nd_error *")
        sim = lib.nd_sim_new(
            self.plan.config,
            ffi.from_buffer("struct nd_flow[]", traffic.flows),
            len(traffic.flows),
            ffi.from_buffer("struct nd_trigger[]", traffic.triggers),
            len(traffic.triggers),
            error,
        )
        if not sim:
            raise UserError(f"simulation: {reason_of(error)}")
        return ffi.gc(sim, lib.nd_sim_free)

    def run(
        self, until: str | int | None = None, progress: Callable[[Progress], None] | None = None
    ) -> Status:
        """Runs until a virtual time, the scenario's duration when left out.

        The interpreter lock is free meanwhile. May be called again with a later time.

        Args:
            until: "30ms", or picoseconds.
            progress: Called some ten times a second of real time.
        """
        end = self._end(until)
        limit = _FOREVER if end is None else int(end)
        step = _SLICE_FIRST_PS
        began = before = time.monotonic()
        while True:
            slice_end = min(limit, self.now_ps + step)
            self.status = Status(lib.nd_sim_run(self._sim, slice_end))
            now = time.monotonic()
            if progress is not None:
                progress(self._progress(end, now - began))
            if self.status is not Status.UNTIL or slice_end == limit:
                return self.status
            # Each slice takes about as long in real time, however busy the network is.
            step = max(1000, int(step * min(2.0, _SLICE_S / max(now - before, 1e-6))))
            before = now

    def _end(self, until: str | int | None) -> Picoseconds | None:
        if until is None:
            return self.scenario.duration
        return Picoseconds(until) if isinstance(until, int) else parse_time(until)

    def _progress(self, end: Picoseconds | None, wall_s: float) -> Progress:
        return Progress(
            self.now_ps, end, self._waited, self.unfinished, self.counters["events"], wall_s
        )

    @property
    def now_ps(self) -> Picoseconds:
        """Virtual time."""
        return Picoseconds(lib.nd_sim_now(self._sim))

    @property
    def trace_hash(self) -> int:
        """Equal for two runs that did the same."""
        return lib.nd_sim_trace_hash(self._sim)

    @property
    def unfinished(self) -> int:
        """Flows that the run waits for and that have not ended."""
        return lib.nd_sim_unfinished(self._sim)

    @property
    def memory_bytes(self) -> int:
        """Memory that the core asked for."""
        return lib.nd_sim_memory(self._sim)

    @property
    def error(self) -> str:
        """What a status of LIMIT or BROKEN means; empty otherwise."""
        return ffi.string(lib.nd_sim_error(self._sim)).decode()

    def audit(self) -> str | None:
        """Checks conservation and every invariant of engines, queues and pools.

        Returns:
            None, or what is wrong.
        """
        wrong = lib.nd_sim_audit(self._sim)
        return ffi.string(wrong).decode() if wrong else None

    @property
    def flows(self) -> NDArray[np.void]:
        """What was asked: a record for each flow."""
        count = ffi.new("uint32_t *")
        return self._records(lib.nd_sim_flows(self._sim, count), count[0], "nd_flow")

    @property
    def rows(self) -> NDArray[np.void]:
        """What became of each flow."""
        count = ffi.new("uint32_t *")
        return self._records(lib.nd_sim_rows(self._sim, count), count[0], "nd_flow_row")

    @property
    def hosts(self) -> NDArray[np.void]:
        """What each host received."""
        count = ffi.new("uint32_t *")
        return self._records(lib.nd_sim_hosts(self._sim, count), count[0], "nd_sim_host_row")

    @property
    def depths(self) -> NDArray[np.void]:
        """Depth of each port's queue; empty without the probe `queues`."""
        count = ffi.new("uint32_t *")
        return self._records(lib.nd_sim_depths(self._sim, count), count[0], "nd_sim_depth")

    @property
    def timeline(self) -> NDArray[np.void]:
        """The packet timeline; empty without the probe `timeline`."""
        count, lost = ffi.new("uint32_t *"), ffi.new("uint64_t *")
        pointer = lib.nd_sim_timeline(self._sim, count, lost)
        return self._records(pointer, count[0], "nd_sim_record")

    @property
    def timeline_lost(self) -> int:
        """Entries that did not fit into the timeline."""
        count, lost = ffi.new("uint32_t *"), ffi.new("uint64_t *")
        lib.nd_sim_timeline(self._sim, count, lost)
        return lost[0]

    @property
    def conditions(self) -> Conditions:
        """What limits the results: what the probes had no place for."""
        found = {}
        if lost := self.timeline_lost:
            found["timeline"] = (
                f"{lost:,} entries did not fit; raise probes.timeline, or watch one host with "
                "probes.timeline-host"
            )
        bins, width = self.goodput.shape[1], self.scenario.probes.goodput or 0
        if bins * width < self.now_ps and bins:
            found["goodput"] = (
                f"the last bin has all from {format_time((bins - 1) * width)} on; give wider bins, "
                "or a duration, which allows for more of them"
            )
        if self.scenario.probes.delays and (self.rows["wait_ns"] == WAIT_NS_MAX).any():
            found["delays"] = "waits longer than 4.29 s are shown as that"
        return found

    @property
    def goodput(self) -> NDArray[np.uint64]:
        """Payload bytes by [host or flow, bin]; empty without the probe `goodput`."""
        rows, bins = ffi.new("uint32_t *"), ffi.new("uint32_t *")
        pointer = lib.nd_sim_goodput(self._sim, rows, bins)
        return self._words(pointer, rows[0] * bins[0]).reshape(rows[0], bins[0])

    @property
    def priority_bytes(self) -> NDArray[np.uint64]:
        """Wire bytes that arrived, by [with payload or without, priority]."""
        return self._words(lib.nd_sim_priority_bytes(self._sim), 16).reshape(2, 8)

    @property
    def counters(self) -> dict[str, int]:
        """Counters of the network as a whole."""
        names = counter_names(lib.nd_sim_counters_table)
        words = ffi.cast("uint64_t *", lib.nd_sim_counters(self._sim))
        return {name: words[i] for i, name in enumerate(names)}

    def queue_counters(self) -> tuple[list[str], NDArray[np.uint64]]:
        """Names, and a row for each port: zeros for the NICs of hosts."""
        names = counter_names(lib.nd_queue_counters_table)
        table = np.zeros((self.plan.network.ports, len(names)), np.uint64)
        for port in range(self.plan.network.ports):
            counters = lib.nd_sim_queue_counters(self._sim, port)
            if counters:
                table[port] = self._words(ffi.cast("uint64_t *", counters), len(names))
        return names, table

    def phantom_counters(self) -> tuple[list[str], NDArray[np.uint64]]:
        """Names, and a row for each port: zeros where there is no phantom queue."""
        names = counter_names(lib.nd_phantom_counters_table)
        table = np.zeros((self.plan.network.ports, len(names)), np.uint64)
        for port in range(self.plan.network.ports):
            counters = lib.nd_sim_phantom_counters(self._sim, port)
            if counters:
                table[port] = self._words(ffi.cast("uint64_t *", counters), len(names))
        return names, table

    def engine_counters(self, name: str) -> tuple[list[str], NDArray[np.uint64]]:
        """Names of a protocol's counters, and a row for each host."""
        engine = list(self.plan.engines).index(name)
        names = counter_names(self.plan.engines[name].ops.counters_table)
        rows = [
            self._words(lib.nd_sim_engine_counters(self._sim, host, engine), len(names))
            for host in range(self.plan.network.hosts)
        ]
        return names, np.array(rows, np.uint64)

    def best_ps(self, engine: int, source: int, target: int, size: int) -> Picoseconds:
        """Shortest possible time of a message on one path of an idle network."""
        return Picoseconds(lib.nd_sim_best(self._sim, engine, source, target, size))

    def _records(self, pointer: CData, count: int, struct: str) -> NDArray[np.void]:
        return view(pointer, count, record(struct), self._sim)

    def _words(self, pointer: CData, count: int) -> NDArray[np.uint64]:
        return view(pointer, count, np.dtype(np.uint64), self._sim)
