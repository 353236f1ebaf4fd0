"""The command line of switchctl."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ndpstack import __version__
from ndpstack._errors import UserError
from ndpstack._logs import LEVELS
from ndpstack.cli._completion import INSTALL, SHELLS, completion_script
from ndpstack.cli._numbers import pause, seconds
from ndpstack.control import Client, ControlError, UnreachableError
from switchd.switchctl import _output
from switchd.switchctl._batch import commands_of
from switchd.switchctl._capture import capture
from switchd.switchctl._events import follow
from switchd.switchctl._filter import filtered
from switchd.switchctl._top import top

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SOCKET = "/run/ndpstack/switchd.sock"
SOCKET_VARIABLE = "SWITCHD_SOCKET"

EXIT_CODES = {
    0: "done",
    1: "the daemon refused, and stderr says why and what to do; or the doctor found a fault",
    2: "wrong arguments",
    3: "the daemon cannot be reached (to the doctor that is a fault)",
    130: "interrupted",
}

NOT_IN_BATCH = ("batch", "completion", "doctor", "top")
"""Commands that want a terminal, or no daemon."""

NO_FAULTS = {"loss": "0%", "corrupt": "0%", "duplicate": "0%", "reorder": "0%", "delay": "0us"}
"""Each fault, as it does nothing."""

VIEWS = {
    "status": "the daemon in a few lines",
    "ports": "states and counters of ports",
    "queues": "what queues hold and did",
    "watermarks": "most that each queue held",
    "trim": "trimming, in SONiC's columns",
    "ecn": "congestion marks",
    "phantom": "phantom queues",
    "drops": "every reason for a drop, what happened first",
    "counters": "all that the data path counts",
    "fdb": "Ethernet addresses",
    "routes": "routes",
    "paths": "paths that hosts are told",
    "hosts": "hosts, configured and connected",
    "profiles": "profiles",
    "mirrors": "mirrors",
    "runtime": "how the data path and the control plane do",
    "running-config": "the configuration in force",
    "log": "levels of loggers",
    "events": "what happened to links, ports, routes and the configuration",
    "version": "versions of the daemon and of its API",
}


def _epilog() -> str:
    lines = [f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES.items()]
    return "exit codes:\n" + "\n".join(lines)


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="switchctl",
        description="Shows and changes what a running switchd does. Commands and the things that "
        "`show` knows may be abbreviated: switchctl sh po.",
        epilog=_epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"switchctl {__version__}")
    parser.add_argument(
        "--socket",
        default=os.environ.get(SOCKET_VARIABLE, SOCKET),
        metavar="PATH",
        help=f"control socket (default ${SOCKET_VARIABLE}, or {SOCKET})",
    )
    parser.add_argument(
        "-o", "--output", choices=_output.FORMATS, default="table", help="form of what is printed"
    )
    parser.add_argument(
        "--watch", type=seconds, metavar="SECONDS", help="show again and again, for `show`"
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=10.0,
        metavar="SECONDS",
        help="longest wait for an answer",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    _add_show(commands)
    _add_changes(commands)
    _add_tools(commands)
    return parser


Commands = argparse._SubParsersAction


def _add(
    commands: Commands[argparse.ArgumentParser], name: str, summary: str, run: object
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=summary, description=f"{summary}.")
    parser.set_defaults(run=run)
    return parser


def _add_show(commands: Commands[argparse.ArgumentParser]) -> None:
    show = _add(commands, "show", "Show the state of things", _show)
    show.add_argument("what", choices=list(VIEWS), metavar="WHAT", help=", ".join(VIEWS))
    show.add_argument(
        "name", nargs="?", metavar="NAME", help="of this port only (h1, tor0/h1), or this switch"
    )
    show.add_argument("--switch", help="of this switch only")
    show.add_argument("--port", help="of this port only")
    show.add_argument("--nonzero", action="store_true", help="only rows that counted something")


def _add_changes(commands: Commands[argparse.ArgumentParser]) -> None:
    change = _add(commands, "set", "Change settings at once, until the daemon ends", _set)
    change.add_argument(
        "items", nargs="+", metavar="KEY=VALUE", help="switch.tor0.port.h1.rate=5Gbit"
    )
    unset = _add(commands, "unset", "Take back what was set at run time", _unset)
    unset.add_argument("items", nargs="+", metavar="KEY", help="switch.tor0.port.h1.rate")
    reload = _add(commands, "reload", "Apply what differs in the files, all or nothing", _reload)
    for parser in (change, unset, reload):
        parser.add_argument("--dry-run", action="store_true", help="only say what would change")
    diff = _add(commands, "diff", "Say what a reload would change", _reload)
    diff.set_defaults(dry_run=True)
    _add(commands, "save", "Write what was set at run time into conf.d", _save)
    clear = _add(commands, "clear", "Count anew; Prometheus sees no change", _clear)
    clear.add_argument("what", nargs="?", choices=("counters", "watermarks"), default="counters")
    fault = _add(commands, "fault", "Inject faults into what a port receives", _fault)
    fault.add_argument("port", metavar="SWITCH/PORT")
    fault.add_argument(
        "faults", nargs="+", metavar="FAULT", help="loss=1%% corrupt=1e-6 delay=5us ..., or off"
    )


def _add_tools(commands: Commands[argparse.ArgumentParser]) -> None:
    mirror = _add(commands, "mirror", "Copy frames into a file, until it is full", _mirror)
    mirror.add_argument("switch")
    mirror.add_argument("name", help="of the mirror")
    mirror.add_argument("--source", nargs="+", metavar="PORT", help="ports to copy from")
    mirror.add_argument("--file", help="name in the folder daemon.captures")
    mirror.add_argument("--direction", choices=("rx", "tx", "both"), default="both")
    mirror.add_argument("--snaplen", default="128B", help="bytes of each frame (128B)")
    mirror.add_argument("--limit", default="64MiB", help="size of the file (64MiB)")
    mirror.add_argument("--remove", action="store_true", help="end a mirror made like this")
    record = _add(commands, "capture", "Copy frames to this terminal's side, as pcapng", capture)
    record.add_argument("switch")
    record.add_argument("ports", nargs="*", metavar="PORT", help="all when none is given")
    record.add_argument("-w", "--write", required=True, metavar="FILE", help="- for stdout")
    record.add_argument("--direction", choices=("rx", "tx", "both"), default="both")
    record.add_argument("--snaplen", type=int, default=256, help="bytes of each frame (256)")
    record.add_argument("--seconds", type=seconds, help="end after this time")
    log = _add(commands, "log", "Change what is logged, until the daemon ends", _log)
    log.add_argument("logger", nargs="?", default="switchd", help="switchd.control, for example")
    log.add_argument("level", choices=LEVELS)
    events = _add(commands, "events", "Follow what happens to links, ports, routes", follow)
    events.add_argument("--seconds", type=pause, help="end after this time")
    batch = _add(commands, "batch", "Run the commands of a file, one a line", _batch)
    batch.add_argument("file", metavar="FILE", help="- for stdin; # begins a comment")
    batch.add_argument(
        "-e", "--stop-on-error", action="store_true", help="run none after one that failed"
    )
    _add(commands, "doctor", "Say what keeps the switch from running well, and the mend", _doctor)
    live = _add(commands, "top", "Watch rates of all ports", _top)
    live.add_argument("--seconds", type=seconds, default=1.0, help="between two looks (1)")
    shells = commands.add_parser(
        "completion",
        help="Print a completion script",
        description=f"Print a completion script.\n\n{INSTALL.format(command='switchctl')}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    shells.add_argument("shell", choices=SHELLS)


# ---- what commands do ----


def _print(arguments: argparse.Namespace, name: str, answer: object) -> None:
    text = _output.show(name, answer, arguments.output)
    if text:
        print(text)


def _show(client: Client, arguments: argparse.Namespace) -> None:
    while True:
        answer = filtered(client.call(f"show.{arguments.what}"), arguments)
        if arguments.watch and sys.stdout.isatty():
            print("\x1b[H\x1b[J", end="")
        _print(arguments, arguments.what, answer)
        if not arguments.watch:
            return
        sys.stdout.flush()
        time.sleep(arguments.watch)


def _set(client: Client, arguments: argparse.Namespace) -> None:
    _print(
        arguments, "changes", client.call("set", items=arguments.items, dry_run=arguments.dry_run)
    )


def _unset(client: Client, arguments: argparse.Namespace) -> None:
    answer = client.call("unset", items=arguments.items, dry_run=arguments.dry_run)
    _print(arguments, "changes", answer)


def _reload(client: Client, arguments: argparse.Namespace) -> None:
    _print(arguments, "changes", client.call("reload", dry_run=arguments.dry_run))


def _save(client: Client, arguments: argparse.Namespace) -> None:
    answer = client.call("save")
    if arguments.output == "table" and isinstance(answer, dict):
        print(f"written: {answer['text']}")
    else:
        _print(arguments, "saved", answer)


def _clear(client: Client, arguments: argparse.Namespace) -> None:
    answer = client.call("clear", what=arguments.what)
    if arguments.output != "table":
        _print(arguments, "status", answer)


def _dotted(*keys: str) -> str:
    """A key of the configuration; names of interfaces with dots in them are quoted."""
    return ".".join(
        key if key.replace("-", "_").isidentifier() else json.dumps(key) for key in keys
    )


def _fault(client: Client, arguments: argparse.Namespace) -> None:
    switch, slash, port = arguments.port.partition("/")
    if not slash:
        raise UserError(f"{arguments.port}: write it like tor0/h1")
    pairs = (
        [] if arguments.faults == ["off"] else [item.partition("=") for item in arguments.faults]
    )
    if any(not equals for _, equals, _ in pairs):
        raise UserError("faults are written like loss=1% delay=5us, or off")
    ports = {f"{row['switch']}/{row['port']}" for row in _output.rows_of(client.call("show.ports"))}
    if arguments.port not in ports:  # A setting would make one, of an interface of that name.
        from ndpstack.toml import suggest  # For mistakes only: the tool starts without it.

        hint = suggest(arguments.port, sorted(ports), "there are") if ports else "there are none"
        raise UserError(f"{arguments.port!r} is no port; {hint}")
    # Tables of files and of run time are merged: what the file injects ends where it is set anew.
    faults = NO_FAULTS | {key: value for key, _, value in pairs}
    table = ", ".join(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in faults.items())
    items = [f"{_dotted('switch', switch, 'port', port, 'faults')}={{ {table} }}"]
    _print(arguments, "changes", client.call("set", items=items))


def _mirror(client: Client, arguments: argparse.Namespace) -> None:
    key = _dotted("switch", arguments.switch, "mirror", arguments.name)
    if arguments.remove:
        _print(arguments, "changes", client.call("unset", items=[key]))
        return
    if not arguments.source or not arguments.file:
        raise UserError("a mirror needs --source PORT... and --file FILE")
    items = [
        f"{key}.source={json.dumps(arguments.source)}",
        f"{key}.file={json.dumps(arguments.file)}",
        f"{key}.direction={json.dumps(arguments.direction)}",
        f"{key}.snaplen={json.dumps(arguments.snaplen)}",
        f"{key}.limit={json.dumps(arguments.limit)}",
    ]
    _print(arguments, "changes", client.call("set", items=items))


def _log(client: Client, arguments: argparse.Namespace) -> None:
    answer = client.call("log", logger=arguments.logger, level=arguments.level)
    _print(arguments, "log", answer)


def _top(client: Client, arguments: argparse.Namespace) -> None:
    top(client, arguments.seconds)


def _doctor(arguments: argparse.Namespace) -> int:
    from switchd.switchctl._doctor import examine  # Takes longer to load than all the rest.

    return examine(arguments)


def expand(argv: Sequence[str]) -> list[str]:
    """Abbreviated commands and views in full; what is not unique stays, and is refused."""
    words = list(argv)
    parser = build_parser()
    commands = next(a.choices for a in parser._actions if isinstance(a.choices, dict))
    values = {"--socket", "-o", "--output", "--watch", "--timeout"}
    index = 0
    while index < len(words) and words[index].startswith("-"):
        index += 2 if words[index] in values else 1
    if index < len(words):
        words[index] = _unique(words[index], list(commands))
        if words[index] == "show" and index + 1 < len(words):
            words[index + 1] = _unique(words[index + 1], list(VIEWS))
    return words


def _unique(word: str, known: list[str]) -> str:
    found = [item for item in known if item.startswith(word)]
    return found[0] if len(found) == 1 and word not in known else word


def _execute(argv: Sequence[str]) -> int:
    parser = build_parser()
    arguments = parser.parse_args(expand(argv))
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return 2
    if arguments.command == "completion":
        print(completion_script(build_parser(), arguments.shell))
        return 0
    if arguments.command == "doctor":
        return _doctor(arguments)
    with Client(arguments.socket, arguments.timeout) as client:
        if arguments.command == "batch":
            return _batch(client, arguments)
        arguments.run(client, arguments)
    sys.stdout.flush()
    return 0


def _batch(client: Client, arguments: argparse.Namespace) -> int:
    """Commands over one connection; the exit code is that of the first that failed."""
    failed = 0
    for number, words in commands_of(arguments.file):
        code = _guarded(lambda: _run_line(client, arguments, words), f"line {number}: ")  # noqa: B023
        failed = failed or code
        if failed and arguments.stop_on_error:
            break
    return failed


def _run_line(client: Client, outer: argparse.Namespace, words: list[str]) -> int:
    try:
        arguments = build_parser().parse_args(["-o", outer.output, *expand(words)])
    except SystemExit as error:
        return int(error.code or 0)
    if arguments.command in NOT_IN_BATCH or arguments.command is None:
        raise UserError(f"{' '.join(words)}: no command for a batch")
    arguments.run(client, arguments)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the console script."""
    words = sys.argv[1:] if argv is None else argv
    if sys.stdout is not None:
        return _guarded(lambda: _execute(words))
    # It was closed before we began: nobody is to read what we print.
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        return _guarded(lambda: _execute(words))


def _guarded(work: Callable[[], int], where: str = "") -> int:
    """The exit code; errors are printed."""
    try:
        return work()
    except UnreachableError as error:
        print(f"switchctl: {where}{error}", file=sys.stderr)
        return 3
    except ControlError as error:
        print(f"switchctl: {where}{error}", file=sys.stderr)
        return 1
    except (UserError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            # The reader has gone; what it did not want to read is no error.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        print(f"switchctl: {where}{error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
