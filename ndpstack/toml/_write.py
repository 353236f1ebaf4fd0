"""Tables as TOML documents, for programs that write configurations."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ndpstack.toml._decode import Table


def to_toml(table: Table) -> str:
    """A table as a TOML document that reads back as the same table."""
    return "\n".join(_section(table, ())).strip() + "\n"


def _section(table: Table, keys: tuple[str, ...]) -> Iterator[str]:
    tables = {key: value for key, value in table.items() if isinstance(value, dict)}
    arrays = {key: items for key, value in table.items() if (items := _array_of_tables(value))}
    for key, value in table.items():
        if key not in tables and key not in arrays:
            yield f"{_key(key)} = {inline(value)}"
    for key, inner in tables.items():
        here = (*keys, key)
        if not inner or any(not isinstance(value, dict) for value in inner.values()):
            yield f"\n[{'.'.join(map(_key, here))}]"
        yield from _section(inner, here)
    for key, items in arrays.items():
        for item in items:
            here = (*keys, key)
            yield f"\n[[{'.'.join(map(_key, here))}]]"
            yield from _section(item, here)


def _array_of_tables(value: object) -> list[Table]:
    """The tables of an array of nothing else."""
    items = value if isinstance(value, list) else []
    return items if all(isinstance(item, dict) for item in items) else []


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def inline(value: object) -> str:
    """A value as it stands behind the equals sign."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    if isinstance(value, dict):
        return (
            "{ " + ", ".join(f"{_key(key)} = {inline(item)}" for key, item in value.items()) + " }"
        )
    return str(value)
