"""Contestants take turns; what counts is the median of the rounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import TYPE_CHECKING

from ndpstack.bench._bed import TurnError
from ndpstack.bench._kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ndpstack.bench._bed import Bed
    from ndpstack.bench._turn import Sample


@dataclass(frozen=True)
class Figures:
    """Of one turn."""

    p50_us: float
    p99_us: float
    requests_per_s: float
    gbit_per_s: float
    """Of requests' bytes."""

    @staticmethod
    def of(sample: Sample, request_bytes: int) -> Figures:
        """From what a client measured."""
        rate = len(sample.latencies_us) / sample.seconds
        return Figures(
            median(sample.latencies_us),
            quantiles(sample.latencies_us, n=100, method="inclusive")[-1],
            rate,
            rate * request_bytes * 8 / 1e9,
        )


@dataclass
class Standing:
    """What one contestant did in all rounds."""

    name: str
    title: str
    rounds: list[Figures | None] = field(default_factory=list)
    """None: it did not finish that one."""
    mode: str = ""
    error: str = ""
    """Why it did not finish the last one that it did not."""

    def median(self, figure: str) -> float | None:
        """Of one figure, over the rounds that it finished."""
        values = [getattr(each, figure) for each in self.rounds if each is not None]
        return median(values) if values else None

    def against(self, other: Standing, figure: str) -> float | None:
        """Median of the rounds' ratios of a figure: the other's to this one's."""
        ratios = [
            getattr(theirs, figure) / getattr(own, figure)
            for own, theirs in zip(self.rounds, other.rounds, strict=True)
            if own is not None and theirs is not None
        ]
        return median(ratios) if ratios else None


@dataclass(frozen=True, kw_only=True)
class Match:
    """A measurement: what is asked of whom, and how often."""

    kind: str
    names: Sequence[str]
    request_bytes: int
    reply_bytes: int
    count: int
    outstanding: int
    rounds: int

    def play(self, bed: Bed, told: Callable[[str, int], None]) -> list[Standing]:
        """Lets all of them take turns.

        Args:
            bed: Where.
            told: Called before each turn with who is next and how many turns are done.

        Returns:
            A standing for each.
        """
        standings = [Standing(name, KINDS[self.kind].entry(name).title) for name in self.names]
        done = 0
        for _ in range(self.rounds):
            for standing in standings:
                told(standing.title, done)
                standing.rounds.append(self._turn(bed, standing))
                done += 1
        return standings

    def _turn(self, bed: Bed, standing: Standing) -> Figures | None:
        sizes = (self.request_bytes, self.reply_bytes)
        try:
            sample = bed.turn(self.kind, standing.name, sizes, self.count, self.outstanding)
        except TurnError as error:
            standing.error = str(error)
            return None
        standing.mode = sample.mode
        return Figures.of(sample, self.request_bytes)
