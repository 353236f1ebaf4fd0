"""How keys are written: with dots between them, and fields with dashes or underscores."""

from __future__ import annotations

import dataclasses
import re
import tomllib
import types
from collections.abc import Mapping
from typing import TYPE_CHECKING, Union, get_args, get_origin

from ndpstack._errors import UserError
from ndpstack.toml._decode import field_types
from ndpstack.toml._write import key_text

if TYPE_CHECKING:
    from collections.abc import Iterable

_PART = re.compile(
    r"""\s*(?:("(?:[^"\\]|\\.)*"|'[^']*')|([^.="'\s](?:[^.="']*[^.="'\s])?))\s*(?=[.=]|\Z)"""
)
"""A key in quotes, as TOML has them, or without; what follows it."""


def split_keys(text: str) -> tuple[list[str], str]:
    """Keys of "a.'b.c'.0=value", and what follows them.

    Raises:
        UserError: These are no keys.
    """
    keys: list[str] = []
    rest = "." + text
    while rest.startswith("."):
        match = _PART.match(rest, 1)
        if match is None:
            raise UserError(f"{text}: no keys with dots between; quote one that has dots: a.'b.c'")
        keys.append(_unquoted(match[1], text) if match[1] else match[2])
        rest = rest[match.end() :]
    return keys, rest


def _unquoted(key: str, text: str) -> str:
    try:
        return next(iter(tomllib.loads(f"{key} = 0")))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{text}: {key} is no key: {error}") from None


def join_keys(keys: Iterable[str]) -> str:
    """What `split_keys` reads back as these keys."""
    return ".".join(map(key_text, keys))


def spelling(table: Mapping[str, object], key: str, kind: object) -> str:
    """The key as the table writes it already.

    Args:
        table: A table.
        key: A key of it. As a field it may be written with dashes or underscores, as a name not.
        kind: What the table stands for, as far as it is known.
    """
    if key in table or (get_origin(kind) is Mapping and get_args(kind)[1] is not object):
        return key
    name = key.replace("-", "_")
    return next((known for known in table if known.replace("-", "_") == name), key)


def kind_within(kind: object, key: str) -> object:
    """Of the value of a table's key or a list's entry: a dataclass, a mapping, ... or None."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        inner = field_types(kind).get(key.replace("-", "_"))
        # An optional one.
        return get_args(inner)[0] if get_origin(inner) in (Union, types.UnionType) else inner
    if get_origin(kind) is Mapping:
        return get_args(kind)[1]
    return get_args(kind)[0] if get_origin(kind) is tuple else None
