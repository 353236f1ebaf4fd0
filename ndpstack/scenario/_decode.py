"""TOML tables to typed dataclasses: every value checked, every mistake named by file and key."""

from __future__ import annotations

import dataclasses
import difflib
import types
import typing
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from ndpstack._errors import UserError
from ndpstack.scenario import _schema, _units
from ndpstack.scenario._workload import Workload, load_workload, pareto

Parser = Callable[[object], object]

_QUANTITIES: dict[object, Parser] = {
    _units.Bytes: _units.parse_size,
    _units.BitRate: _units.parse_rate,
    _units.Picoseconds: _units.parse_time,
    _units.PartsPerMillion: _units.parse_share,
    _units.PerSecond: _units.parse_per_second,
    _units.Limit: _units.parse_limit,
    Fraction: _units.parse_probability,
}

_VARIANTS: dict[type, Mapping[str, type]] = {
    _schema.Topology: _schema.TOPOLOGIES,
    _schema.Traffic: _schema.TRAFFIC,
}


@dataclasses.dataclass(frozen=True)
class Place:
    """Where in which file a value stands."""

    file: str
    keys: tuple[str, ...] = ()
    base: Path = Path()

    def __truediv__(self, key: str | int) -> Place:
        return dataclasses.replace(self, keys=(*self.keys, str(key)))

    def fail(self, message: str) -> NoReturn:
        """Raises the error for this place."""
        where = ".".join(self.keys)
        raise UserError(f"{self.file}: {where}: {message}" if where else f"{self.file}: {message}")


def suggest(word: str, known: list[str], what: str) -> str:
    """The end of an error message: the nearest known word, or all of them."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"{what}: {', '.join(known)}"


def dashed(name: str) -> str:
    """A field's name as a key of the file."""
    return name.replace("_", "-")


@cache
def field_types(cls: type) -> dict[str, object]:
    """Types of a dataclass's fields, resolved."""
    return get_type_hints(cls)


def decode(kind: object, value: object, place: Place) -> object:
    """The value as an object of the wanted type."""
    origin = get_origin(kind)
    if kind in _QUANTITIES:
        return _quantity(_QUANTITIES[kind], value, place)
    if origin in (Union, types.UnionType):
        return _union(get_args(kind), value, place)
    if origin is Literal:
        return _choice(get_args(kind), value, place)
    if origin is tuple:
        return _tuple(get_args(kind), value, place)
    if origin is typing.get_origin(Mapping[str, str]):
        return _mapping(get_args(kind), value, place)
    if kind is Path:
        return place.base / typing.cast("str", _plain(str, value, place))
    if kind is Workload:
        return _workload(value, place)
    if kind is _schema.Delay and isinstance(value, str):
        return _schema.Delay(fixed=_units.Picoseconds(_time(value, place)))
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _dataclass(kind, value, place)
    return _plain(typing.cast("type", kind), value, place)


def _quantity(parse: Parser, value: object, place: Place) -> object:
    try:
        return parse(value)
    except _units.UnitError as error:
        place.fail(str(error))


def _time(value: object, place: Place) -> int:
    return typing.cast("int", _quantity(_units.parse_time, value, place))


def _plain(kind: type, value: object, place: Place) -> object:
    names = {int: "a whole number", str: "a text", bool: "true or false", float: "a number"}
    accepted = (int, float) if kind is float else (kind,)
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
        place.fail(f"{value!r} is not {names[kind]}")
    return float(typing.cast("float", value)) if kind is float else value


def _choice(choices: tuple[object, ...], value: object, place: Place) -> object:
    if value not in choices:
        known = [str(choice) for choice in choices]
        place.fail(f"{value!r} is not one of them; {suggest(str(value), known, 'there are')}")
    return value


def _union(kinds: tuple[object, ...], value: object, place: Place) -> object:
    """The alternatives of a field: a literal word, a workload or a quantity, or nothing."""
    wanted = [kind for kind in kinds if kind is not type(None)]
    for kind in wanted:
        if get_origin(kind) is Literal and value in get_args(kind):
            return value
    if Workload in wanted:
        is_size = isinstance(value, str) and value[:1].isdigit()
        return decode(_units.Bytes if is_size else Workload, value, place)
    return decode(wanted[0], value, place)


def _tuple(kinds: tuple[object, ...], value: object, place: Place) -> object:
    if not isinstance(value, list):
        place.fail(f"{value!r} is not a list")
    if kinds[-1] is Ellipsis:
        return tuple(decode(kinds[0], item, place / i) for i, item in enumerate(value))
    if len(value) != len(kinds):
        place.fail(f"{value!r} must have {len(kinds)} entries")
    return tuple(decode(kind, item, place) for kind, item in zip(kinds, value, strict=True))


def _mapping(kinds: tuple[object, ...], value: object, place: Place) -> object:
    if not isinstance(value, dict):
        place.fail(f"{value!r} is not a table")
    return {
        decode(kinds[0], key, place): decode(kinds[1], item, place / key)
        for key, item in value.items()
    }


def _workload(value: object, place: Place) -> Workload:
    try:
        if isinstance(value, str):
            return load_workload(value, place.base)
        return _pareto(value, place)
    except UserError as error:
        place.fail(str(error))


def _pareto(value: object, place: Place) -> Workload:
    if not isinstance(value, dict) or set(value) != {"pareto-shape", "mean"}:
        raise UserError(
            f"{value!r} is no distribution; name a workload ('w4', 'sizes.txt'), a "
            "size ('9KB'), or { pareto-shape = 1.05, mean = '100KB' }"
        )
    shape = decode(float, value["pareto-shape"], place / "pareto-shape")
    mean = decode(_units.Bytes, value["mean"], place / "mean")
    return pareto(typing.cast("float", shape), typing.cast("int", mean))


def _variant(cls: type, table: dict[str, object], place: Place) -> type:
    """The dataclass that the table's `kind` names."""
    variants = _VARIANTS[cls]
    kind = table.pop("kind", None)
    if kind is None:
        place.fail(f"`kind` is missing; there are {', '.join(variants)}")
    if kind not in variants:
        hint = suggest(str(kind), list(variants), "there are")
        (place / "kind").fail(f"{kind!r} is not one of them; {hint}")
    return variants[typing.cast("str", kind)]


def _dataclass(cls: type, value: object, place: Place) -> object:
    if not isinstance(value, dict):
        place.fail(f"{value!r} is not a table")
    table = dict(value)
    if cls in _VARIANTS:
        cls = _variant(cls, table, place)
    kinds = field_types(cls)
    settings: dict[str, object] = {}
    arguments: dict[str, object] = {}
    for key, item in table.items():
        name = key.replace("-", "_")
        if name in kinds and name != "settings":
            arguments[name] = decode(kinds[name], item, place / key)
        elif "settings" in kinds:
            settings[name] = item
        else:
            (place / key).fail(f"unknown key; {suggest(key, _keys(cls), 'there are')}")
    if settings:
        arguments["settings"] = settings
    _require(cls, arguments, place)
    result: object = cls(**arguments)
    return result


def _keys(cls: type) -> list[str]:
    """Keys of a table, `kind` included where there is one."""
    names = [dashed(item.name) for item in dataclasses.fields(cls) if item.name != "settings"]
    return ["kind", *names] if any(issubclass(cls, base) for base in _VARIANTS) else names


def _require(cls: type, arguments: dict[str, object], place: Place) -> None:
    for item in dataclasses.fields(cls):
        absent = item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING
        if absent and item.name not in arguments:
            place.fail(f"`{dashed(item.name)}` is missing")
