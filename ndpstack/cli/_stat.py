"""`ndpstack stat`: the counters of host services and stacks, and what they grow by."""

from __future__ import annotations

import json
import time
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple, cast

from ndpstack._errors import UserError
from ndpstack._table import Cell, Column, render
from ndpstack.cli._exit import Exit
from ndpstack.cli._numbers import count, seconds
from ndpstack.cli._service import add_service, look, printable, rounds

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from ndpstack._sources import StatusAnswer

TOTALS = [Column("counter"), Column("value"), Column("what it counts")]
GROWTH = [
    Column("counter"), Column("value"), Column("grown by"), Column("rate", "1/s", 1),
    Column("what it counts"),
]  # fmt: skip


class Reading(NamedTuple):
    """All counters of a core at one time, by `group.name`."""

    labels: Mapping[str, str | int]
    """Whose they are, as in JSON."""

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


def _flatten(groups: object) -> dict[str, object]:
    """`group.name` of what lies in groups; what is no group is left out."""
    return {
        printable(f"{group}.{name}"): each
        for group, of in (groups.items() if isinstance(groups, dict) else ())
        for name, each in (of.items() if isinstance(of, dict) else ())
    }


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


def _read(answer: StatusAnswer) -> Reading:
    """What an answer says.

    Raises:
        UserError: It is of another version, or not what it says.
    """
    values, texts = (_flatten(answer.document.get(key)) for key in ("counters", "help"))
    if not all(isinstance(value, int) for value in values.values()):
        raise answer.nonsense("counters")
    return Reading(
        answer.labels(),
        answer.at,
        cast("dict[str, int]", values),
        {name: printable(str(text)) for name, text in texts.items()},
    )


def _look(arguments: argparse.Namespace) -> dict[object, Reading]:
    found = look(arguments.service, "counters", _read)
    return {reading.labels["service"]: reading for reading in found}


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


def _title(arguments: argparse.Namespace, reading: Reading) -> str:
    """Whose the counters are; nothing where it was asked for."""
    if arguments.service:
        return ""
    service, _, user, stack = reading.labels.values()
    return printable(f"{service}, user {user}, {stack}")


def _print_totals(arguments: argparse.Namespace, reading: Reading) -> None:
    names = choose(reading.values, arguments.pattern)
    if arguments.json:
        shown = {
            name: {"value": reading.values[name], "help": reading.texts.get(name, "")}
            for name in names
        }
        print(json.dumps({"schema_version": 1, **reading.labels, "counters": shown}))
        return
    rows: list[list[Cell]] = [
        [name, reading.values[name], reading.texts.get(name, "")]
        for name in names
        if arguments.all or reading.values[name]
    ]
    title = _title(arguments, reading)
    print(render(TOTALS, rows, title) if rows else f"{title}: all are 0".removeprefix(": "))
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
        document = {"schema_version": 1, **after.labels, "seconds": passed, "counters": shown}
        print(json.dumps(document), flush=True)
        return
    rows: list[list[Cell]] = [
        [name, after.values[name], grown[name], grown[name] / passed, after.texts.get(name, "")]
        for name in names
        if arguments.all or grown[name]
    ]
    title = f"{_title(arguments, after)}, in {passed:.3f} s".removeprefix(", ")
    print(render(GROWTH, rows, title) if rows else f"{title}: none has grown", flush=True)
    _print_absent(after, arguments.pattern)


def execute(arguments: argparse.Namespace) -> int:
    """Shows the counters once, or what they grow by in each interval."""
    if arguments.count and arguments.interval is None:
        raise UserError("-n needs -i, the seconds of an interval")
    before = _look(arguments)
    check_patterns({name for each in before.values() for name in each.texts}, arguments.pattern)
    if arguments.interval is None:
        for reading in before.values():
            _print_totals(arguments, reading)
        return Exit.OK
    for _ in rounds(arguments.count):
        time.sleep(arguments.interval)
        after = _look(arguments)
        for service, reading in after.items():
            if service in before:
                _print_growth(arguments, before[service], reading)
        before = after
    return Exit.OK
