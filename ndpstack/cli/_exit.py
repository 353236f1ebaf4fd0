"""Exit codes of every command, in one place."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """How a command ended."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNFINISHED = 3
    INTERRUPTED = 130


MEANINGS = {
    Exit.OK: "done, and nothing was found wrong",
    Exit.FAILED: "done, and something was found wrong (a failed check, a missed band)",
    Exit.USAGE: "not done: wrong arguments, scenario or environment; stderr says why",
    Exit.UNFINISHED: "the run ended with flows unfinished; they are listed",
    Exit.INTERRUPTED: "interrupted by the user",
}
