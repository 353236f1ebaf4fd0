"""Finds, reads and overrides scenario files."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ndpstack._errors import UserError
from ndpstack.scenario._check import check
from ndpstack.scenario._graph import load_htsim
from ndpstack.scenario._schema import (
    TOPOLOGIES,
    TRAFFIC,
    Delay,
    Htsim,
    Scenario,
    Topology,
    Traffic,
)
from ndpstack.scenario._workload import Workload, read_sizes
from ndpstack.toml import (
    Bytes,
    Decoder,
    Forms,
    Place,
    PlaceError,
    Problems,
    Table,
    override,
    suggest,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


FILE_BYTES_MAX = 4 * 2**20
"""Longer ones are none; flows by the million stand in files of their own."""


@dataclass(frozen=True)
class ScenarioFile:
    """A scenario as it was read: where from, its text, and what was set over it."""

    name: str
    """Path of the file, or name of a shipped one."""
    text: str
    """As it is in the file."""
    overrides: tuple[str, ...]
    """key=value, in the order in which they were applied."""
    scenario: Scenario
    """What it says."""


def shipped_scenarios() -> list[str]:
    """Names of the scenarios that come with ndpstack."""
    folder = resources.files("ndpstack") / "scenarios"
    return sorted(
        item.name.removesuffix(".toml") for item in folder.iterdir() if item.name.endswith(".toml")
    )


def load_scenario(name: str | Path, overrides: Iterable[str] = ()) -> ScenarioFile:
    """Reads the scenario file at that path, or the shipped one of that name.

    Args:
        name: Path of a TOML file, or a name from `shipped_scenarios`.
        overrides: "key=value" with dots between the keys of nested tables, as in
            "topology.k=8"; traffic and other lists by index, "traffic.0.size=1MB".
    """
    text, base = _read(Path(name))
    return parse_scenario(text, str(name), base, overrides)


def parse_scenario(
    text: str, name: str = "scenario", base: Path | None = None, overrides: Iterable[str] = ()
) -> ScenarioFile:
    """Reads a scenario from its text; relative paths in it start from base."""
    try:
        table: Table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{name}: not TOML: {error}") from None
    except ValueError:
        raise UserError(f"{name}: an integer in it has thousands of digits") from None
    except RecursionError:
        raise UserError(f"{name}: tables or lists are nested too deeply") from None
    applied = tuple(overrides)
    for item in applied:
        table = override(table, item)
    scenario = _with_htsim(_decode(table, name, base or Path()))
    check(scenario, Place(name))
    return ScenarioFile(name, text, applied, scenario)


def _decode(table: Table, name: str, base: Path) -> Scenario:
    """The table as a scenario; refuses it with every mistake."""
    forms = Forms(
        parsers={Workload | Bytes: partial(read_sizes, base=base)},
        variants={Topology: TOPOLOGIES, Traffic: TRAFFIC},
        shorthands={Delay: "fixed"},
    )
    problems = Problems()
    scenario = Decoder(problems, forms, base).read(Scenario, table)
    if problems.found:
        found = (PlaceError(Place(name, item.keys), item.text) for item in problems.found)
        raise UserError("\n".join(map(str, found)))
    return cast("Scenario", scenario)


def _with_htsim(scenario: Scenario) -> Scenario:
    """The scenario with what an htsim file describes, whose rates are those of the file."""
    if not isinstance(scenario.topology, Htsim):
        return scenario
    return replace(scenario, topology=load_htsim(scenario.topology.file))


def _may_be_read(path: Path) -> bool:
    """Whether it is there and no folder, as one that results of a shipped scenario are in."""
    try:
        return path.exists() and not path.is_dir()
    except OSError:  # What is read says why not.
        return True


def _read(path: Path) -> tuple[str, Path]:
    if path.suffix == ".toml" or _may_be_read(path):
        try:
            with path.open("rb") as file:
                data = file.read(FILE_BYTES_MAX + 1)
            if len(data) > FILE_BYTES_MAX:
                raise ValueError(f"it is longer than {FILE_BYTES_MAX} bytes")
            return data.decode(), path.parent
        except (OSError, ValueError) as error:
            raise UserError(f"{path}: cannot read this scenario: {error}") from None
    known = shipped_scenarios()
    if str(path) not in known:
        raise UserError(
            f"{path}: neither a file nor a shipped scenario; "
            f"{suggest(str(path), known, 'shipped are')}"
        )
    item = resources.files("ndpstack") / "scenarios" / f"{path}.toml"
    return item.read_text(), Path()
