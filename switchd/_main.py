"""The command line of switchd."""

from __future__ import annotations

import argparse
import select
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ndpstack import __version__
from ndpstack._errors import UserError
from ndpstack._units import counted
from switchd._start import Started, configure_logs, prepare, real_plane
from switchd.config import ConfigError, load
from switchd.plan import build_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from switchd.config import Loaded
    from switchd.plan import Plan

CONFIG = Path("/etc/ndpstack/switchd.toml")

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130

EXITS = """\
exit codes:
    0  ended as it was told to, or the configuration is right
    1  the switches cannot run, or the data path hangs
    2  wrong arguments or configuration; stderr lists every mistake
  130  interrupted before the switches ran
"""


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="switchd",
        description="A software switch that trims packets, for NDP, Homa and all else.",
        epilog=EXITS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"switchd {__version__}")
    parser.add_argument(
        "--config",
        type=Path,
        default=CONFIG,
        metavar="FILE",
        help=f"configuration; files of conf.d beside it follow (default {CONFIG})",
    )
    parser.add_argument(
        "--check-config",
        nargs="?",
        type=Path,
        const=Path(),
        metavar="FILE",
        help="say what is wrong with FILE (or that of --config), and run nothing",
    )
    parser.add_argument(
        "--tethered",
        action="store_true",
        help="end when standard input does, as it does when whoever started this is gone",
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the console script."""
    parser = build_parser()
    arguments = parser.parse_args(argv)
    if arguments.tethered and not _can_end(sys.stdin):
        parser.error("--tethered: standard input is no pipe or terminal, whose end could be seen")
    check = arguments.check_config
    path = check if check is not None and check != Path() else arguments.config
    try:
        loaded = load(path)
        plan = build_plan(loaded)
        if check is not None:
            ports = sum(len(switch.ports) for switch in plan.values())
            switches = counted(len(plan), "switch", "switches")
            print(f"{path}: right; {switches}, {counted(ports, 'port')}")
            return EXIT_OK
        return run(path, loaded, plan, tethered=arguments.tethered)
    except ConfigError as error:
        print("\n".join(error.lines), file=sys.stderr)
        return EXIT_USAGE
    except UserError as error:
        print(f"switchd: {error}", file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        print("switchd: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


def _can_end(stdin: TextIO | None) -> bool:
    """Whether the event loop can wait for the end of standard input; files are at it already."""
    with select.epoll() as epoll:
        try:
            epoll.register(stdin if stdin is not None else -1, 0)
        except (OSError, ValueError):
            return False
    return True


def run(path: Path, loaded: Loaded, plan: Plan, *, tethered: bool = False) -> int:
    """Runs the daemon: the switches first, then what answers for them."""
    configure_logs(loaded.config.daemon)
    prepare(loaded.config)
    with Started(loaded.config, plan, real_plane) as started:
        from switchd.daemon import serve

        serve(path, loaded, started, tethered=tethered)
    return EXIT_OK
