"""Where values stand, and what is wrong with them."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, NoReturn

from ndpstack._errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

Keys = tuple[str, ...]
"""Where a value stands: the keys that lead to it."""

PROBLEMS_MAX = 100
"""Problems that are kept; a file with more is not a configuration."""


@dataclasses.dataclass(frozen=True)
class Problem:
    """A mistake: where, and what to do."""

    keys: Keys
    text: str


class PlaceError(UserError):
    """A value cannot be used."""

    def __init__(self, place: Place, text: str) -> None:
        where = ".".join(place.keys)
        super().__init__(": ".join(part for part in (place.file, where, text) if part))
        self.problem = Problem(place.keys, text)


@dataclasses.dataclass(frozen=True)
class Place:
    """Where in which file a value stands."""

    file: str = ""
    keys: Keys = ()

    def __truediv__(self, key: str | int) -> Place:
        return Place(self.file, (*self.keys, str(key)))

    def fail(self, text: str) -> NoReturn:
        """Raises the error for this place."""
        raise PlaceError(self, text)


@dataclasses.dataclass
class Problems:
    """Mistakes in the order in which they were found."""

    found: list[Problem] = dataclasses.field(default_factory=list)

    def add(self, keys: Keys, text: str) -> None:
        """Notes a mistake, unless there are very many or it is known."""
        problem = Problem(keys, text)
        if len(self.found) < PROBLEMS_MAX and problem not in self.found:
            self.found.append(problem)

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """A mistake ends what is within it, and no more than that."""
        try:
            yield
        except PlaceError as error:
            self.add(error.problem.keys, error.problem.text)


def suggest(word: str, known: list[str], what: str) -> str:
    """The end of an error message: the nearest known word, or all of them."""
    from difflib import get_close_matches  # For mistakes only: programs start without it.

    close = get_close_matches(word, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"{what}: {', '.join(known)}"


def dashed(name: str) -> str:
    """A field's name as a key of the file."""
    return name.replace("_", "-")
