"""`ndpstack replay`: runs a recorded core again and compares what it sends."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from ndpstack.cli._exit import Exit
from ndpstack.host import ReplayError, replay

if TYPE_CHECKING:
    import argparse

    from ndpstack.host import Difference, Packet, Replay

ENDS = {
    "in order": "to the end of the core",
    "full": "until the recording was full",
    "open": "as far as it goes: it is still being written, or its process was killed",
}
HEADLINES = {
    "differs": "is another one",
    "missing": "is not sent any more",
    "extra": "was not sent then",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("file", metavar="FILE", help="what `ndpstack host run --record` wrote")
    parser.add_argument(
        "--capture", metavar="FILE", help="write all its packets, in and out, as pcapng"
    )


def _summary(result: Replay) -> str:
    return (
        f"{result.sent} packets (after {result.received} received and {result.commands} commands, "
        f"in {result.seconds:.6f} s)"
    )


def _line(label: str, packet: Packet | None) -> str:
    if packet is None:
        return f"  {label}  nothing"
    if packet.decoded is None:
        return f"  {label}  {packet.size} bytes that are neither NDP nor Homa"
    about = packet.decoded
    said = " ".join(
        f"{name}={'+'.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in about.fields.items()
        if value not in ("", []) and name != "type"
    )
    ends = f"{about.source} > {about.target}"
    return f"  {label}  {about.protocol} {about.type} {ends} {packet.size} bytes: {said}"


def _print_difference(difference: Difference) -> None:
    print(
        f"packet {difference.number} {HEADLINES[difference.kind]}, "
        f"{difference.seconds:.9f} s after the first round, on port {difference.port}"
    )
    print(_line("recorded", difference.recorded))
    print(_line("replayed", difference.replayed))
    if difference.kind != "differs":
        return
    changed = list(difference.fields())
    for name, was, now in changed:
        print(f"  {name}: {was} then, {now} now")
    if not changed:
        print("  the fields are the same; other bytes differ: MAC or IP header, or payload")


def _document(result: Replay, error: str | None) -> str:
    document = asdict(result)
    for packet in ("recorded", "replayed"):
        if result.difference and document["difference"][packet]:
            document["difference"][packet]["frame"] = getattr(result.difference, packet).frame.hex()
    identical = result.difference is None and error is None
    return json.dumps({"schema_version": 1, "identical": identical, "error": error, **document})


def execute(arguments: argparse.Namespace) -> int:
    """Replays; a recording that is damaged is replayed as far as it goes."""
    error = None
    try:
        result = replay(arguments.file, arguments.capture)
    except ReplayError as trouble:
        if trouble.result is None:
            raise
        result, error = trouble.result, str(trouble)
    if arguments.json:
        print(_document(result, error))
    elif error is not None:
        print(f"identical up to there: {_summary(result)}")
        print(f"ndpstack: {error}", file=sys.stderr)
    elif result.difference is None:
        print(f"identical: {_summary(result)}, {ENDS[result.end]}")
    else:
        print(f"identical up to there: {_summary(result)}")
        _print_difference(result.difference)
    return Exit.FAILED if error is not None or result.difference is not None else Exit.OK
