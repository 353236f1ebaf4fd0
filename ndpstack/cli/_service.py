"""What the commands that look at host services and at programs' stacks have in common."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeVar

from ndpstack._sources import ask, ask_all

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from ndpstack._sources import StatusAnswer

T = TypeVar("T")


def add_service(parser: argparse.ArgumentParser) -> None:
    """Adds `--service`."""
    parser.add_argument(
        "--service", metavar="NAME",
        help="only this host service, by what applications attach by, a name or the path of a "
        "socket; or a program's stack, by PID.N; default: all in this network namespace",
    )  # fmt: skip


def look(service: str | None, name: str, read: Callable[[StatusAnswer], T]) -> list[T]:
    """What is read from a document of the service, or of all; who does not answer is named.

    Raises:
        UserError: None answers.
    """
    if service is not None:
        return [read(ask(service, name))]
    found, problems = ask_all(name, read)
    for problem in problems:
        print(f"ndpstack: {problem}", file=sys.stderr, flush=True)
    return found


def printable(text: str) -> str:
    """What another process says, as a terminal may have it."""
    return text if text.isprintable() else ascii(text)


def rounds(limit: int | None) -> Iterator[int]:
    """0, 1, ... as often as was asked for, or until the user ends it."""
    number = 0
    while limit is None or number < limit:
        yield number
        number += 1
