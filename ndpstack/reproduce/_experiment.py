"""What an experiment is: a run of shipped scenarios, and numbers with the band they must lie in."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from ndpstack._errors import UserError
from ndpstack.scenario import load_scenario
from ndpstack.sim import Simulation, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")


class Effort(Enum):
    """How much of an experiment is run."""

    QUICK = "quick"
    """A part that shows the effect, for CI: fewer points, shorter runs."""
    FULL = "full"
    """All of it."""

    def choose(self, quick: T, full: T) -> T:
        """The value for this effort."""
        return quick if self is Effort.QUICK else full


@dataclass(frozen=True)
class Check:
    """A number of ours beside the paper's, and the band that it must lie in."""

    what: str
    paper: str
    """What the paper or its authors' files say."""
    ours: float
    low: float | None = None
    high: float | None = None
    unit: str = ""
    explained: str = ""
    """Why a number outside its band is no fault of ours; a miss with a reason is not a failure."""

    @property
    def passed(self) -> bool:
        """Whether our number lies in the band."""
        below = self.high is None or self.ours <= self.high
        return below and (self.low is None or self.ours >= self.low)

    @property
    def accepted(self) -> bool:
        """Whether it passed, or the miss is understood."""
        return self.passed or bool(self.explained)

    @property
    def verdict(self) -> str:
        """One word for the table."""
        if self.low is None and self.high is None:
            return "reported"
        if self.passed:
            return "ok"
        return "explained" if self.explained else "MISS"

    @property
    def band(self) -> str:
        """The band in words."""
        match self.low, self.high:
            case None, None:
                return "report"
            case None, high:
                return f"<= {high:g}"
            case low, None:
                return f">= {low:g}"
            case low, high:
                return f"{low:g} .. {high:g}"


@dataclass(frozen=True)
class Line:
    """A series of a figure."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    published: bool = False
    """Drawn as the reference, dashed."""


@dataclass(frozen=True)
class Figure:
    """A plot: its series and axes."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    x_log: bool = False
    y_log: bool = False


@dataclass
class Outcome:
    """What an experiment gave."""

    checks: list[Check] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    """What repeats each run."""
    error: str = ""
    """Why it ended before all its runs; what came before stays."""

    @property
    def passed(self) -> bool:
        """Whether all was run and every number lies in its band, or the miss is understood."""
        return not self.error and all(check.accepted for check in self.checks)


@dataclass(frozen=True)
class Experiment:
    """An entry of the catalogue."""

    id: str
    title: str
    source: str
    """Paper and place."""
    run: Callable[[Effort, Outcome], None]
    """Runs it and fills in the outcome."""
    quick: bool
    """Part of --quick."""
    cost_s: float
    """About the CPU seconds of the full run on one core, from what a simulated second costs."""
    also: tuple[str, ...] = ()
    """Further entries of the catalogue whose numbers are in it."""

    @property
    def ids(self) -> tuple[str, ...]:
        """All entries that it answers."""
        return (self.id, *self.also)


def prepare(outcome: Outcome, scenario: str, *overrides: str) -> Simulation:
    """A shipped scenario, ready to run; the command that repeats it is noted."""
    words = "".join(f" --set '{item}'" for item in overrides)
    outcome.commands.append(f"ndpstack run {scenario}{words}")
    return Simulation(load_scenario(scenario, overrides))


def advance(outcome: Outcome, simulation: Simulation, until_ps: int | None = None) -> None:
    """Runs what was prepared last, to a time or to its end.

    Raises:
        UserError: The run stopped early, or an invariant broke.
    """
    status = simulation.run(until_ps)
    if status not in (Status.DONE, Status.UNTIL):
        raise UserError(f"{outcome.commands[-1]}: {status.name.lower()}: {simulation.error}")
    wrong = simulation.audit()
    if wrong:
        raise UserError(f"{outcome.commands[-1]}: {wrong}")


def simulate(outcome: Outcome, scenario: str, *overrides: str) -> Simulation:
    """Runs a shipped scenario to its end."""
    simulation = prepare(outcome, scenario, *overrides)
    advance(outcome, simulation)
    return simulation
