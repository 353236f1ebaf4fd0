"""`ndpstack stat`: the counters of a host service, and what they grow by."""

from __future__ import annotations

import json
import time
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple, cast

from ndpstack._errors import UserError
from ndpstack._table import Cell, Column, render
from ndpstack.cli._exit import Exit
from ndpstack.cli._numbers import count, seconds
from ndpstack.cli._service import add_service, rounds
from ndpstack.host import read_status

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

TOTALS = [Column("counter"), Column("value"), Column("what it counts")]
GROWTH = [
    Column("counter"), Column("value"), Column("grown by"), Column("rate", "1/s", 1),
    Column("what it counts"),
]  # fmt: skip


class Reading(NamedTuple):
    """All counters at one time, by `group.name`."""

    at: float
    """CLOCK_MONOTONIC, seconds."""
    values: Mapping[str, int]
    texts: Mapping[str, str]
    """What each counts, also those of a port that is closed now and has no values."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument(
        "pattern", nargs="*", metavar="PATTERN",
        help="only counters like this: ndp.*, *.rx_*, homa.grants_sent",
    )  # fmt: skip
    add_service(parser)
    parser.add_argument("-a", "--all", action="store_true", help="show those at 0, too")
    parser.add_argument(
        "-i", "--interval", type=seconds, metavar="S",
        help="show what they grow by in so many seconds, again and again",
    )  # fmt: skip
    parser.add_argument(
        "-n", "--count", type=count, metavar="N", help="with -i: stop after N intervals"
    )


def flatten(groups: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    """`group.name` of what lies in groups."""
    return {f"{group}.{name}": each for group, of in groups.items() for name, each in of.items()}


def check_patterns(names: Iterable[str], patterns: Sequence[str]) -> None:
    """Refuses a pattern that matches nothing: it is misspelt.

    Raises:
        UserError: There is one.
    """
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UserError(f"no counter is like {pattern}; `ndpstack stat --all` shows all")


def choose(names: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """The names that one of the patterns matches, all when there is none."""
    return [
        name
        for name in names
        if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
    ]


def _read(service: str) -> Reading:
    document = cast(
        "Mapping[str, Mapping[str, Mapping[str, object]]]", read_status(service, "counters")
    )
    return Reading(
        time.monotonic(),
        cast("dict[str, int]", flatten(document["counters"])),
        cast("dict[str, str]", flatten(document["help"])),
    )


def _print_absent(reading: Reading, patterns: Sequence[str]) -> None:
    """Names the groups that were asked for and have no counters now."""
    groups = {name.partition(".")[0] for name in choose(reading.texts, patterns)}
    for group in sorted(groups - {name.partition(".")[0] for name in reading.values}):
        print(f"{group}: closed, no counters until it is opened again", flush=True)


def growth(before: Reading, after: Reading) -> dict[str, int]:
    """What each has grown by. One that was not there, or is smaller, has begun anew."""
    grown = {}
    for name, value in after.values.items():
        last = before.values.get(name, 0)
        grown[name] = value - last if value >= last else value
    return grown


def _print_totals(arguments: argparse.Namespace, reading: Reading) -> None:
    names = choose(reading.values, arguments.pattern)
    if arguments.json:
        shown = {
            name: {"value": reading.values[name], "help": reading.texts.get(name, "")}
            for name in names
        }
        print(json.dumps({"schema_version": 1, "counters": shown}))
        return
    rows: list[list[Cell]] = [
        [name, reading.values[name], reading.texts.get(name, "")]
        for name in names
        if arguments.all or reading.values[name]
    ]
    print(render(TOTALS, rows) if rows else "all are 0")
    _print_absent(reading, arguments.pattern)


def _print_growth(arguments: argparse.Namespace, before: Reading, after: Reading) -> None:
    grown, passed = growth(before, after), after.at - before.at
    names = choose(grown, arguments.pattern)
    if arguments.json:
        shown = {
            name: {
                "value": after.values[name],
                "grown_by": grown[name],
                "help": after.texts.get(name, ""),
            }
            for name in names
        }
        print(json.dumps({"schema_version": 1, "seconds": passed, "counters": shown}), flush=True)
        return
    rows: list[list[Cell]] = [
        [name, after.values[name], grown[name], grown[name] / passed, after.texts.get(name, "")]
        for name in names
        if arguments.all or grown[name]
    ]
    title = f"in {passed:.3f} s"
    print(render(GROWTH, rows, title) if rows else f"{title}: none has grown", flush=True)
    _print_absent(after, arguments.pattern)


def execute(arguments: argparse.Namespace) -> int:
    """Shows the counters once, or what they grow by in each interval."""
    if arguments.count and arguments.interval is None:
        raise UserError("-n needs -i, the seconds of an interval")
    before = _read(arguments.service)
    check_patterns(before.texts, arguments.pattern)
    if arguments.interval is None:
        _print_totals(arguments, before)
        return Exit.OK
    for _ in rounds(arguments.count):
        time.sleep(arguments.interval)
        after = _read(arguments.service)
        _print_growth(arguments, before, after)
        before = after
    return Exit.OK
