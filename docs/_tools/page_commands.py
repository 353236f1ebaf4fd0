"""The commands of README.md and docs/, as their pages have them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md"] + [
    path for path in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in path.parts
]
GENERATED = ("docs/operating/commands.md", "docs/reference/commands.md")

OURS = ("ndpstack", "switchd", "switchctl", "make")
"""Programs whose commands a test parses."""

OTHERS = (
    "cc",
    "dask",
    "grep",
    "meson",
    "mkdir",
    "ninja",
    "pip",
    "python",
    "tcpdump",
    "timeout",
    "tshark",
    "valgrind",
)
"""Programs that pages use beside ours; those that a build makes go by their folder."""


@dataclass(frozen=True)
class Command:
    """A command as a page has it."""

    page: str
    text: str

    @property
    def words(self) -> list[str]:
        """Its words, up to a pipe or another file."""
        words = shlex.split(self.text, comments=True)
        ends = [index for index, word in enumerate(words) if word in ("|", ">", ">>", "&&", "&")]
        return words[: min(ends, default=len(words))]

    @property
    def plain(self) -> str:
        """Its words without quotes and comments."""
        return " ".join(self.words)

    @property
    def is_ours(self) -> bool:
        """Whether its program belongs to this tree."""
        return self.text.split(" ", 1)[0] in OURS


def shell_lines(text: str) -> Iterator[str]:
    """Lines of a page's blocks, fenced or indented, in the page's order."""
    blocks = r"^```(?P<kind>.*)\n(?P<fenced>(?:.*\n)*?)^```$|(?P<indented>(?:^    \S.*\n)+)"
    for found in re.finditer(blocks, text, re.MULTILINE):
        if found["indented"]:
            yield from found["indented"].splitlines()
        elif found["kind"] in ("", "sh", "console"):
            yield from found["fenced"].splitlines()


def commands() -> list[Command]:
    """All of them, page by page."""
    found = []
    for path in PAGES:
        page = path.relative_to(ROOT).as_posix()
        if page in GENERATED:
            continue
        for line in shell_lines(path.read_text().replace("\\\n", "")):
            text = line.strip().removeprefix("$ ")
            program = text.split(" ", 1)[0]
            if program in (*OURS, *OTHERS) or re.match(r"build-\w+/", program):
                found.append(Command(page, text))
    return found


def files(page: Path) -> dict[str, Path]:
    """Files that a page shows whole, by the names that its commands call them."""
    shown = re.findall(r"^```\{literalinclude\} (\S+)$", page.read_text(), re.MULTILINE)
    return {Path(name).name: (page.parent / name).resolve() for name in shown}
