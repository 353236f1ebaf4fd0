"""What the commands that look at a host service have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


def add_service(parser: argparse.ArgumentParser) -> None:
    """Adds `--service`."""
    parser.add_argument(
        "--service", metavar="NAME", default="host",
        help="what applications attach by: a name, or the path of a socket",
    )  # fmt: skip


def rounds(limit: int | None) -> Iterator[int]:
    """0, 1, ... as often as was asked for, or until the user ends it."""
    number = 0
    while limit is None or number < limit:
        yield number
        number += 1
