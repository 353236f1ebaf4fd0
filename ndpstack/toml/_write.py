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
            yield f"{key_text(key)} = {inline(value)}"
    for key, inner in tables.items():
        here = (*keys, key)
        if not inner or any(not isinstance(value, dict) for value in inner.values()):
            yield f"\n[{'.'.join(map(key_text, here))}]"
        yield from _section(inner, here)
    for key, items in arrays.items():
        for item in items:
            here = (*keys, key)
            yield f"\n[[{'.'.join(map(key_text, here))}]]"
            yield from _section(item, here)


def _array_of_tables(value: object) -> list[Table]:
    """The tables of an array of nothing else."""
    items = value if isinstance(value, list) else []
    return items if all(isinstance(item, dict) for item in items) else []


def key_text(key: str) -> str:
    """A key as it stands in a document, in quotes where it has to be."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _text(key)


def _text(value: str) -> str:
    """In quotes; as JSON has it, but for surrogates and one more character to escape."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def inline(value: object) -> str:
    """A value as it stands behind the equals sign."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    if isinstance(value, dict):
        return (
            "{ "
            + ", ".join(f"{key_text(key)} = {inline(item)}" for key, item in value.items())
            + " }"
        )
    return str(value)
