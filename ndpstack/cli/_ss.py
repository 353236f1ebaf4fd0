"""`ndpstack ss`: what host services and stacks have open, as `ss` shows the kernel's sockets."""

from __future__ import annotations

import ipaddress
import json
import time
from typing import TYPE_CHECKING, NamedTuple

from ndpstack._documents import STATES
from ndpstack._errors import UserError
from ndpstack._table import Cell, Column, render
from ndpstack.cli._exit import Exit
from ndpstack.cli._numbers import count, seconds
from ndpstack.cli._service import add_service, look, printable, rounds

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from ndpstack._sources import StatusAnswer

    Row = Mapping[str, str | int | float]

SHOWN_STATES = {protocol: states[1:] for protocol, states in STATES.items()}
"""By protocol. What is free is not shown."""

RESTING = ("time-wait", "reset-wait", "ended", "closed")
"""States that are left out unless all are asked for: nothing more happens in them."""


class Shown(NamedTuple):
    """A column of the table, and the row's key."""

    key: str
    column: Column


SOURCES = [
    Shown("service", Column("service")),
    Shown("user", Column("user")),
    Shown("stack", Column("stack")),
]
"""Whose a row is, unless one service was asked for."""
EXCHANGES = [
    Shown("protocol", Column("protocol")),
    Shown("state", Column("state")),
    Shown("role", Column("role")),
    Shown("peer", Column("peer")),
    Shown("port", Column("port")),
    Shown("id", Column("id")),
    Shown("application", Column("app")),
    Shown("unsent_bytes", Column("unsent", "B")),
    Shown("unacked_packets", Column("unacked", "pkt")),
    Shown("allowed", Column("allowed")),
    Shown("arrived_bytes", Column("arrived", "B")),
    Shown("arriving_bytes", Column("of", "B")),
    Shown("silent_s", Column("silent", "s", 3)),
]
PEERS = [
    Shown("peer", Column("peer")),
    Shown("mac", Column("MAC")),
    Shown("way", Column("way")),
    Shown("idle_s", Column("idle", "s", 3)),
]
APPLICATIONS = [
    Shown("application", Column("app")),
    Shown("pid", Column("pid")),
    Shown("held_messages", Column("messages held")),
    Shown("events_waiting", Column("events waiting")),
    Shown("events_late", Column("events late")),
]
FILTERS = {
    "exchanges": ("protocol", "state", "peer", "port", "app", "all"),
    "peers": ("peer",),
    "applications": ("app",),
}
"""Options that choose rows, and what each kind of rows has of them."""

UNGROUPED = ("id", "pid", "port")
"""Numbers that are names: without commas between thousands."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    add_service(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--peers", action="store_true", help="hosts that are known instead")
    what.add_argument("--apps", action="store_true", help="applications and their queues instead")
    parser.add_argument("-a", "--all", action="store_true", help="also what has ended but rests")
    parser.add_argument("--protocol", choices=["ndp", "homa"], help="only of one protocol")
    parser.add_argument(
        "--state", metavar="STATE", choices=sorted({*SHOWN_STATES["ndp"], *SHOWN_STATES["homa"]}),
        help="only in this state, such as open",
    )  # fmt: skip
    parser.add_argument("--peer", metavar="ADDRESS", help="only with this host")
    parser.add_argument("--port", type=int, metavar="N", help="only of this port")
    parser.add_argument("--app", type=int, metavar="N", help="only of this application")
    parser.add_argument("--watch", type=seconds, metavar="S", help="again every so many seconds")
    parser.add_argument("-n", "--count", type=count, metavar="N", help="with --watch: N times")


def _check(arguments: argparse.Namespace, kind: str) -> None:
    """Refuses options that would be ignored.

    Raises:
        UserError: There is one.
    """
    for option in FILTERS["exchanges"]:
        value = getattr(arguments, option)
        if value is not None and value is not False and option not in FILTERS[kind]:
            raise UserError(f"--{option} chooses no {kind}; leave it out")
    protocol, state = arguments.protocol, arguments.state
    if protocol and state and state not in SHOWN_STATES[protocol]:
        known = ", ".join(SHOWN_STATES[protocol])
        raise UserError(f"--state {state} is none of {protocol}, which has {known}")
    if arguments.count and not arguments.watch:
        raise UserError("-n needs --watch, the seconds in between")


def _filters(arguments: argparse.Namespace) -> dict[str, str | int]:
    """What rows must have, by key."""
    peer = arguments.peer
    try:
        peer = None if peer is None else str(ipaddress.ip_address(peer))
    except ValueError:
        raise UserError(f"--peer must be an IP address, not {peer!r}") from None
    wanted = {
        "protocol": arguments.protocol, "state": arguments.state, "peer": peer,
        "port": arguments.port, "application": arguments.app,
    }  # fmt: skip
    return {key: value for key, value in wanted.items() if value is not None}


def choose(rows: Sequence[Row], wanted: Mapping[str, str | int], everything: bool) -> list[Row]:
    """The rows that were asked for."""
    return [
        row
        for row in rows
        if (everything or "state" in wanted or row.get("state") not in RESTING)
        and all(row[key] == value for key, value in wanted.items())
    ]


def _read(answer: StatusAnswer, kind: str, shown: Sequence[Shown]) -> list[Row]:
    """Rows of an answer, with whose they are; the pid of an application is its own.

    Raises:
        UserError: It is of another version, or not what it says.
    """
    rows, labels = answer.document.get(kind), answer.labels()
    if not isinstance(rows, list) or not all(_is_row(row, shown) for row in rows):
        raise answer.nonsense(kind)
    return [{**labels, **row} for row in rows]


def _is_row(row: object, shown: Sequence[Shown]) -> bool:
    return isinstance(row, dict) and all(
        isinstance(row.get(each.key), (str, int, float)) for each in shown
    )


def _cell(key: str, value: str | float) -> Cell:
    if isinstance(value, str):
        return printable(value)
    return str(value) if key in UNGROUPED else value


def execute(arguments: argparse.Namespace) -> int:
    """Shows what is open, once or again and again."""
    kind, shown = "exchanges", EXCHANGES
    if arguments.peers or arguments.apps:
        kind, shown = ("peers", PEERS) if arguments.peers else ("applications", APPLICATIONS)
    _check(arguments, kind)
    wanted = _filters(arguments)
    for number in rounds(arguments.count if arguments.watch else 1):
        if number:
            time.sleep(arguments.watch)
        found = look(arguments.service, kind, lambda answer: _read(answer, kind, shown))
        rows = choose([row for each in found for row in each], wanted, arguments.all)
        if arguments.json:
            print(json.dumps({"schema_version": 1, kind: rows}), flush=True)
            continue
        columns = shown if arguments.service else [*SOURCES, *shown]
        cells = [[_cell(each.key, row[each.key]) for each in columns] for row in rows]
        table = render([each.column for each in columns], cells)
        print(table if rows else f"no {kind} that match", flush=True)
    return Exit.OK
