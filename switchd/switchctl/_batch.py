"""`switchctl batch`: the lines of a file as commands."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ndpstack._errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator


def commands_of(name: str) -> Iterator[tuple[int, list[str]]]:
    """Number and words of each line that has any.

    Raises:
        UserError: The file cannot be read, or a line is no words.
    """
    if name == "-" and sys.stdin is None:
        raise UserError("standard input is closed; give it commands, or name a file")
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{name}: cannot be read: {error}") from None
    for number, line in enumerate(text.splitlines(), 1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise UserError(f"{name}:{number}: {error}") from None
        if words:
            yield number, words
