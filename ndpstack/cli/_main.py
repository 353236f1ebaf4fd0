"""Finds the subcommand, imports only its module, and turns user mistakes into one line."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, cast

from ndpstack import __version__
from ndpstack._errors import UserError
from ndpstack.cli._exit import MEANINGS, Exit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Errors of a file, such as the one that stdout is sent to, that takes no more."""


class Command(NamedTuple):
    """A subcommand that is not imported yet."""

    module: str
    summary: str


class CommandModule(Protocol):
    """What a subcommand's module offers."""

    configure: Callable[[argparse.ArgumentParser], None]
    """Adds the command's arguments; `--json` is there already."""
    execute: Callable[[argparse.Namespace], int]
    """Does it; returns the exit code, raises UserError for the user's mistakes."""


COMMANDS: dict[str, Command] = {
    "doctor": Command("ndpstack.cli._doctor", "Find what keeps the stack from running well here"),
    "demo": Command("ndpstack.cli._demo", "Show on real packets what the stack is for"),
    "run": Command("ndpstack.cli._run", "Run a scenario and report what happened"),
    "host": Command("ndpstack.cli._host", "The host service that applications share"),
    "ss": Command("ndpstack.cli._ss", "Connections, RPCs, peers, applications of all stacks here"),
    "stat": Command("ndpstack.cli._stat", "Counters of all stacks here, and what they grow by"),
    "lab": Command("ndpstack.cli._lab", "Hosts and switches in network namespaces"),
    "sweep": Command("ndpstack.cli._sweep", "Run a scenario at many points, in processes"),
    "reproduce": Command(
        "ndpstack.cli._reproduce", "Run the papers' experiments beside their numbers"
    ),
    "serve": Command("ndpstack.cli._serve", "Serve a few methods, to try calls against"),
    "call": Command("ndpstack.cli._call", "Call a method of a server, and print its value"),
    "ping": Command("ndpstack.cli._ping", "Measure round trips to a host"),
    "completion": Command("ndpstack.cli._completion", "Print a completion script for a shell"),
    "decode": Command("ndpstack.cli._decode", "Show the NDP and Homa packets of a capture file"),
    "bench": Command(
        "ndpstack.cli._bench", "Measure our sockets beside the kernel's, pyzmq's and gRPC's"
    ),
    "replay": Command(
        "ndpstack.cli._replay", "Run a recorded core again and compare what it sends"
    ),
    "swarm": Command("ndpstack.cli._swarm", "Test the engines with seeds of faults and workload"),
}


def _epilog() -> str:
    lines = [f"  {code.value:>3}  {meaning}" for code, meaning in MEANINGS.items()]
    return "exit codes:\n" + "\n".join(lines)


def _wanted(argv: Sequence[str]) -> str | None:
    """The subcommand named on the command line, before anything is parsed."""
    return next((word for word in argv if word in COMMANDS), None)


def full_parser() -> argparse.ArgumentParser:
    """The parser with the arguments of every subcommand."""
    return _build_parser(COMMANDS)


def build_parser(wanted: str | None) -> argparse.ArgumentParser:
    """The parser with the arguments of the wanted subcommand; of the others only the names."""
    return _build_parser({wanted} if wanted else ())


def _build_parser(wanted: Collection[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ndpstack",
        description="NDP and Homa in userspace: run, simulate, test and measure.",
        epilog=_epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"ndpstack {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, command in COMMANDS.items():
        sub = commands.add_parser(
            name,
            help=command.summary,
            description=f"{command.summary}.",
            epilog=_epilog(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.add_argument("--json", action="store_true", help="print JSON, no tables")
        if name in wanted:
            module = cast("CommandModule", import_module(command.module))
            module.configure(sub)
            sub.set_defaults(execute=module.execute)
    return parser


def _execute(argv: Sequence[str]) -> int:
    parser = build_parser(_wanted(argv))
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return Exit.USAGE
    execute: Callable[[argparse.Namespace], int] = arguments.execute
    code = execute(arguments)
    if sys.stdout is not None:  # None where it was closed before we began.
        sys.stdout.flush()
    return code


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the console script."""
    _print_anything()
    try:
        return _execute(sys.argv[1:] if argv is None else argv)
    except UserError as error:
        print(f"ndpstack: {error}", file=sys.stderr)
        return Exit.USAGE
    except KeyboardInterrupt:
        print("ndpstack: interrupted", file=sys.stderr)
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader has gone; what it did not want to read is no error.
        _give_up_stdout()
        return Exit.OK
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        _give_up_stdout()
        where = error.filename or "cannot write"
        print(f"ndpstack: {where}: {error.strerror}; make room there", file=sys.stderr)
        return Exit.USAGE


def _print_anything() -> None:
    """Names of files and interfaces that cannot be spelled are printed escaped, as on stderr."""
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _give_up_stdout() -> None:
    """What is left to be written there is lost, and no error when the process ends."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
