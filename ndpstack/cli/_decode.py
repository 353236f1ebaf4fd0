"""`ndpstack decode`: the NDP and Homa packets of a capture file, a line each."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack._table import Column, render
from ndpstack.cli._exit import Exit
from ndpstack.decode import CaptureError, Decoded, Record, decode_frame, lua_dissector, read_capture

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from ndpstack._table import Cell

    Row = list[Cell]

COLUMNS = [
    Column("no."), Column("time", "s", 6), Column("where"), Column("from"), Column("to"),
    Column("protocol"), Column("type"), Column("id"), Column("bytes"), Column("says"),
]  # fmt: skip

PORTION = 1000
"""Rows under one header: of a long capture the first are seen at once, and none are kept."""

SAID = {
    "ndp": ("sequence", "pull", "offset", "message_bytes", "path", "flags"),
    "homa": ("offset", "message_bytes", "incoming", "length", "level", "ack_count", "note"),
}
"""Fields that the table has room for; `--json` has all."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="pcap or pcapng with Ethernet frames; - for standard input",
    )
    parser.add_argument(
        "--lua", action="store_true", help="print Wireshark's dissector instead of decoding a file"
    )
    parser.add_argument("-c", "--count", type=int, help="stop after so many packets")
    parser.add_argument("--protocol", choices=["ndp", "homa"], help="only packets of one")
    parser.add_argument("--connection", metavar="ID", help="only an NDP connection, as 0x89abcdef")
    parser.add_argument("--rpc", metavar="ID", help="only an RPC of Homa, by either side's id")


def _number(text: str | None, what: str) -> int | None:
    try:
        return None if text is None else int(text, 0)
    except ValueError:
        raise UserError(f"{what} must be a number such as 0x1f or 31, not {text!r}") from None


def _wanted(arguments: argparse.Namespace) -> Iterator[tuple[Record, Decoded]]:
    """The packets that were asked for."""
    connection = _number(arguments.connection, "--connection")
    rpc = _number(arguments.rpc, "--rpc")
    left: int | None = arguments.count
    if left is not None and left < 1:
        raise UserError(f"--count must be at least 1, not {left}")
    for record in read_capture(arguments.file):
        packet = decode_frame(record.frame, record.original_bytes)
        if packet is None or arguments.protocol not in (None, packet.protocol):
            continue
        if connection is not None and (packet.protocol, packet.id) != ("ndp", connection):
            continue
        if rpc is not None and (packet.protocol, packet.id) != ("homa", rpc & ~1):
            continue
        yield record, packet
        left = None if left is None else left - 1
        if left == 0:
            return


def _says(record: Record, packet: Decoded) -> str:
    parts = []
    for name in SAID[packet.protocol]:
        value = packet.fields.get(name)
        if isinstance(value, list):
            value = "+".join(map(str, value))
        if value not in (None, "", "none"):
            parts.append(f"{name}={value}")
    parts += ["TRIMMED"] if packet.trimmed else []
    parts += [f"ERROR {packet.error}"] if packet.error else []
    parts += [f"[{record.comment}]"] if record.comment else []
    return " ".join(parts)


def _document(record: Record, packet: Decoded) -> str:
    about = asdict(record)
    about["captured_bytes"] = len(about.pop("frame"))
    return json.dumps({**about, **asdict(packet), "id": packet.id})


def execute(arguments: argparse.Namespace) -> int:
    """Shows a file's packets, or prints the dissector.

    Raises:
        UserError: It is not said which, or the file is no capture.
    """
    if arguments.lua == (arguments.file is not None):
        raise UserError("name a FILE to decode, or --lua for Wireshark's dissector")
    if arguments.lua:
        print(lua_dissector(), end="")
        return Exit.OK
    return _show(arguments)


def _show(arguments: argparse.Namespace) -> int:
    """Shows the packets; a file that is cut short is shown as far as it goes."""
    begin, shown = None, 0
    portion: list[Row] = []
    try:
        for record, packet in _wanted(arguments):
            shown += 1
            if arguments.json:
                print(_document(record, packet))
                continue
            begin = record.time_ns if begin is None else begin
            portion.append(_row(record, packet, begin))
            if len(portion) == PORTION:
                _print(portion)
    except CaptureError as error:
        if not shown:
            raise
        _print(portion)
        print(f"ndpstack: {error}", file=sys.stderr)
        return Exit.FAILED
    _print(portion)
    if not shown and not arguments.json:
        print("no packets of NDP or Homa that match")
    return Exit.OK


def _row(record: Record, packet: Decoded, begin: int) -> Row:
    name = f"{packet.id:#x}" if packet.protocol == "ndp" and packet.id else str(packet.id)
    return [
        str(record.number),
        (record.time_ns - begin) / 1e9,
        f"{record.interface} {record.direction}".strip(),
        packet.source,
        packet.target,
        packet.protocol,
        packet.type,
        name,
        record.original_bytes,
        _says(record, packet),
    ]


def _print(portion: list[Row]) -> None:
    """Prints what has been gathered, and forgets it."""
    if portion:
        print(render(COLUMNS, portion), flush=True)
        portion.clear()
