"""`ndpstack host`: the host service that the applications of a machine share."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Final, cast, get_args

from ndpstack import _logs
from ndpstack._config import Backend, Profile
from ndpstack._sources import ask
from ndpstack._units import UnitError, format_rate, parse_rate, parse_size
from ndpstack.cli._exit import Exit
from ndpstack.cli._service import printable
from ndpstack.host import HostService, ServiceConfig

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ndpstack._sources import StatusAnswer


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _rate(text: str) -> int:
    try:
        return parse_rate(text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    run = verbs.add_parser("run", help="serve until SIGTERM")
    run.add_argument("--interface", metavar="IF", help="default: the only one with an address")
    run.add_argument("--backend", choices=get_args(Backend)[:2], default="xdp")
    run.add_argument("--profile", choices=get_args(Profile), default="adaptive")
    run.add_argument("--netns", metavar="NAME", help="network namespace to live in")
    run.add_argument("--cpu", type=int, metavar="N", help="CPU of the core's thread")
    run.add_argument(
        "--link-rate", metavar="RATE", type=_rate, default=0,
        help="rate that windows and pulls are for and that is kept, such as 1Gbit; default: the "
        "interface's",
    )  # fmt: skip
    run.add_argument(
        "--switchd", metavar="ADDRESS",
        help="take code points, priorities, the link's rate unless it is given, MTU and paths from "
        "the switchd that serves hosts there, now and as they change: a path, or ADDRESS:PORT",
    )  # fmt: skip
    run.add_argument(
        "--host",
        metavar="NAME",
        default="",
        help="our name in switchd's configuration; default: it finds us by our addresses",
    )
    run.add_argument(
        "--record", metavar="FILE",
        help="record all that the core is given, payloads too, for `ndpstack replay FILE`",
    )  # fmt: skip
    run.add_argument(
        "--record-bytes", metavar="N", type=_size, default=0,
        help="most that the recording takes, such as 1GiB; default: 256MiB",
    )  # fmt: skip
    run.add_argument("--log", choices=_logs.LEVELS, default="info")
    run.add_argument("--json-log", action="store_true", help="log one JSON object a line")
    status = verbs.add_parser("status", help="what a running host service does")
    status.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON, no tables"
    )
    for verb in (run, status):
        verb.add_argument(
            "--service", metavar="NAME", default="host",
            help="what applications attach by: a name, or the path of a socket",
        )  # fmt: skip


def _run(arguments: argparse.Namespace) -> int:
    _logs.configure("ndpstack", arguments.log, as_json=arguments.json_log)
    config = ServiceConfig(
        interface=arguments.interface,
        service=arguments.service,
        backend=arguments.backend,
        profile=arguments.profile,
        namespace=arguments.netns,
        cpu=arguments.cpu,
        link_rate_bps=arguments.link_rate,
        switchd=arguments.switchd,
        host=arguments.host,
        record=arguments.record,
        record_bytes=arguments.record_bytes,
    )
    with HostService(config) as service:
        service.serve()
    return Exit.OK


SOURCES: Final = {"switchd": "switchd", "config": "--link-rate", "own": "not told"}


def _shown(name: str, value: object) -> str:
    if value is None:
        return "the interface's" if name in ("link_rate_bps", "mtu") else "the default"
    if name == "link_rate_bps":
        return format_rate(cast("int", value))
    if name == "paths":
        return f"{len(cast('list[int]', value))}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_listed(item)}" for key, item in value.items())
    return str(value)


def _listed(value: object) -> str:
    if not isinstance(value, list):
        return str(value)
    return "/".join(map(str, value)) or "measured"


def _told_lines(told: Mapping[str, object]) -> Iterator[str]:
    """Where each setting comes from, and how old it is."""
    age = "nothing told yet" if told["told_s"] is None else f"told {told['told_s']} s ago"
    here = "" if told["connected"] else f"; away: {told['problem']}"
    yield f"switchd       {told['address']}, {age}, away {told['outages']} times{here}"
    settings = cast("Mapping[str, Mapping[str, object]]", told["settings"])
    for name, row in settings.items():
        source = SOURCES[cast("str", row["source"])]
        yield f"  {name:<14} {_shown(name, row['value'])} ({source}, {row['age_s']} s)"
    reasons = cast("Mapping[str, str]", told["reasons"])
    for name, count in cast("Mapping[str, int]", told["refused"]).items():
        because = f": {reasons[name]}" if name in reasons else ""
        yield f"  {name:<14} refused {count} times{because}"


def _lines(status: Mapping[str, object]) -> Iterator[str]:
    """What it says of itself, as people read it."""
    port = cast("Mapping[str, str]", status["port"])
    note = f"; {port['note']}" if port["note"] else ""
    addresses = ", ".join(cast("list[str]", status["addresses"]))
    who = f"pid {status['pid']}, user {status['user']}"
    yield f"service       {status['service']} ({who}, up {status['uptime_s']} s)"
    yield f"interface     {status['interface']}, {port['state']}, {port['mode']}{note}"
    yield f"addresses     {addresses}"
    if status["link_rate_bps"]:
        yield f"link          {format_rate(cast('int', status['link_rate_bps']))}"
    if status["switchd"]:
        yield from _told_lines(cast("Mapping[str, object]", status["switchd"]))
    yield f"applications  {status['applications']}"
    counters = cast("Mapping[str, Mapping[str, int]]", status["counters"])
    for group, values in counters.items():
        for name, value in values.items():
            if value:
                yield f"{group + '.' + name:<32} {value}"


def _print(answer: StatusAnswer) -> None:
    """Prints it, whoever answers.

    Raises:
        UserError: It is of another version, or not what it says.
    """
    try:
        lines = list(_lines(answer.attributed()))
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError):
        raise answer.nonsense("status") from None
    for line in lines:
        print(printable(line))


def execute(arguments: argparse.Namespace) -> int:
    """Runs the service, or prints what a running one does."""
    if arguments.verb == "run":
        return _run(arguments)
    answer = ask(arguments.service, "status")
    if arguments.json:
        print(json.dumps(answer.attributed()))
    else:
        _print(answer)
    return Exit.OK
