"""Keys of a table as fields of a C config struct.

Every field of an engine's or a discipline's config can be set by its C name, with its unit in the
value: the name says which unit (…_bytes, …_ns, …_bps), the struct says which type. So nothing that
an engine can do is out of a configuration's reach, and nothing has to be listed twice.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ndpstack._core import ffi
from ndpstack._units import (
    UnitError,
    parse_limit,
    parse_rate,
    parse_share,
    parse_size,
    parse_time,
)
from ndpstack.toml._places import Place, dashed, suggest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ndpstack._core import CType, Struct

CHOICES: Mapping[str, tuple[str, ...]] = {
    "cutoff_mode": ("auto", "fixed", "static"),
    "victim": ("coin", "arrival"),
}
"""Fields that are enums in C: the words for 0, 1, 2 ..."""

_LIMIT = "struct nd_limit"
_PACKETS = re.compile(r"\s*([0-9]{1,20})\s*pkt\s*")


def struct_fields(struct: str) -> dict[str, CType]:
    """Fields of a config struct that a table can set, pointers left out."""
    fields = ffi.typeof(f"struct {struct}").fields
    return {name: field.type for name, field in fields if field.type.kind != "pointer"}


def check_names(
    struct: str, settings: Mapping[str, object], known: list[str], place: Place
) -> None:
    """Refuses settings that the struct does not have.

    Args:
        struct: Name of the C struct.
        settings: What the table says.
        known: Keys of the table that are no settings, for the hint.
        place: Where the table stands.
    """
    fields = struct_fields(struct)
    for name in settings:
        if name not in fields:
            keys = [*known, *map(dashed, fields)]
            (place / dashed(name)).fail(f"unknown key; {suggest(dashed(name), keys, 'there are')}")


def apply(
    config: Struct, struct: str, settings: Mapping[str, object], packet_bytes: int, place: Place
) -> None:
    """Stores settings in the struct.

    Args:
        config: Where to.
        struct: Name of its type.
        settings: Names and values as the table has them.
        packet_bytes: Wire bytes of a full packet: what "8pkt" stands for where bytes are wanted.
        place: Where the table stands.
    """
    fields = struct_fields(struct)
    for name, value in settings.items():
        here = place / dashed(name)
        ctype = fields[name]
        if ctype.kind == "struct" and ctype.cname != _LIMIT:
            inner = _table(value, ctype, here)
            apply(getattr(config, name), _bare(ctype), inner, packet_bytes, here)
            continue
        try:
            _store(config, name, ctype, value, packet_bytes)
        except UnitError as error:
            here.fail(str(error))
        except OverflowError:
            here.fail(f"{value!r} does not fit into {ctype.cname}")


def _bare(ctype: CType) -> str:
    return ctype.cname.removeprefix("struct ")


def _table(value: object, ctype: CType, place: Place) -> dict[str, object]:
    """The settings of a struct within the struct."""
    if not isinstance(value, dict):
        place.fail(f"{value!r} is not a table")
    table = {key.replace("-", "_"): item for key, item in value.items()}
    check_names(_bare(ctype), table, [], place)
    return table


def _store(config: Struct, name: str, ctype: CType, value: object, packet_bytes: int) -> None:
    if ctype.cname == _LIMIT:
        limit = parse_limit(value)
        target = getattr(config, name)
        target.bytes, target.packets = limit.bytes, limit.packets
    elif ctype.kind == "array":
        items = value if isinstance(value, list) else [value]
        if len(items) != ctype.length:
            raise UnitError(f"{value!r} must be a list of {ctype.length}")
        for i, item in enumerate(items):
            getattr(config, name)[i] = _number(name, item, packet_bytes)
    elif ctype.cname in ("bool", "_Bool"):
        if not isinstance(value, bool):
            raise UnitError(f"{value!r} is not true or false")
        setattr(config, name, value)
    else:
        setattr(config, name, _number(name, value, packet_bytes))


def _number(name: str, value: object, packet_bytes: int) -> int:
    """The integer that goes into the field of that name."""
    words = name.split("_")
    if name in CHOICES:
        if value not in CHOICES[name]:
            raise UnitError(f"{value!r} is not one of {', '.join(CHOICES[name])}")
        return CHOICES[name].index(str(value))
    if "bytes" in words or name == "cutoffs":
        packets = _PACKETS.fullmatch(value) if isinstance(value, str) else None
        return int(packets[1]) * packet_bytes if packets else parse_size(value)
    if "ns" in words:
        return _whole(parse_time(value), 1000, value, "ns")
    if "ps" in words:
        return parse_time(value)
    if "bps" in words:
        return parse_rate(value)
    if "permille" in words:
        return _whole(parse_share(value), 1000, value, "1/1000")
    if "ppm" in words:
        return parse_share(value)
    packets = _PACKETS.fullmatch(value) if isinstance(value, str) else None
    if packets:
        return int(packets[1])
    if isinstance(value, bool) or not isinstance(value, int):
        raise UnitError(f"{value!r} is not a whole number")
    return value


def _whole(number: int, divisor: int, value: object, unit: str) -> int:
    if number % divisor:
        raise UnitError(f"{value!r} is no whole number of {unit}")
    return number // divisor


def spelled(config: Struct, struct: str) -> dict[str, object]:
    """The struct's fields as settings: what `apply` reads back as the same struct."""
    result: dict[str, object] = {}
    for name, ctype in struct_fields(struct).items():
        value = getattr(config, name)
        if ctype.cname == _LIMIT:
            result[name] = [f"{value.bytes}B", f"{value.packets}pkt"]
        elif ctype.kind == "array":
            result[name] = [_spelled_number(name, item) for item in value]
        elif ctype.kind == "struct":
            result[name] = spelled(value, _bare(ctype))
        else:
            result[name] = value if isinstance(value, bool) else _spelled_number(name, value)
    return result


def _spelled_number(name: str, value: int) -> object:
    """What `_number` reads back as the value."""
    words = name.split("_")
    if name in CHOICES:
        return CHOICES[name][value]
    if "bytes" in words or name == "cutoffs":
        return f"{value}B"
    units = {"ns": "ns", "ps": "ps", "bps": "bit", "ppm": "ppm"}
    if "permille" in words:
        return f"{value * 1000}ppm"
    return next((f"{value}{unit}" for word, unit in units.items() if word in words), value)


def written(config: Struct, struct: str) -> dict[str, object]:
    """The struct's fields as plain values, for results and reports."""
    result: dict[str, object] = {}
    for name, ctype in struct_fields(struct).items():
        value = getattr(config, name)
        if ctype.kind == "array":
            result[name] = list(value)
        elif ctype.kind == "struct":
            result[name] = written(value, _bare(ctype))
        else:
            result[name] = value
    return result
