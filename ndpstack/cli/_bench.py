"""`ndpstack bench`: our sockets beside the kernel's, pyzmq's and gRPC's."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack.bench._kinds import INCAST_PEERS, INCAST_SUMMARY, KINDS, NOT_BESIDE_INCAST
from ndpstack.cli._exit import Exit
from ndpstack.cli._extra import need
from ndpstack.cli._progress import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ndpstack.bench import Bed, Match, Standing
    from ndpstack.bench._plot import Bar

ROUNDS = 5
COUNT_MAX = 10_000_000
BYTES_MAX = 64 << 20


class Peers:
    """What `--against` takes: names with commas between, each once.

    Args:
        names: Those that there are.
        reasons: Those that there cannot be, and why.
    """

    def __init__(self, names: Iterable[str], reasons: Mapping[str, str]) -> None:
        self.names = tuple(names)
        self._reasons = reasons

    def __call__(self, text: str) -> list[str]:
        """The names in the text."""
        wanted = list(dict.fromkeys(text.split(",")))
        for name in wanted:
            if name in self._reasons:
                raise argparse.ArgumentTypeError(
                    f"{name} cannot be measured here: {self._reasons[name]}"
                )
            if name not in self.names:
                raise argparse.ArgumentTypeError(f"{name!r}: there are {', '.join(self.names)}")
        return wanted


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", title="kinds", required=True)
    for name, kind in KINDS.items():
        sub = kinds.add_parser(name, help=kind.summary, description=f"{kind.summary}.")
        _add_common(sub, Peers(kind.peers, {}), ROUNDS)
        _add_numbers(sub, kind.request_bytes, kind.count, kind.outstanding)
        sub.add_argument(
            "--on",
            choices=["memory", "netns"],
            help="netns, one veth pair, where there is root for it; else memory and loopback",
        )
        sub.add_argument(
            "--mtu", type=int, help="of the veth pair, for all contestants; by default 1500"
        )
    incast = kinds.add_parser("incast", help=INCAST_SUMMARY, description=f"{INCAST_SUMMARY}.")
    _add_common(incast, Peers(INCAST_PEERS, NOT_BESIDE_INCAST), 3)


def _add_common(parser: argparse.ArgumentParser, peers: Peers, rounds: int) -> None:
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    parser.add_argument(
        "--against",
        type=peers,
        metavar="PEERS",
        help=f"some of {','.join(peers.names)}; by default all that are installed",
    )
    parser.add_argument("--rounds", type=int, default=rounds, help=f"by default {rounds}")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw it: .svg, .png or .pdf")


def _add_numbers(parser: argparse.ArgumentParser, size: int, count: int, outstanding: int) -> None:
    parser.add_argument("--size", type=int, default=size, help=f"bytes, by default {size}")
    parser.add_argument("--count", type=int, default=count, help=f"in a round, by default {count}")
    parser.add_argument(
        "--outstanding", type=int, default=outstanding, help=f"at once, by default {outstanding}"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Measures and says what came of it."""
    if arguments.rounds < 1:
        raise UserError(f"--rounds {arguments.rounds}: at least 1")
    if arguments.plot:
        _check_plot(arguments.plot)
    if arguments.kind == "incast":
        return _incast(arguments)
    from ndpstack.bench import degraded, environment, open_bed

    match, notes = _match(arguments)
    with open_bed(arguments.on, arguments.mtu) as bed:
        facts = environment(bed.world, bed.mtu)
        remarks = [*degraded(bed.world), *notes]
        if not arguments.json:
            _print_conditions(facts, remarks)
        standings = _played(match, bed)
    if arguments.json:
        from ndpstack.bench import standings_document

        _print_json(facts, remarks, standings_document(match, standings))
    else:
        _print(match, standings)
    if arguments.plot:
        from ndpstack.bench._plot import AXES, standings_bars

        kind = KINDS[match.kind]
        title = f"{kind.summary}: {match.request_bytes:,} B"
        bars = standings_bars(match.kind, standings, list(kind.ours))
        _plot(arguments.plot, title, AXES[match.kind][1], bars)
    return Exit.FAILED if any(each.error for each in standings) else Exit.OK


def _match(arguments: argparse.Namespace) -> tuple[Match, list[str]]:
    """What is to be played, and who cannot."""
    from ndpstack.bench import Match

    for name, value, most in (
        ("size", arguments.size, BYTES_MAX),
        ("count", arguments.count, COUNT_MAX),
        ("outstanding", arguments.outstanding, 1024),
    ):
        low = 2 if name == "count" else 1
        if not low <= value <= most:
            raise UserError(f"--{name} {value}: from {low} to {most}")
    kind = KINDS[arguments.kind]
    if arguments.outstanding > 1 and kind.outstanding == 1:
        raise UserError(
            f"--outstanding {arguments.outstanding}: blocking sockets wait for one; "
            "see `ndpstack bench rpc`"
        )
    names, notes = kind.choose(arguments.against)
    match = Match(
        kind=arguments.kind,
        names=names,
        request_bytes=arguments.size,
        reply_bytes=arguments.size if kind.reply_bytes is None else kind.reply_bytes,
        count=arguments.count,
        outstanding=arguments.outstanding,
        rounds=arguments.rounds,
    )
    return match, notes


def _played(match: Match, bed: Bed) -> list[Standing]:
    line = Line()
    turns = match.rounds * len(match.names)
    try:
        return match.play(bed, lambda who, done: line.show(done / turns, who))
    finally:
        line.close()


def _check_plot(path: Path) -> None:
    """Whether it can be drawn is found out before minutes of measurements, not after."""
    from ndpstack.bench._plot import ENDINGS

    need("--plot", "sim", "matplotlib")
    if path.suffix not in ENDINGS:
        raise UserError(f"--plot {path}: its name has to end in {', '.join(ENDINGS)}")
    if not path.parent.is_dir():
        raise UserError(f"--plot {path}: there is no folder {path.parent}")
    try:
        with TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise UserError(f"--plot {path}: cannot write there: {error.strerror}") from None


def _plot(path: Path, title: str, axis: str, bars: Sequence[Bar]) -> None:
    from ndpstack.bench._plot import write_plot

    try:
        write_plot(path, title, axis, bars)
    except OSError as error:
        raise UserError(f"--plot {path}: {error.strerror}") from None


def _print_json(facts: dict[str, str], remarks: Sequence[str], told: dict[str, object]) -> None:
    document = {"schema_version": 1, "environment": facts, "degraded": remarks, **told}
    print(json.dumps(document, indent=1))


def _print_conditions(facts: dict[str, str], remarks: Sequence[str]) -> None:
    for name, text in facts.items():
        print(f"{name + ':':<10} {text}")
    for text in remarks:
        print(f"note:      {text}")
    print()


def _print(match: Match, standings: Sequence[Standing]) -> None:
    from ndpstack.bench import standings_table

    for mode in sorted({each.mode for each in standings if each.mode}):
        print(f"our ports: {mode}")
    print(
        f"{KINDS[match.kind].summary}: {match.request_bytes:,} B there, {match.reply_bytes:,} B "
        f"back, {match.outstanding} outstanding; medians of {match.rounds} rounds of "
        f"{match.count:,}"
    )
    print(standings_table(standings))
    for each in standings:
        if each.error:
            print(f"{each.title}: {each.error}")


def _incast(arguments: argparse.Namespace) -> int:
    need("the simulator, whose scenario this is,", "sim", "numpy")
    from ndpstack.bench import degraded, environment
    from ndpstack.bench._incast import beside_incast, incast_document, incast_table
    from ndpstack.testbed import interruptible, why_unavailable

    reason = why_unavailable()
    if reason:
        raise UserError(reason)
    facts = {**environment("netns"), "link": "hosts around one switch, 100 Mbit/s each"}
    remarks = degraded("netns")
    if not arguments.json:
        _print_conditions(facts, remarks)
    line = Line()
    try:
        with interruptible():
            waits = beside_incast(arguments.rounds, line.show)
    finally:
        line.close()
    if arguments.json:
        _print_json(facts, remarks, incast_document(waits))
    else:
        print(f"{INCAST_SUMMARY}; {arguments.rounds} rounds")
        print(incast_table(waits))
    if arguments.plot:
        from ndpstack.bench._plot import INCAST_AXIS, incast_bars

        _plot(arguments.plot, INCAST_SUMMARY, INCAST_AXIS, incast_bars(waits))
    return Exit.FAILED if any(each.unanswered for each in waits) else Exit.OK
