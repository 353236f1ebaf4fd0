"""Answers as a table for people, JSON for programs, key=value for shells."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import cast

from ndpstack._table import Cell, Column, render
from ndpstack._units import format_rate
from ndpstack.control import API_VERSION

FORMATS = ("table", "json", "keyvalue")

Row = Mapping[str, object]


def rows_of(answer: object) -> list[Row]:
    """The rows of an answer that may be one row."""
    return cast("list[Row]", answer if isinstance(answer, list) else [answer])


def as_json(name: str, answer: object) -> str:
    """One document; what is a list stays one even if it is empty."""
    key = name.replace("-", "_")
    return json.dumps({"schema_version": API_VERSION, key: answer}, indent=2)


def as_keyvalue(name: str, answer: object) -> str:
    """A line for each value, quoted as a shell wants it."""
    return "\n".join(_lines(name, answer))


def _lines(prefix: str, value: object) -> list[str]:
    if isinstance(value, Mapping):
        return [line for key, item in value.items() for line in _lines(f"{prefix}.{key}", item)]
    if isinstance(value, list):
        return [line for i, item in enumerate(value) for line in _lines(f"{prefix}.{i}", item)]
    text = str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
    return [f"{prefix}={shlex.quote(text)}"]


def as_table(answer: object) -> str:
    """Columns; those in which nothing stands are left out. A single row is written downwards."""
    rows = rows_of(answer)
    if not rows:
        return "none"
    if not isinstance(answer, list):
        width = max(map(len, rows[0]))
        return "\n".join(f"{_title(k):{width}}  {_text(k, v)}" for k, v in rows[0].items())
    names = [name for name in rows[0] if any(row[name] not in ("", []) for row in rows)]
    columns = [Column(_title(name)) for name in names]
    return render(columns, [[_cell(name, row[name]) for name in names] for row in rows])


def _title(name: str) -> str:
    return name.replace("rate_bps", "rate").replace("_", " ")


def _cell(name: str, value: object) -> Cell:
    if name == "rate_bps" and isinstance(value, int):
        return format_rate(value) if value else "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float | str):
        return value
    return ", ".join(map(str, cast("Sequence[object]", value)))


def _text(name: str, value: object) -> str:
    cell = _cell(name, value)
    return f"{cell:,.2f}" if isinstance(cell, float) else str(cell)


def as_changes(rows: list[Row]) -> str:
    """What changes, as `reload --dry-run` shows it."""
    if not rows:
        return "nothing changes"
    lines = []
    for row in rows:
        lines.append(f"{row['kind']:8}{row['what']}  ({row['effect']})")
        lines += [f"        {field}" for field in cast("list[str]", row["fields"])]
    return "\n".join(lines)


def show(name: str, answer: object, form: str) -> str:
    """An answer in the wanted form."""
    if form == "json":
        return as_json(name, answer)
    if form == "keyvalue":
        return as_keyvalue(name, answer)
    if name == "running-config":
        return _running_config(cast("Row", answer))
    if name == "changes":
        return as_changes(rows_of(answer))
    return as_table(answer)


def _running_config(row: Row) -> str:
    text = str(row["text"]).rstrip()
    if not row["unsaved"]:
        return text
    unsaved = "\n".join(f"#   {line}" for line in str(row["unsaved"]).splitlines() if line)
    return f"{text}\n\n# not saved (switchctl save):\n{unsaved}"
