"""What the commands that look at a host service have in common."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def add_service(parser: argparse.ArgumentParser) -> None:
    """Adds `--service`."""
    parser.add_argument(
        "--service", metavar="NAME", default="host",
        help="what applications attach by: a name, or the path of a socket",
    )  # fmt: skip


def seconds(text: str) -> float:
    """An interval on the command line."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return value


def count(text: str) -> int:
    """A number of rounds on the command line."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no count above 0")
    return int(text)


def rounds(limit: int | None) -> Iterator[int]:
    """0, 1, ... as often as was asked for, or until the user ends it."""
    number = 0
    while limit is None or number < limit:
        yield number
        number += 1
