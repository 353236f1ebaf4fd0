"""Finds, reads and overrides scenario files."""

from __future__ import annotations

import copy
import tomllib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ndpstack._errors import UserError
from ndpstack.scenario._check import check
from ndpstack.scenario._decode import Place, decode, suggest
from ndpstack.scenario._schema import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable

Table = dict[str, object]


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
    applied = tuple(overrides)
    for item in applied:
        table = override(table, item)
    place = Place(name, base=base or Path())
    scenario = cast("Scenario", decode(Scenario, table, place))
    check(scenario, place)
    return ScenarioFile(name, text, applied, scenario)


def _read(path: Path) -> tuple[str, Path]:
    if path.suffix == ".toml" or path.exists():
        try:
            return path.read_text(), path.parent
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{path}: cannot read this scenario: {error}") from None
    known = shipped_scenarios()
    if str(path) not in known:
        raise UserError(
            f"{path}: neither a file nor a shipped scenario; "
            f"{suggest(str(path), known, 'shipped are')}"
        )
    item = resources.files("ndpstack") / "scenarios" / f"{path}.toml"
    return item.read_text(), Path()


def split_override(item: str) -> tuple[list[str], str]:
    """Keys and text of "a.b.0.c=value"."""
    key, equals, value = item.partition("=")
    keys = [part.strip() for part in key.split(".")]
    if not equals or not all(keys):
        raise UserError(f"--set {item}: write it like topology.k=8")
    return keys, value.strip()


def override(table: Table, item: str) -> Table:
    """A copy of the table with one value set; tables on the way are made when missing."""
    keys, text = split_override(item)
    result = copy.deepcopy(table)
    node: object = result
    for key in keys[:-1]:
        node = _step(node, key, item)
    _store(node, keys[-1], _value(text), item)
    return result


def _value(text: str) -> object:
    """The TOML value of that text; a text that is none stands for itself."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _step(node: object, key: str, item: str) -> object:
    if isinstance(node, list):
        return node[_index(node, key, item)]
    if not isinstance(node, dict):
        raise UserError(f"--set {item}: {key!r} lies below a value, not a table")
    return node.setdefault(_same_key(node, key), {})


def _store(node: object, key: str, value: object, item: str) -> None:
    if isinstance(node, list):
        node[_index(node, key, item)] = value
    elif isinstance(node, dict):
        node[_same_key(node, key)] = value
    else:
        raise UserError(f"--set {item}: {key!r} lies below a value, not a table")


def _same_key(node: dict[str, object], key: str) -> str:
    """The key as the file writes it: dashes and underscores are one."""
    return next((known for known in node if known.replace("-", "_") == key.replace("-", "_")), key)


def _index(node: list[object], key: str, item: str) -> int:
    if not key.isdecimal() or int(key) >= len(node):
        raise UserError(
            f"--set {item}: {key!r} is no index; there are {len(node)} entries, counted from 0"
        )
    return int(key)
