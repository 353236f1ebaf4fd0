"""Distributions of message sizes: the shipped ones, files of the same form, and Pareto."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack.toml import Bytes, parse_size, suggest

if TYPE_CHECKING:
    from collections.abc import Sequence

PROBABILITY_ONE = 1 << 32
"""Probabilities are fractions of this, as the core draws them."""

SIZE_MAX = 10**15
"""Bytes of a message: more than a petabyte is none."""

PARETO_SHAPE_MAX = 1000
"""A distribution as narrow as this is one size."""

_PARETO_POINTS = 1024


@dataclass(frozen=True)
class Workload:
    """A distribution of sizes by its cumulative points."""

    name: str
    """Name of the shipped distribution, or path of the file."""
    sizes: tuple[int, ...]
    """Sizes in bytes, ascending; two equal ones are a jump."""
    cumulative: tuple[float, ...]
    """Probability of at most that size, ascending to 1."""
    linear: bool
    """True: a size lies between two points; False: it is one of them."""
    source: str
    """Where the numbers are from."""

    @property
    def mean(self) -> float:
        """Mean size in bytes."""
        total = 0.0
        size_before, share_before = 0, 0.0
        for size, share in zip(self.sizes, self.cumulative, strict=True):
            middle = (size_before + size) / 2 if self.linear else size
            total += (share - share_before) * middle
            size_before, share_before = size, share
        return total

    def share_below(self, limit: int) -> float:
        """Probability of a size below limit bytes."""
        size_before, share_before = 0, 0.0
        for size, share in zip(self.sizes, self.cumulative, strict=True):
            if size >= limit:
                if not self.linear or size == size_before:
                    return share_before
                part = max(0, limit - size_before) / (size - size_before)
                return share_before + part * (share - share_before)
            size_before, share_before = size, share
        return 1.0

    def capped(self, limit: int) -> Workload:
        """The same distribution with every size above the limit cut down to it."""
        kept = [(a, b) for a, b in zip(self.sizes, self.cumulative, strict=True) if a < limit]
        if len(kept) == len(self.sizes):
            return self
        points = [*kept, (limit, self._share_at_most(limit)), (limit, 1.0)]
        sizes, cumulative = zip(*points, strict=True)
        return replace(
            self, name=f"{self.name} up to {limit:,} B", sizes=sizes, cumulative=cumulative
        )

    def _share_at_most(self, limit: int) -> float:
        """Probability of a size up to a limit that is no point of the distribution."""
        return self.share_below(limit) if self.linear else self.share_below(limit + 1)

    def points(self) -> tuple[list[int], list[int]]:
        """Sizes and cumulative probabilities in 1/2^32, as the core takes them."""
        scaled = [min(round(p * PROBABILITY_ONE), PROBABILITY_ONE - 1) for p in self.cumulative]
        return list(self.sizes), scaled


def workload_names() -> list[str]:
    """Names of the shipped distributions."""
    folder = resources.files("ndpstack") / "data" / "workloads"
    return sorted(
        item.name.removesuffix(".txt") for item in folder.iterdir() if item.name.endswith(".txt")
    )


def load_workload(name: str, base: Path | None = None) -> Workload:
    """The shipped distribution of that name (in any case), or the file at that path.

    Args:
        name: "w4", "web-search", ... or a path that ends in ".txt".
        base: Folder that a relative path starts from.
    """
    if name.endswith(".txt"):
        path = (base or Path()) / name
        try:
            return _parse(str(path), path.read_text())
        except OSError as error:
            raise UserError(f"{path}: no workload there ({error.strerror})") from None
        except UnicodeDecodeError as error:
            raise UserError(f"{path}: this workload is no text: {error}") from None
    known = workload_names()
    if name.lower() not in known:
        hint = suggest(name.lower(), known, "there are")
        if name.lower() == "pareto":
            hint = "it has a shape and a mean: { pareto-shape = 1.05, mean = '100KB' }"
        raise UserError(f"no workload is called {name!r}; {hint}")
    return _shipped(name.lower())


@cache
def _shipped(name: str) -> Workload:
    item = resources.files("ndpstack") / "data" / "workloads" / f"{name}.txt"
    return _parse(name, item.read_text())


def _parse(name: str, text: str) -> Workload:
    notes: dict[str, str] = {}
    sizes: list[int] = []
    cumulative: list[float] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("#"):
            key, _, value = line.removeprefix("#").partition(":")
            notes[key.strip()] = value.strip()
            continue
        try:
            size, share = line.split()
            sizes.append(int(size))
            cumulative.append(float(share))
        except ValueError:
            raise UserError(f"{name}:{number}: {line!r} is not 'bytes cumulative'") from None
    workload = Workload(
        name,
        tuple(sizes),
        tuple(cumulative),
        linear=notes.get("interpolation") == "linear",
        source=notes.get("source", name),
    )
    _check(workload, notes)
    return workload


def _check(workload: Workload, notes: dict[str, str]) -> None:
    name = workload.name
    if notes.get("interpolation") not in ("linear", "step"):
        raise UserError(f"{name}: it must say '# interpolation: step' or '# interpolation: linear'")
    if len(workload.sizes) < 1 or workload.cumulative[-1] != 1.0:
        raise UserError(f"{name}: the last cumulative probability must be 1")
    if not _ascend([0, *workload.sizes, SIZE_MAX]):
        raise UserError(f"{name}: sizes must ascend from 0 or more, to at most {SIZE_MAX}")
    if not _ascend([0, *workload.cumulative]):
        raise UserError(f"{name}: cumulative probabilities must ascend from 0 to 1")


def _ascend(numbers: Sequence[float]) -> bool:
    return all(a <= b for a, b in pairwise(numbers))


def pareto(shape: float, mean: int) -> Workload:
    """A Pareto distribution of this shape (above 1) and mean in bytes.

    It is tabulated down to a probability of 2^-32, the finest that is ever drawn, and so bounded:
    `Workload.mean` is that of the bounded one, which for a heavy tail is well below the nominal.
    """
    if not 1 < shape <= PARETO_SHAPE_MAX:
        raise UserError(
            f"pareto: shape {shape} has no mean or no tail; it must be above 1, and at most "
            f"{PARETO_SHAPE_MAX}"
        )
    if not 1 <= mean <= SIZE_MAX:
        raise UserError(f"pareto: a mean of {mean} bytes; it must be 1 to {SIZE_MAX}")
    minimum = mean * (shape - 1) / shape
    tails = [2.0 ** (-32 * i / _PARETO_POINTS) for i in range(_PARETO_POINTS + 1)]
    sizes = tuple(min(round(minimum * tail ** (-1 / shape)), SIZE_MAX) for tail in tails)
    cumulative = (*(1 - tail for tail in tails[:-1]), 1.0)
    return Workload(
        f"pareto({shape}, {mean})",
        sizes,
        cumulative,
        linear=True,
        source=f"Pareto, shape {shape}, mean {mean} B, minimum {minimum:.0f} B",
    )


def read_sizes(value: object, base: Path) -> Workload | Bytes:
    """A distribution or the one size, as scenarios write them.

    Args:
        value: "W4", "sizes.txt", "9KB" or { pareto-shape = 1.05, mean = "100KB" }.
        base: Folder that relative paths start from.

    Raises:
        UserError: It is neither; or UnitError.
    """
    if isinstance(value, str):
        return parse_size(value) if value[:1].isdigit() else load_workload(value, base)
    if not isinstance(value, dict) or set(value) != {"pareto-shape", "mean"}:
        raise UserError(
            f"{value!r} is no distribution; name a workload ('w4', 'sizes.txt'), a "
            "size ('9KB'), or { pareto-shape = 1.05, mean = '100KB' }"
        )
    shape = value["pareto-shape"]
    if isinstance(shape, bool) or not isinstance(shape, int | float):
        raise UserError(f"pareto-shape: {shape!r} is not a number")
    return pareto(shape, parse_size(value["mean"]))
