"""Single values set over a table, as command lines give them: "a.b.0.c=value"."""

from __future__ import annotations

import copy
import tomllib
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack._units import parse_whole

if TYPE_CHECKING:
    from ndpstack.toml._decode import Table


def split_override(item: str) -> tuple[list[str], str]:
    """Keys and text of "a.b.0.c=value"."""
    key, equals, value = item.partition("=")
    keys = [part.strip() for part in key.split(".")]
    if not equals or not all(keys):
        raise UserError(f"{item}: write it like KEY=VALUE, dots between the keys")
    return keys, value.strip()


def override(table: Table, item: str) -> Table:
    """A copy of the table with one value set; tables on the way are made when missing."""
    keys, text = split_override(item)
    result = copy.deepcopy(table)
    node: object = result
    for key in keys[:-1]:
        node = _step(node, key, item)
    _store(node, keys[-1], _value(text), item)
    return result


def _value(text: str) -> object:
    """The TOML value of that text; a text that is none stands for itself."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # Not TOML, or an integer of thousands of digits.
        return text


def _step(node: object, key: str, item: str) -> object:
    if isinstance(node, list):
        return node[_index(node, key, item)]
    if not isinstance(node, dict):
        raise UserError(f"{item}: {key!r} lies below a value, not a table")
    return node.setdefault(_same_key(node, key), {})


def _store(node: object, key: str, value: object, item: str) -> None:
    if isinstance(node, list):
        node[_index(node, key, item)] = value
    elif isinstance(node, dict):
        node[_same_key(node, key)] = value
    else:
        raise UserError(f"{item}: {key!r} lies below a value, not a table")


def _same_key(node: dict[str, object], key: str) -> str:
    """The key as the file writes it: dashes and underscores are one."""
    return next((known for known in node if known.replace("-", "_") == key.replace("-", "_")), key)


def _index(node: list[object], key: str, item: str) -> int:
    index = parse_whole(key, len(node) - 1)
    if index is None:
        raise UserError(
            f"{item}: {key!r} is no index; there are {len(node)} entries, counted from 0"
        )
    return index
