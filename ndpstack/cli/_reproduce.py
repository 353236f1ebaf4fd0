"""`ndpstack reproduce`: runs the papers' experiments and puts our numbers beside theirs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ndpstack.cli._extra import need
from ndpstack.cli._numbers import count

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("ids", nargs="*", metavar="ID", help="experiments, such as E-N03")
    parser.add_argument(
        "--quick", action="store_true", help="a part of most (see --list), within minutes"
    )
    parser.add_argument("--all", action="store_true", help="every experiment, in full")
    parser.add_argument("--list", action="store_true", help="list the experiments and their cost")
    parser.add_argument(
        "--jobs",
        type=count,
        default=len(os.sched_getaffinity(0)),
        help="experiments at a time (default: %(default)s)",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="write figures and tables there")


def execute(arguments: argparse.Namespace) -> int:
    """Runs what was asked for; fails when a number lies outside its band."""
    need("the simulator", "sim", "numpy")
    from ndpstack.cli._experiments import reproduce

    return reproduce(arguments)
