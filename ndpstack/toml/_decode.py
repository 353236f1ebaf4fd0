"""TOML tables to dataclasses: every value checked, every mistake kept, not only the first.

Keys of a table are the fields of its dataclass, with dashes or underscores. A field's type says how
its value is read; a field `settings` takes all keys that no other field has.
"""

from __future__ import annotations

import dataclasses
import math
import re
import types
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from ndpstack import _units as units
from ndpstack._errors import UserError
from ndpstack.toml._places import Place, PlaceError, Problems, dashed, suggest

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,14}")
"""Names of switches, ports, groups, protocols ...: those of Linux interfaces."""

TEXT_MAX = 4096
"""Characters of a text: a path is not longer."""

KEY_MAX = 1 << 32
"""Of keys that are numbers."""

Table = dict[str, object]
"""A TOML table."""

Settings = Mapping[str, object]
"""Values for fields of a C config struct, as written; checked against the struct."""

Parser = Callable[[object], object]
"""Reads a value of one kind, or raises UnitError or UserError."""

_QUANTITIES: Mapping[object, Parser] = {
    units.Bytes: units.parse_size,
    units.BitRate: units.parse_rate,
    units.Picoseconds: units.parse_time,
    units.PartsPerMillion: units.parse_share,
    units.PerSecond: units.parse_per_second,
    units.Limit: units.parse_limit,
    Fraction: units.parse_probability,
}

_WRITERS: Mapping[object, Callable[[int], str]] = {
    units.Bytes: units.format_size,
    units.BitRate: units.format_rate,
    units.Picoseconds: units.format_time,
    units.PartsPerMillion: units.format_share,
}

_PLAIN: Mapping[object, str] = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
}


class Range(NamedTuple):
    """The numbers that a field takes."""

    least: int
    most: int


_INT64 = Range(-(2**63), 2**63 - 1)
"""Numbers that TOML promises and the control protocol carries."""


@dataclasses.dataclass(frozen=True)
class Forms:
    """How a schema's own types are written."""

    parsers: Mapping[object, Parser] = dataclasses.field(default_factory=dict)
    """By type, a union of types included."""
    variants: Mapping[type, Mapping[str, type]] = dataclasses.field(default_factory=dict)
    """Dataclasses of which the key `kind` chooses one that is derived from them."""
    shorthands: Mapping[type, str] = dataclasses.field(default_factory=dict)
    """Dataclasses for which a value that is no table stands for a table with that key alone."""


@cache
def field_types(cls: type) -> dict[str, object]:
    """Types of a dataclass's fields, resolved."""
    return get_type_hints(cls, include_extras=True)


def table_keys(cls: type) -> list[str]:
    """Keys of a table as they are written."""
    return [dashed(item.name) for item in dataclasses.fields(cls) if item.name != "settings"]


class Decoder:
    """Turns TOML values into typed ones."""

    def __init__(self, problems: Problems, forms: Forms | None = None, base: Path = Path()) -> None:
        """Knows quantities, and what a schema adds to them.

        Args:
            problems: Where mistakes are noted.
            forms: The schema's own types.
            base: Where relative paths start.
        """
        self._problems, self._base = problems, base
        self._forms = forms or Forms()
        self._parsers = {**_QUANTITIES, **self._forms.parsers}

    def read(self, kind: type, value: object) -> object:
        """The value as that dataclass; what is wrong in it is noted and left out.

        None when nothing is left of it.
        """
        with self._problems.noted():
            return self._any(kind, value, Place())
        return None

    def _any(self, kind: object, value: object, place: Place) -> object:
        origin = get_origin(kind)
        if kind in self._parsers:
            return self._parsed(self._parsers[kind], value, place)
        if origin is Annotated:
            return self._ranged(get_args(kind), value, place)
        if origin in (Union, types.UnionType):
            return self._union(get_args(kind), value, place)
        if origin is Literal:
            return self._choice(get_args(kind), value, place)
        if origin is tuple:
            return self._list(get_args(kind), value, place)
        if origin is get_origin(Mapping[str, str]):
            return self._mapping(get_args(kind), value, place)
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            return self._table(kind, value, place)
        if kind is Path:
            return self._base / str(_plain(str, value, place))
        return value if kind is object else _plain(kind, value, place)

    def _parsed(self, parse: Parser, value: object, place: Place) -> object:
        try:
            result = parse(value)
        except (units.UnitError, OverflowError, UserError) as error:
            place.fail(str(error))
        if isinstance(result, int) and result > _INT64.most:
            place.fail(f"{value!r} is beyond anything that exists")
        return result

    def _ranged(self, args: tuple[object, ...], value: object, place: Place) -> object:
        result = self._any(args[0], value, place)
        limits = next(item for item in args[1:] if isinstance(item, Range))
        if isinstance(result, int | float) and not limits.least <= result <= limits.most:
            write = _WRITERS.get(args[0], str)
            place.fail(f"{value!r} is not within {write(limits.least)} to {write(limits.most)}")
        return result

    def _union(self, kinds: tuple[object, ...], value: object, place: Place) -> object:
        """The alternatives of a field: a literal word, a number or text, or nothing."""
        words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
        if value in words:
            return value
        others = [kind for kind in kinds if kind is not types.NoneType]
        others = [kind for kind in others if get_origin(kind) is not Literal]
        if words and isinstance(value, str) and others[0] not in self._parsers:
            place.fail(f"{value!r} is neither a number nor {words[0]!r}")
        if len(others) > 1:
            return self._any(others[isinstance(value, str)], value, place)
        return self._any(others[0], value, place)

    def _choice(self, choices: tuple[object, ...], value: object, place: Place) -> object:
        if value not in choices or isinstance(value, bool):
            known = [str(choice) for choice in choices]
            place.fail(f"{value!r} is not one of them; {suggest(str(value), known, 'there are')}")
        return value

    def _list(self, kinds: tuple[object, ...], value: object, place: Place) -> object:
        if not isinstance(value, list):
            place.fail(f"{value!r} is not a list")
        if kinds[-1] is Ellipsis:
            kinds = (kinds[0],) * len(value)
        elif len(value) != len(kinds):
            place.fail(f"{value!r} must have {len(kinds)} entries")
        items = []
        for index, (kind, item) in enumerate(zip(kinds, value, strict=True)):
            with self._problems.noted():
                items.append(self._any(kind, item, place / index))
        return tuple(items)

    def _mapping(self, kinds: tuple[object, ...], value: object, place: Place) -> object:
        if not isinstance(value, dict):
            place.fail(f"{value!r} is not a table")
        result = {}
        for key, item in value.items():
            with self._problems.noted():
                here = place / key
                result[self._key(kinds, key, here)] = self._any(kinds[1], item, here)
        return result

    def _key(self, kinds: tuple[object, ...], key: str, place: Place) -> object:
        if kinds[0] is not str:
            number = units.parse_whole(key, KEY_MAX)
            return self._any(kinds[0], key if number is None else number, place)
        if kinds[1] is object:
            return key.replace("-", "_")
        if not NAME.fullmatch(key):
            place.fail(f"{key!r} is no name: up to 15 letters, digits and any of _ . : -")
        return key

    def _table(self, cls: type, value: object, place: Place) -> object:
        short = self._forms.shorthands.get(cls)
        if short and not isinstance(value, dict):
            return cls(**{short: self._any(field_types(cls)[short], value, place)})
        if not isinstance(value, dict):
            place.fail(f"{value!r} is not a table")
        if cls in self._forms.variants:
            cls = _variant(self._forms.variants[cls], value.get("kind"), place)
            return self._fields(cls, {k: v for k, v in value.items() if k != "kind"}, place, "kind")
        return self._fields(cls, value, place)

    def _fields(self, cls: type, value: Table, place: Place, *taken: str) -> object:
        kinds = field_types(cls)
        arguments: Table = {}
        settings: Table = {}
        refused: dict[str, PlaceError] = {}
        for key, item in value.items():
            name, here = key.replace("-", "_"), place / key
            try:
                if name in arguments:
                    here.fail("is given twice, with dashes and with underscores")
                if name in kinds and name != "settings":
                    arguments[name] = self._any(kinds[name], item, here)
                elif "settings" in kinds:
                    settings[name] = item
                else:
                    known = [*taken, *table_keys(cls)]
                    here.fail(f"unknown key; {suggest(key, known, 'there are')}")
            except PlaceError as error:
                self._problems.add(error.problem.keys, error.problem.text)
                refused[name] = error
        if settings:
            arguments["settings"] = settings
        self._require(cls, arguments, refused, place)
        result: object = cls(**arguments)
        return result

    def _require(
        self, cls: type, arguments: Table, refused: dict[str, PlaceError], place: Place
    ) -> None:
        """Gives up on a table that lacks, or has a wrong value of, what it needs."""
        needed = [item.name for item in dataclasses.fields(cls) if _is_needed(item)]
        lacking = [name for name in needed if name not in arguments]
        for name in lacking:
            if name not in refused:
                refused[name] = PlaceError(place, f"`{dashed(name)}` is missing")
                self._problems.add(place.keys, refused[name].problem.text)
        if lacking:
            raise refused[lacking[0]]


def _is_needed(item: dataclasses.Field[object]) -> bool:
    return item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING


def _plain(kind: object, value: object, place: Place) -> object:
    if kind is float and type(value) is int:
        value = float(value)
    # The exact type: True is an int, too.
    if type(value) is not kind:
        place.fail(f"{value!r} is not {_PLAIN[kind]}")
    if isinstance(value, float) and not math.isfinite(value):
        place.fail(f"{value!r} is not a number that can be reckoned with")
    if isinstance(value, int) and not _INT64.least <= value <= _INT64.most:
        place.fail(f"{value!r} does not fit into 64 bits")
    if isinstance(value, str) and ("\0" in value or len(value) > TEXT_MAX):
        place.fail(f"the text is longer than {TEXT_MAX} characters or has a NUL in it")
    return value


def _variant(variants: Mapping[str, type], kind: object, place: Place) -> type:
    """The dataclass that the table's `kind` names."""
    if kind is None:
        place.fail(f"`kind` is missing; there are {', '.join(variants)}")
    if not isinstance(kind, str) or kind not in variants:
        hint = suggest(str(kind), list(variants), "there are")
        (place / "kind").fail(f"{kind!r} is not one of them; {hint}")
    return variants[kind]
