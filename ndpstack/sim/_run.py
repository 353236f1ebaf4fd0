"""What a world hands over of a run: the same whether it was simulated or sent over real links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ndpstack.scenario import Scenario
    from ndpstack.sim._plan import Plan
    from ndpstack.sim._simulation import Status
    from ndpstack.toml import Picoseconds

Conditions = Mapping[str, str]
"""Under which a run was measured, in words; of the simulator, what its probes had no place for."""


class Run(Protocol):
    """A run so far. What a world cannot observe is empty or None."""

    @property
    def world(self) -> str:
        """sim, memory or netns."""

    @property
    def options(self) -> tuple[str, ...]:
        """What repeats it beside the scenario: words for `ndpstack run`."""

    @property
    def scenario(self) -> Scenario:
        """What was run."""

    @property
    def plan(self) -> Plan:
        """Network, engines and flows, as the core has them."""

    @property
    def conditions(self) -> Conditions:
        """Under which it was measured."""

    @property
    def status(self) -> Status | None:
        """Why it ended."""

    @property
    def now_ps(self) -> Picoseconds:
        """Time since the run began."""

    @property
    def trace_hash(self) -> int | None:
        """Equal for two runs that did the same; None where no two do."""

    @property
    def flows(self) -> NDArray[np.void]:
        """What was asked: a record for each flow."""

    @property
    def rows(self) -> NDArray[np.void]:
        """What became of each flow."""

    @property
    def hosts(self) -> NDArray[np.void]:
        """What each host received."""

    @property
    def depths(self) -> NDArray[np.void]:
        """Depth of each port's queue."""

    @property
    def timeline(self) -> NDArray[np.void]:
        """The packet timeline."""

    @property
    def goodput(self) -> NDArray[np.uint64]:
        """Payload bytes by [host or flow, bin]."""

    @property
    def priority_bytes(self) -> NDArray[np.uint64]:
        """Wire bytes that arrived, by [with payload or without, priority]."""

    @property
    def counters(self) -> Mapping[str, int]:
        """Counters of the network as a whole."""

    def queue_counters(self) -> tuple[list[str], NDArray[np.uint64]]:
        """Names, and a row for each port."""

    def phantom_counters(self) -> tuple[list[str], NDArray[np.uint64]]:
        """Names, and a row for each port."""

    def engine_counters(self, name: str) -> tuple[list[str], NDArray[np.uint64]]:
        """Names of a protocol's counters, and a row for each host."""
