"""From files to a checked configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ndpstack.toml import Decoder, Problems, Table
from switchd.config._check import check
from switchd.config._errors import ConfigError
from switchd.config._files import Source, explain, merge, read_sources
from switchd.config._forms import FORMS
from switchd.config._schema import Config

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Loaded:
    """A configuration as it was read."""

    config: Config
    """What it says."""
    table: Table
    """As TOML, all files merged and runtime settings included."""
    sources: tuple[Source, ...]
    """Where from."""


def load(path: Path, runtime: Table | None = None) -> Loaded:
    """Reads the file at path and its conf.d.

    Args:
        path: The TOML file.
        runtime: Settings over those of the files, as a TOML table.

    Raises:
        ConfigError: With every mistake that was found.
    """
    problems = Problems()
    sources = read_sources(path, problems)
    if problems.found:
        raise ConfigError([explain(problem, sources) for problem in problems.found])
    return assemble(sources, path.parent, runtime)


def assemble(sources: Sequence[Source], base: Path, runtime: Table | None = None) -> Loaded:
    """What these files say, later ones over earlier ones.

    Args:
        sources: The files, as they were read.
        base: Where relative paths in them start.
        runtime: Settings over those of the files, as a TOML table.

    Raises:
        ConfigError: With every mistake that was found.
    """
    table: Table = {}
    for source in sources:
        table = merge(table, source.table)
    return from_table(merge(table, runtime or {}), base, sources)


def from_table(table: Table, base: Path, sources: Sequence[Source] = ()) -> Loaded:
    """Checks a table; relative paths in it start from base."""
    problems = Problems()
    config = cast("Config | None", Decoder(problems, FORMS, base.absolute()).read(Config, table))
    if config is not None:
        check(config, problems)
    if problems.found or config is None:
        raise ConfigError([explain(problem, sources) for problem in problems.found])
    return Loaded(config, table, tuple(sources))
