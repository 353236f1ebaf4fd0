"""Wireshark's dissector: the core's table of fields as Lua, and the code that reads it."""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from ndpstack._core import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ndpstack import _core

PROTOCOLS: Final = {lib.ND_PROTO_NDP: "ndpstack.ndp", lib.ND_PROTO_HOMA: "homa"}
"""Names in Wireshark's filters; it has another `ndp` already."""

VIEWS: Final = {
    lib.ND_FIELD_DECIMAL: "decimal",
    lib.ND_FIELD_HEX: "hex",
    lib.ND_FIELD_SIGNED: "signed",
    lib.ND_FIELD_FLAGS: "flags",
    lib.ND_FIELD_NAMED: "named",
}

TYPES_MAX: Final = 32

COLUMN: Final = frozenset(
    {
        "connection", "sequence", "pull", "offset", "message_bytes", "path", "flags", "sender_id",
        "incoming", "length", "level", "ack_count",
    }
)  # fmt: skip
"""What the column Info has room for."""


def _text(pointer: _core.Pointer[bytes]) -> str:
    return ffi.string(pointer).decode()


def _lua(value: object) -> str:
    """A value as Lua writes it. JSON's strings are Lua's as long as they are plain."""
    match value:
        case bool():
            return "true" if value else "false"
        case dict():
            inside = ", ".join(
                f"{key} = {_lua(each)}" if isinstance(key, str) else f"[{key}] = {_lua(each)}"
                for key, each in value.items()
            )
            return "{ " + inside + " }"
    return json.dumps(value)


def _type_names(protocol: int) -> dict[int, str]:
    values = (lib.nd_field_values[i] for i in range(lib.nd_field_values_count))
    return {
        value.value: _text(value.name)
        for value in values
        if value.protocol == protocol and _text(value.field) == "type"
    }


def _fields() -> Iterator[dict[str, object]]:
    """A row for each field; a name that types use differently gets the type's name before it."""
    rows = [lib.nd_fields[i] for i in range(lib.nd_fields_count)]
    uses = Counter((row.protocol, _text(row.name)) for row in rows)
    for row in rows:
        base, names = lib.nd_field_type_base(row.protocol), _type_names(row.protocol)
        kinds = [base + bit for bit in range(TYPES_MAX) if row.types >> bit & 1]
        name = _text(row.name)
        several = uses[row.protocol, name] > 1
        yield {
            "protocol": PROTOCOLS[row.protocol],
            "name": name,
            "key": f"{names[kinds[0]].lower()}.{name}" if several else name,
            "text": _text(row.text),
            "bit": row.bit_offset,
            "width": row.bit_width,
            "times": row.repeat,
            "stride": row.bit_stride,
            "view": VIEWS[row.view],
            "column": name in COLUMN,
            "types": dict.fromkeys(kinds, True),
        }


def _values() -> Iterator[dict[str, object]]:
    for i in range(lib.nd_field_values_count):
        row = lib.nd_field_values[i]
        yield {
            "protocol": PROTOCOLS[row.protocol],
            "field": _text(row.field),
            "name": _text(row.name),
            "text": _text(row.text),
            "value": row.value,
        }


def lua_dissector() -> str:
    """The dissector's source, for Wireshark with Lua 5.2 and later."""
    frame = lib.nd_frame_config_default()
    ports = {"ndp": frame.ndp_port, "homa": frame.homa_port, "homa_ip": lib.ND_HOMA_PROTOCOL}
    tables = [f"local PORTS = {_lua(ports)}"]
    for title, rows in (("FIELDS", _fields()), ("VALUES", _values())):
        tables += [f"local {title} = {{", *(f"    {_lua(row)}," for row in rows), "}"]
    code = files("ndpstack.decode").joinpath("dissector.lua").read_text("ascii")
    return "\n".join(["-- SPDX-License-Identifier: Apache-2.0", *tables, "", code])
