"""Reads the file and its conf.d, merges them, and finds the line that a mistake is on."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ndpstack.toml import kind_within, spelling
from switchd.config._schema import Config

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ndpstack.toml import Keys, Problem, Problems, Table

FILE_BYTES_MAX = 4 * 2**20
"""A configuration for 1024 ports with every key set takes a third of this."""

_HEADER = re.compile(r"\s*\[{1,2}\s*([^\]]+?)\s*\]{1,2}\s*(?:#.*)?")
_KEY = re.compile(r"\s*((?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*[A-Za-z0-9_\"'-]+)*)\s*=")
_PART = re.compile(r"\"([^\"]*)\"|'([^']*)'|([^.\s\"']+)")


@dataclass(frozen=True)
class Source:
    """A file, as text and as TOML."""

    path: Path
    text: str
    table: Table

    def line(self, keys: Keys) -> tuple[int, int]:
        """How many of the keys the file has, and the line of the last one."""
        best = (0, 0)
        for number, found in _keys_by_line(self.text):
            depth = _common(found, keys)
            if depth == len(found) and depth > best[0]:
                best = (depth, number)
        return best


def _keys_by_line(text: str) -> Iterator[tuple[int, Keys]]:
    """Each line that names keys, with the keys that lead there; array tables have an index."""
    header: Keys = ()
    counts: dict[Keys, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if match := _HEADER.fullmatch(line):
            header = _split(match[1])
            if line.lstrip().startswith("[["):
                counts[header] = counts.get(header, -1) + 1
            header = _indexed(header, counts)
            yield number, header
        elif match := _KEY.match(line):
            yield number, (*header, *_split(match[1]))


def _indexed(header: Keys, counts: dict[Keys, int]) -> Keys:
    """The keys with the indices of the array tables among them."""
    keys: list[str] = []
    for length, part in enumerate(header, 1):
        keys.append(part)
        if header[:length] in counts:
            keys.append(str(counts[header[:length]]))
    return tuple(keys)


def _split(text: str) -> Keys:
    return tuple(
        next(part for part in match if part) for match in _PART.findall(text) if any(match)
    )


def _common(a: Keys, b: Keys) -> int:
    return next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


def read_sources(path: Path, problems: Problems) -> list[Source]:
    """The file and, in the order of their names, those of the conf.d folder beside it."""
    paths = [path, *sorted((path.parent / "conf.d").glob("*.toml"))]
    return [source for path in paths if (source := _read(path, problems)) is not None]


def _read(path: Path, problems: Problems) -> Source | None:
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
        if len(data) > FILE_BYTES_MAX:
            raise ValueError(f"the file is longer than {FILE_BYTES_MAX} bytes")
        text = data.decode()
        return Source(path, text, tomllib.loads(text))
    except (OSError, ValueError, RecursionError) as error:
        what = "is nested too deeply" if isinstance(error, RecursionError) else error
        problems.add((), f"{path}: {what}")
        return None


def merge(base: Table, over: Table, kind: object = Config) -> Table:
    """Both tables as one: tables are merged, lists follow one another, other values replace.

    Args:
        base: A table.
        over: The table that goes over it.
        kind: What they are: keys of a dataclass may have dashes in one and underscores in the
            other, names are names. The result has the spelling that came last.
    """
    result = dict(base)
    for key, value in over.items():
        known = result.get(key)
        same = spelling(result, key, kind)
        if same != key and same not in over:
            known = result.pop(same)
        if isinstance(known, dict) and isinstance(value, dict):
            result[key] = merge(known, value, kind_within(kind, key))
        elif isinstance(known, list) and isinstance(value, list) and _tables(known + value):
            result[key] = known + value
        else:
            result[key] = value
    return result


def _tables(items: list[object]) -> bool:
    return all(isinstance(item, dict) for item in items)


def explain(problem: Problem, sources: Sequence[Source]) -> str:
    """A mistake as a line: file, line, keys, what is wrong."""
    if not problem.keys:
        return problem.text
    where = ".".join(problem.keys)
    best, place = 0, ""
    for source in sources:
        depth, number = source.line(problem.keys)
        if depth >= best and depth > 0:
            best, place = depth, f"{source.path}:{number}: "
    return f"{place}{where}: {problem.text}"
