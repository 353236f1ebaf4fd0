"""The configuration as TOML again, with nothing lost: units divide what they stand for."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Union, get_args, get_origin

from ndpstack.toml import BitRate, Bytes, Limit, PartsPerMillion, Picoseconds, dashed, field_types

if TYPE_CHECKING:
    from ndpstack.toml import Table

_UNITS: Mapping[object, Mapping[str, int]] = {
    Bytes: {"MiB": 2**20, "KiB": 2**10, "MB": 10**6, "KB": 10**3, "B": 1},
    BitRate: {"Gbit": 10**9, "Mbit": 10**6, "Kbit": 10**3, "bit": 1},
    Picoseconds: {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3, "ps": 1},
    PartsPerMillion: {"%": 10**4, "ppm": 1},
}


def quantity(kind: object, value: int) -> str:
    """The number with the largest unit that divides it."""
    units = _UNITS[kind]
    unit = next(
        name
        for name, factor in units.items()
        if (value % factor == 0 and value >= factor) or factor == 1
    )
    return f"{value // units[unit]}{unit}"


def limit_value(limit: Limit) -> object:
    """A limit as it is written."""
    parts = [quantity(Bytes, limit.bytes)] if limit.bytes else []
    parts += [f"{limit.packets}pkt"] if limit.packets else []
    return parts[0] if len(parts) == 1 else parts or "0B"


def plain(item: object, *, defaults: bool = False) -> Table:
    """A dataclass of the schema as a TOML table; what has its default is left out."""
    assert dataclasses.is_dataclass(item)
    assert not isinstance(item, type)
    kinds = field_types(type(item))
    table: Table = {}
    for spec in dataclasses.fields(item):
        value = getattr(item, spec.name)
        if value is None or (not defaults and value == _default(spec)):
            continue
        if spec.name == "settings":
            table |= {dashed(key): entry for key, entry in value.items()}
        else:
            table[dashed(spec.name)] = written_value(kinds[spec.name], value, defaults=defaults)
    return table


def _default(spec: dataclasses.Field[object]) -> object:
    if spec.default_factory is not dataclasses.MISSING:
        return spec.default_factory()
    return spec.default


def written_value(kind: object, value: object, *, defaults: bool = False) -> object:
    kind = _kind_of(kind, value)
    if isinstance(value, bool | str):
        return value
    if isinstance(value, Limit):
        return limit_value(value)
    if isinstance(value, int):
        return quantity(kind, value) if kind in _UNITS else value
    if isinstance(value, Fraction):
        return _exact(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return [written_value(get_args(kind)[0], entry, defaults=defaults) for entry in value]
    if isinstance(value, Mapping):
        inner = get_args(kind)[1]
        return {
            str(key): written_value(inner, entry, defaults=defaults) for key, entry in value.items()
        }
    if dataclasses.is_dataclass(value):
        return plain(value, defaults=defaults)
    return value


def _exact(value: Fraction) -> str:
    """A probability as a decimal; as written it had one."""
    digits = 0
    while (value * 10**digits).denominator != 1 and digits < 40:
        digits += 1
    return f"{round(value * 10**digits)}e-{digits}"


def _kind_of(kind: object, value: object) -> object:
    """The alternative of an optional field that the value is of."""
    if get_origin(kind) is Annotated:
        return _kind_of(get_args(kind)[0], value)
    if get_origin(kind) in (Union, types.UnionType):
        wanted = [part for part in get_args(kind) if part is not type(None)]
        wanted = [part for part in wanted if get_origin(part) is not Literal]
        return _kind_of(wanted[0], value)
    return kind
