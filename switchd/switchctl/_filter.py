"""The rows of an answer that an operator wants: of a switch, of a port, that counted something."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    Row = Mapping[str, object]

PLACES = ("port", "where", "what", "source", "via", "ports", "to")
"""Columns that name ports; the first one that a row has says where the row belongs."""

SETTINGS = ("dscp", "mtu", "rate_bps", "size", "threshold")
"""Numbers that are configured, and no counts."""


def filtered(answer: object, arguments: argparse.Namespace) -> object:
    """Rows of the wanted switch and port; what is no list stays whole."""
    if not isinstance(answer, list):
        return answer
    rows = [row for row in answer if _belongs(row, arguments.switch, arguments.port)]
    if arguments.name:
        rows = [row for row in rows if _is_called(row, arguments.name)]
    if arguments.nonzero:
        rows = [row for row in rows if any(_counts(*item) for item in row.items())]
    return rows


def _places(row: Row) -> list[tuple[str, str]]:
    """Switch and port of all that a row is about; no port where it is about the switch."""
    column = next((name for name in PLACES if isinstance(row.get(name), str)), "")
    # What an event happened to has its kind in front: "port tor0/h1".
    names = [name.split(" ")[-1] for name in str(row.get(column, "")).split(", ")]
    if "switch" in row:
        return [(str(row["switch"]), name) for name in names]
    paths = [name.partition("/") for name in names]
    return [(switch, port) for switch, _, port in paths]


def _belongs(row: Row, switch: str | None, port: str | None) -> bool:
    if not switch and not port:
        return True
    return any(switch in (None, s) and port in (None, p) for s, p in _places(row))


def _is_called(row: Row, name: str) -> bool:
    """Whether a row is of the port or the switch of that name."""
    switch, slash, port = name.partition("/")
    if slash:
        return _belongs(row, switch, port)
    return _belongs(row, name, None) or _belongs(row, None, name)


def _counts(name: str, value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and name not in SETTINGS and value != 0
