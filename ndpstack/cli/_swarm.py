"""`ndpstack swarm`: seeds of hosts, faults and workload against the engines."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from ndpstack._errors import UserError
from ndpstack._swarm import Outcome, Plan, Protocol, default_jobs, fresh_seed, options_help, run
from ndpstack._units import parse_whole
from ndpstack.cli._exit import Exit

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

SEEDS_DEFAULT = 1000

SEED_MAX: Final = (1 << 64) - 1

SETTING_MAX: Final = (1 << 32) - 1

MINUTES_MAX: Final = 1_000_000
"""Two years."""


def _options_text() -> str:
    lines = [f"  {name:<20} {text}" for name, text in options_help().items()]
    return "options for --set:\n" + "\n".join(lines)


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.epilog = f"{_options_text()}\n\n{parser.epilog}"
    parser.add_argument("--seed", type=int, help="first seed, default: one that was never used")
    parser.add_argument(
        "--seeds",
        type=int,
        help=f"how many, default: 1 with --seed, else {SEEDS_DEFAULT}, or what --minutes allow",
    )
    parser.add_argument("--minutes", type=float, help="stop after so many minutes")
    parser.add_argument(
        "--protocol",
        choices=[member.lower() for member in Protocol.__members__],
        default="both",
        help="engines of every host (default: %(default)s)",
    )
    parser.add_argument(
        "--jobs", type=int, default=default_jobs(), help="processes (default: one a processor)"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="give an option instead of drawing it; may be repeated",
    )
    parser.add_argument("--calm", action="store_true", help="draw nothing: options are calm or set")
    parser.add_argument(
        "--shrink", action="store_true", help="make a failing run as calm as it can"
    )
    parser.add_argument("--verbose", action="store_true", help="print every event as it happens")


def _settings(words: Sequence[str]) -> dict[str, int]:
    settings: dict[str, int] = {}
    for word in words:
        name, _, text = word.partition("=")
        value = parse_whole(text, SETTING_MAX)
        if value is None:
            raise UserError(f"--set {word}: write NAME=VALUE with a value of 0 to {SETTING_MAX}")
        settings[name] = value
    return settings


def _plan(arguments: argparse.Namespace) -> Plan:
    seeds: int | None = arguments.seeds
    if seeds is None and arguments.minutes is None:
        seeds = SEEDS_DEFAULT if arguments.seed is None else 1
    if arguments.jobs < 1 or (seeds is not None and seeds < 1):
        raise UserError("--jobs and --seeds have to be 1 or more")
    if arguments.verbose and arguments.json:
        raise UserError("--verbose prints every event as text; leave it out, or --json")
    if arguments.minutes is not None and not 0 < arguments.minutes <= MINUTES_MAX:
        raise UserError(f"--minutes has to be above 0, up to {MINUTES_MAX:,}")
    first = fresh_seed() if arguments.seed is None else arguments.seed
    if not 0 <= first <= first + (seeds or 1) - 1 <= SEED_MAX:
        raise UserError(f"--seed: all seeds have to be within 0 to {SEED_MAX}")
    return Plan(
        protocol=Protocol[arguments.protocol.upper()],
        first_seed=first,
        seeds=seeds,
        minutes=arguments.minutes,
        jobs=arguments.jobs if seeds is None else min(arguments.jobs, seeds),
        settings=_settings(arguments.set),
        calm=arguments.calm,
        shrink=arguments.shrink,
        verbose=arguments.verbose,
    )


def _print_json(plan: Plan, outcome: Outcome) -> None:
    document = {
        "schema_version": 1,
        "protocol": (plan.protocol.name or "").lower(),
        "first_seed": plan.first_seed,
        "seeds": outcome.seeds,
        "wall_s": outcome.wall_s,
        "counts": outcome.counts,
        "failure": asdict(outcome.failure) if outcome.failure else None,
    }
    print(json.dumps(document))


def _print_text(plan: Plan, outcome: Outcome) -> None:
    rate = outcome.seeds * 60 / outcome.wall_s if outcome.wall_s else 0
    done = ", ".join(f"{count:,} {name}" for name, count in outcome.counts.items())
    print(f"{outcome.seeds:,} seeds from {plan.first_seed}, {rate:,.0f} a minute: {done}")
    failure = outcome.failure
    if failure is None:
        return
    print(failure.details, file=sys.stderr)
    print(f"seed {failure.seed} failed: {failure.text}", file=sys.stderr)
    print(f"repeat it: {failure.command}", file=sys.stderr)


def execute(arguments: argparse.Namespace) -> int:
    """Runs the seeds; the first failure ends it."""
    plan = _plan(arguments)
    outcome = run(plan)
    if arguments.json:
        _print_json(plan, outcome)
    else:
        _print_text(plan, outcome)
    return Exit.FAILED if outcome.failure else Exit.OK
