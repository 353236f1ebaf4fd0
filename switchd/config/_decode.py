"""TOML tables to the schema's dataclasses; every mistake is kept, not only the first."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
import types
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from ndpstack.scenario._decode import dashed, suggest
from ndpstack.scenario._units import (
    BitRate,
    Bytes,
    Limit,
    PartsPerMillion,
    Picoseconds,
    UnitError,
    parse_limit,
    parse_probability,
    parse_rate,
    parse_share,
    parse_size,
    parse_time,
)
from switchd.config._schema import Address, FileName, MacAddress, PortPath, Prefix, Range

Table = dict[str, object]
"""A TOML table."""

Keys = tuple[str, ...]
"""Where a value stands: the keys that lead to it."""

PROBLEMS_MAX = 100
"""Problems that are kept; a file with more is not a configuration."""

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,14}")
"""Names of switches, ports, groups ...: those of Linux interfaces."""

TEXT_MAX = 4096
"""Characters of a text: a path is not longer."""

_PLAIN: Mapping[object, str] = {int: "a whole number", str: "a text", bool: "true or false"}

_INT64 = Range(-(2**63), 2**63 - 1)
"""Numbers that TOML promises and the control protocol carries."""


class _BadError(Exception):
    """A value that was reported and is not there."""


@dataclasses.dataclass(frozen=True)
class Problem:
    """A mistake: where, and what to do."""

    keys: Keys
    text: str


@dataclasses.dataclass
class Problems:
    """Mistakes of a configuration, in the order in which they were found."""

    found: list[Problem] = dataclasses.field(default_factory=list)

    def add(self, keys: Keys, text: str) -> None:
        """Notes a mistake, unless there are very many or it is known."""
        problem = Problem(keys, text)
        if len(self.found) < PROBLEMS_MAX and problem not in self.found:
            self.found.append(problem)


def _mac(value: object) -> MacAddress:
    if not isinstance(value, str) or not re.fullmatch(
        r"([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}", value
    ):
        raise UnitError(f"{value!r} is not an Ethernet address; write it like '02:00:00:00:00:01'")
    mac = value.lower().replace("-", ":")
    if int(mac[:2], 16) & 1:
        raise UnitError(f"{value!r} is a group address; a port leads to one station")
    return MacAddress(mac)


def _prefix(value: object) -> Prefix:
    try:
        return Prefix(str(ipaddress.ip_network(str(value))))
    except ValueError as error:
        raise UnitError(f"{error}; write it like '10.0.1.0/24'") from None


def _address(value: object) -> Address:
    try:
        # A number would be taken for an address: only text is one.
        return Address(str(ipaddress.ip_address(str(value))))
    except ValueError:
        raise UnitError(f"{value!r} is not an address; write it like '10.0.0.1'") from None


def _port_path(value: object) -> PortPath:
    parts = value.split("/") if isinstance(value, str) else []
    if len(parts) != 2 or not all(NAME.fullmatch(part) for part in parts):
        raise UnitError(f"{value!r} is not a port of a switch; write it like 'tor0/h1'")
    return PortPath(str(value))


def _file_name(value: object) -> FileName:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", value):
        raise UnitError(
            f"{value!r} is not a file's name without a folder; write it like 'm0.pcapng'"
        )
    return FileName(value)


Parser = Callable[[object], object]

PARSERS: Mapping[object, Parser] = {
    Bytes: parse_size,
    BitRate: parse_rate,
    Picoseconds: parse_time,
    PartsPerMillion: parse_share,
    Limit: parse_limit,
    Fraction: parse_probability,
    MacAddress: _mac,
    Prefix: _prefix,
    Address: _address,
    PortPath: _port_path,
    FileName: _file_name,
}
"""How values of those types are read."""


@cache
def field_types(cls: type) -> dict[str, object]:
    """Types of a dataclass's fields, resolved."""
    return get_type_hints(cls, include_extras=True)


@dataclasses.dataclass(frozen=True)
class Decoder:
    """Turns TOML values into typed ones."""

    problems: Problems
    base: Path
    """Where relative paths start."""

    def read(self, kind: type, value: object, keys: Keys = ()) -> object:
        """The value as that dataclass; what is wrong in it is noted and left out.

        None when nothing is left of it.
        """
        try:
            return self._any(kind, value, keys)
        except _BadError:
            return None

    def _fail(self, keys: Keys, text: str) -> NoReturn:
        self.problems.add(keys, text)
        raise _BadError

    def _any(self, kind: object, value: object, keys: Keys) -> object:
        origin = get_origin(kind)
        if origin is Annotated:
            return self._ranged(get_args(kind), value, keys)
        if kind in PARSERS:
            return self._parsed(PARSERS[kind], value, keys)
        if origin in (Union, types.UnionType):
            return self._union(get_args(kind), value, keys)
        if origin is Literal:
            return self._choice(get_args(kind), value, keys)
        if origin is tuple:
            return self._list(get_args(kind)[0], value, keys)
        if origin is get_origin(Mapping[str, str]):
            return self._mapping(get_args(kind), value, keys)
        if kind is object:
            return value
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            return self._table(kind, value, keys)
        return self._plain(kind, value, keys)

    def _ranged(self, args: tuple[object, ...], value: object, keys: Keys) -> object:
        result = self._any(args[0], value, keys)
        limits = next(item for item in args[1:] if isinstance(item, Range))
        if isinstance(result, int) and not limits.least <= result <= limits.most:
            self._fail(keys, f"{value!r} is not within {limits.least} to {limits.most}")
        return result

    def _parsed(self, parse: Parser, value: object, keys: Keys) -> object:
        try:
            result = parse(value)
        except (UnitError, OverflowError) as error:
            self._fail(keys, str(error))
        if isinstance(result, int) and result > _INT64.most:
            self._fail(keys, f"{value!r} is beyond anything that exists")
        return result

    def _union(self, kinds: tuple[object, ...], value: object, keys: Keys) -> object:
        """The alternatives of a field: a literal word, a number or text, or nothing."""
        wanted = [kind for kind in kinds if kind is not type(None)]
        for kind in wanted:
            if get_origin(kind) is Literal and value in get_args(kind):
                return value
        others = [kind for kind in wanted if get_origin(kind) is not Literal]
        words = [get_args(kind) for kind in wanted if get_origin(kind) is Literal]
        if words and isinstance(value, str):
            self._fail(keys, f"{value!r} is neither a number nor {words[0][0]!r}")
        if len(others) > 1:
            return self._any(others[isinstance(value, str)], value, keys)
        return self._any(others[0], value, keys)

    def _choice(self, choices: tuple[object, ...], value: object, keys: Keys) -> object:
        if value not in choices or isinstance(value, bool):
            known = [str(choice) for choice in choices]
            self._fail(
                keys, f"{value!r} is not one of them; {suggest(str(value), known, 'there are')}"
            )
        return value

    def _plain(self, kind: object, value: object, keys: Keys) -> object:
        if kind is Path:
            text = self._plain(str, value, keys)
            return self.base / str(text)
        # The exact type: True is an int, too.
        if type(value) is not kind:
            self._fail(keys, f"{value!r} is not {_PLAIN[kind]}")
        if isinstance(value, int) and not _INT64.least <= value <= _INT64.most:
            self._fail(keys, f"{value!r} does not fit into 64 bits")
        if isinstance(value, str) and ("\0" in value or len(value) > TEXT_MAX):
            self._fail(keys, f"the text is longer than {TEXT_MAX} characters or has a NUL in it")
        return value

    def _list(self, kind: object, value: object, keys: Keys) -> object:
        if not isinstance(value, list):
            self._fail(keys, f"{value!r} is not a list")
        items = []
        for index, item in enumerate(value):
            try:
                items.append(self._any(kind, item, (*keys, str(index))))
            except _BadError:
                continue
        return tuple(items)

    def _mapping(self, kinds: tuple[object, ...], value: object, keys: Keys) -> object:
        if not isinstance(value, dict):
            self._fail(keys, f"{value!r} is not a table")
        result = {}
        for key, item in value.items():
            here = (*keys, key)
            try:
                result[self._key(kinds, key, here)] = self._any(kinds[1], item, here)
            except _BadError:
                continue
        return result

    def _key(self, kinds: tuple[object, ...], key: str, keys: Keys) -> object:
        if kinds[0] is not str:
            return self._any(kinds[0], int(key) if key.isdecimal() else key, keys)
        if kinds[1] is object:
            return key.replace("-", "_")
        if not NAME.fullmatch(key):
            self._fail(keys, f"{key!r} is no name: up to 15 letters, digits and any of _ . : -")
        return key

    def _table(self, cls: type, value: object, keys: Keys) -> object:
        if not isinstance(value, dict):
            self._fail(keys, f"{value!r} is not a table")
        kinds = field_types(cls)
        arguments: dict[str, object] = {}
        settings: dict[str, object] = {}
        for key, item in value.items():
            name, here = key.replace("-", "_"), (*keys, key)
            try:
                if name in arguments:
                    self._fail(here, "is given twice, with dashes and with underscores")
                if name in kinds and name != "settings":
                    arguments[name] = self._any(kinds[name], item, here)
                elif "settings" in kinds:
                    settings[name] = item
                else:
                    self._fail(here, f"unknown key; {suggest(key, table_keys(cls), 'there are')}")
            except _BadError:
                continue
        if settings:
            arguments["settings"] = settings
        self._require(cls, arguments, value, keys)
        result: object = cls(**arguments)
        return result

    def _require(self, cls: type, arguments: Table, value: Table, keys: Keys) -> None:
        """Gives up on a table that lacks, or has a wrong value of, what it needs."""
        given = {key.replace("-", "_") for key in value}
        needed = [item.name for item in dataclasses.fields(cls) if _needed(item)]
        for name in needed:
            if name not in given:
                self.problems.add(keys, f"`{dashed(name)}` is missing")
        if any(name not in arguments for name in needed):
            raise _BadError


def _needed(item: dataclasses.Field[object]) -> bool:
    return item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING


def table_keys(cls: type) -> list[str]:
    """Keys of a table as they are written."""
    return [dashed(item.name) for item in dataclasses.fields(cls) if item.name != "settings"]
