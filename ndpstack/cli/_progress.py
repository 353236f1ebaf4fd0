"""A progress bar on a terminal, and nothing anywhere else."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ndpstack.toml import format_time

if TYPE_CHECKING:
    from ndpstack.sim import Progress

_WIDTH = 30


def share_done(progress: Progress) -> float:
    """How much of the run is behind it: by flows that ended, or by time where that is more."""
    by_flows = 1 - progress.unfinished / progress.flows if progress.flows else 0.0
    by_time = progress.now_ps / progress.until_ps if progress.until_ps else 0.0
    return min(1.0, max(by_flows, by_time))


def _bar(share: float) -> str:
    filled = int(_WIDTH * share)
    return "[" + "#" * filled + "." * (_WIDTH - filled) + f"] {share:4.0%}"


def line(progress: Progress) -> str:
    """The bar of a run and what it is about."""
    done = progress.flows - progress.unfinished
    rate = progress.events / max(progress.wall_s, 1e-9) / 1e6
    return (
        f"{_bar(share_done(progress))}  {format_time(progress.now_ps)}  "
        f"{done:,}/{progress.flows:,} flows  {rate:.1f} M events/s"
    )


class Line:
    """A line that is drawn over and over, on stderr when that is a terminal."""

    def __init__(self, *, wanted: bool = True) -> None:
        self._on = wanted and sys.stderr.isatty()
        self._drawn = False

    def draw(self, text: str) -> None:
        """In place of what was there."""
        if self._on:
            print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
            self._drawn = True

    def show(self, share: float, text: str) -> None:
        """A bar and what is being done."""
        self.draw(f"{_bar(share)}  {text}")

    def close(self) -> None:
        """Leaves the line to what follows."""
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class Bar(Line):
    """The line of a run."""

    def __call__(self, progress: Progress) -> None:
        """One look at the run."""
        self.draw(line(progress))
