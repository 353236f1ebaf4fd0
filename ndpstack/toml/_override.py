"""Single values set over a table, as command lines give them: "a.b.0.c=value"."""

from __future__ import annotations

import copy
import tomllib
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack._units import parse_whole
from ndpstack.toml._spelling import kind_within, spelling, split_keys

if TYPE_CHECKING:
    from ndpstack.toml._decode import Table


def split_override(item: str) -> tuple[list[str], str]:
    """Keys and text of "a.b.0.c=value"."""
    keys, rest = split_keys(item)
    if not rest:
        raise UserError(f"{item}: write it like KEY=VALUE, dots between the keys")
    return keys, rest[1:].strip()


def override(table: Table, item: str, kind: object = None) -> Table:
    """A copy of the table with one value set; tables on the way are made when missing.

    Args:
        table: A table.
        item: "a.b.0.c=value".
        kind: What the table stands for; where it is not known, all keys are taken for fields.
    """
    keys, text = split_override(item)
    result = copy.deepcopy(table)
    node: object = result
    for key in keys[:-1]:
        node = _step(node, key, kind, item)
        kind = kind_within(kind, key)
    _store(node, keys[-1], kind, _value(text), item)
    return result


def _value(text: str) -> object:
    """The TOML value of that text; a text that is none stands for itself."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # Not TOML, or an integer of thousands of digits.
        return text


def _step(node: object, key: str, kind: object, item: str) -> object:
    if isinstance(node, list):
        return node[_index(node, key, item)]
    if not isinstance(node, dict):
        raise UserError(f"{item}: {key!r} lies below a value, not a table")
    return node.setdefault(spelling(node, key, kind), {})


def _store(node: object, key: str, kind: object, value: object, item: str) -> None:
    if isinstance(node, list):
        node[_index(node, key, item)] = value
    elif isinstance(node, dict):
        node[spelling(node, key, kind)] = value
    else:
        raise UserError(f"{item}: {key!r} lies below a value, not a table")


def _index(node: list[object], key: str, item: str) -> int:
    index = parse_whole(key, len(node) - 1)
    if index is None:
        raise UserError(
            f"{item}: {key!r} is no index; there are {len(node)} entries, counted from 0"
        )
    return index
