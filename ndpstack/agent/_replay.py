"""A run on real hosts: the flows of the scenario on a clock, and what came of them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ndpstack._errors import UserError
from ndpstack.agent._applications import Applications
from ndpstack.agent._kernel import KernelTcp
from ndpstack.agent._speakers import SPEAKERS
from ndpstack.agent._stacks import Stacks
from ndpstack.agent._told import Told
from ndpstack.agent._world import World
from ndpstack.scenario._schema import LinkChange
from ndpstack.sim import Progress, Simulation, Status
from ndpstack.sim._arrays import record
from ndpstack.testbed._blueprint import node_name
from ndpstack.testbed._signals import stop_if_told
from ndpstack.toml import Picoseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from ndpstack.agent._carrier import Service
    from ndpstack.scenario import Scenario, ScenarioFile

PLAIN_PACKETS = 100
"""What a port of a plain switch holds unless told otherwise."""

EARLY_NS = 150_000
"""A sleep ends late by about as much: it is cut short, and the rest is spun."""

WAIT_SECONDS = 0.05
"""Longest time between two looks at the clock."""

PATIENCE_SECONDS = 20.0
"""Without any flow ending for so long, a run is stuck."""

LINGER_SECONDS = 0.2
"""After the last flow, for what is still on its way."""

Counters = tuple[list[str], "NDArray[np.uint64]"]


class _LinkChange(NamedTuple):
    """A cable goes down or comes up."""

    at_ns: int
    between: tuple[str, str]
    up: bool


class Replay:
    """One run of a scenario over real links.

    It has the same flows as the simulation of the scenario, and the same rows come out; see
    `ndpstack.sim.Run`. A flow counts from when it should have started.

    Args:
        file: The scenario.
        world: memory or netns.
        kernel_tcp: Above 0: the kernel's TCP carries the flows, through plain switches that hold
            so many packets a port.
    """

    def __init__(self, file: ScenarioFile, world: str, *, kernel_tcp: int = 0) -> None:
        if kernel_tcp and world != "netns":
            raise UserError("the kernel's TCP runs in namespaces only; add --on netns")
        unknown = [name for name in file.scenario.transport if name not in SPEAKERS]
        if unknown:
            raise UserError(f"{unknown[0]!r} is simulated only; use --on sim")
        if file.scenario.probes.capture is not None:
            raise UserError("`probes.capture` is simulated only; use --on sim, or leave it out")
        self.file = file
        self.world = world
        self.kernel_tcp = kernel_tcp
        self.status: Status | None = None
        self.error = ""
        self.conditions: dict[str, str] = {}
        self._ideal = Simulation(file)
        self.plan = self._ideal.plan
        self._now_ns = 0
        self._queues: Counters = ([], np.zeros((self.plan.network.ports, 0), np.uint64))
        self._engines: Mapping[str, Counters] = {}
        self._applications: Applications | None = None
        self._changes = self._link_changes()

    @property
    def scenario(self) -> Scenario:
        """What was run."""
        return self.file.scenario

    @property
    def options(self) -> tuple[str, ...]:
        """What repeats it beside the scenario."""
        return (
            "--on",
            self.world,
            *(["--kernel-tcp", str(self.kernel_tcp)] if self.kernel_tcp else []),
        )

    def run(self, progress: Callable[[Progress], None] | None = None) -> Status:
        """Brings the world up, runs the flows, and takes it down again."""
        with (
            World(self.file, self.world, plain_packets=self.kernel_tcp) as world,
            Told(world.fabric.hosts, world.hosts) as told,
        ):
            self.conditions.update(world.conditions())
            service = self._service(world, told)
            try:
                world.fabric.wait_for_links()
                self._loop(world, service, progress)
                self._engines = service.counters()
                self.conditions.update(service.conditions())
                self._queues = world.fabric.queue_counters(self.plan.network.ports)
                wrong = service.audit() or world.fabric.audit()
                if wrong:
                    self.status, self.error = Status.BROKEN, wrong
            finally:
                service.close()
        assert self.status is not None
        return self.status

    def _service(self, world: World, told: Told) -> Service:
        flows = self.plan.traffic.flows
        if self.kernel_tcp:
            assert world.lab is not None
            return KernelTcp(world.lab, flows, len(self.plan.engines), self.plan.host_rate)
        return Stacks(self.plan, world.host_ports(), self.plan.host_rate, told)

    def _loop(
        self,
        world: World,
        service: Service,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        began = time.monotonic_ns()

        def clock() -> int:
            return time.monotonic_ns() - began

        applications = Applications(self.plan.traffic, service.carriers, clock)
        self._applications = applications
        duration = self.scenario.duration
        end_ns = None if duration is None else duration // 1000
        may_be_stuck = applications.waits or end_ns is None
        before, moved_at = applications.left, 0
        while applications.left and (end_ns is None or clock() < end_ns):
            stop_if_told()
            self._change_links(world, clock())
            if applications.next_start_ns is not None:
                while 0 < applications.next_start_ns - clock() < EARLY_NS:
                    pass
            applications.start_due()
            service.serve(applications, self._wait(applications, clock()))
            now = clock()
            if applications.left != before or applications.next_start_ns is not None:
                before, moved_at = applications.left, now
            elif may_be_stuck and now - moved_at > PATIENCE_SECONDS * 1e9:
                break
            if progress is not None:
                progress(self._progress(now, applications.unfinished))
        self._now_ns = clock()
        self.status = self._status(applications.left, end_ns)
        self._linger(service, applications)
        applications.close()
        self._describe(applications)

    def _status(self, left: int, end_ns: int | None) -> Status:
        if not left:
            return Status.DONE
        return Status.UNTIL if end_ns is not None and self._now_ns >= end_ns else Status.STUCK

    def _wait(self, applications: Applications, now_ns: int) -> float:
        """Seconds until something of ours is due."""
        due = [WAIT_SECONDS]
        if applications.next_start_ns is not None:
            due.append((applications.next_start_ns - now_ns - EARLY_NS) / 1e9)
        if self._changes:
            due.append((self._changes[0].at_ns - now_ns) / 1e9)
        return max(0.0, min(due))

    def _linger(self, service: Service, applications: Applications) -> None:
        """Connections close, and what was sent twice arrives."""
        end = time.monotonic() + LINGER_SECONDS
        while time.monotonic() < end:
            service.serve(applications, end - time.monotonic())

    def _progress(self, now_ns: int, unfinished: int) -> Progress:
        flows = int(np.count_nonzero(self.flows["background"] == 0))
        return Progress(
            Picoseconds(now_ns * 1000), self.scenario.duration, flows, unfinished, 0, now_ns / 1e9
        )

    def _describe(self, applications: Applications) -> None:
        late = np.array(applications.lateness_ns or [0]) / 1000
        self.conditions["flows started late by"] = (
            f"p50 {np.percentile(late, 50):,.0f} us, p99 {np.percentile(late, 99):,.0f} us, "
            f"max {late.max():,.0f} us"
        )

    def _link_changes(self) -> list[_LinkChange]:
        """Cables that go down or come up, by time."""
        changes = []
        for link in self.scenario.link:
            only = LinkChange(between=link.between, at=link.at, state=link.state)
            if link.state is None or link != only:
                raise UserError(
                    f"the cable between {link.between[0]!r} and {link.between[1]!r} changes: on "
                    "real stacks cables can go down and come up, both ways; other changes need "
                    "--on sim"
                )
            changes.append(_LinkChange(link.at // 1000, link.between, link.state == "up"))
        return sorted(changes)

    def _change_links(self, world: World, now_ns: int) -> None:
        """Does what is due; switchd tells hosts which paths are left."""
        due = [change for change in self._changes if change.at_ns <= now_ns]
        self._changes = self._changes[len(due) :]
        for change in due:
            a, b = change.between
            world.set_link(node_name(a), node_name(b), up=change.up)

    @property
    def now_ps(self) -> Picoseconds:
        """Time since the run began."""
        return Picoseconds(self._now_ns * 1000)

    @property
    def trace_hash(self) -> None:
        """No two runs do the same."""

    @property
    def flows(self) -> NDArray[np.void]:
        """What was asked."""
        return self.plan.traffic.flows

    @property
    def rows(self) -> NDArray[np.void]:
        """What became of each flow; the best possible times are the simulator's."""
        ideal = self._ideal.rows
        if self._applications is None:
            return ideal
        rows = self._applications.rows
        rows["best_ps"] = ideal["best_ps"]
        return rows

    @property
    def hosts(self) -> NDArray[np.void]:
        """Payload that each host received."""
        made = np.zeros(self.plan.network.hosts, record("nd_sim_host_row"))
        np.add.at(made["payload_bytes"], self.flows["target"], self.rows["payload_bytes"])
        return made

    @property
    def depths(self) -> NDArray[np.void]:
        """Not watched."""
        return np.empty(0, record("nd_sim_depth"))

    @property
    def timeline(self) -> NDArray[np.void]:
        """Not watched."""
        return np.empty(0, record("nd_sim_record"))

    @property
    def goodput(self) -> NDArray[np.uint64]:
        """Not watched."""
        return np.empty((0, 0), np.uint64)

    @property
    def priority_bytes(self) -> NDArray[np.uint64]:
        """Not watched."""
        return np.zeros((2, 8), np.uint64)

    @property
    def counters(self) -> Mapping[str, int]:
        """What no port or host counts: nothing."""
        return {}

    def queue_counters(self) -> Counters:
        """Of the switches' ports."""
        return self._queues

    def phantom_counters(self) -> Counters:
        """Phantom queues are part of the switches' disciplines."""
        return [], np.zeros((self.plan.network.ports, 0), np.uint64)

    def engine_counters(self, name: str) -> Counters:
        """Of the hosts."""
        nothing: Counters = ([], np.empty((0, 0), np.uint64))
        return self._engines.get("kernel-tcp" if self.kernel_tcp else name, nothing)
