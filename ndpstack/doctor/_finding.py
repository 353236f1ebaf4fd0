"""What the doctor found: one line each, with the command that mends it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Status(StrEnum):
    """How a check came out; the doctor's exit status is 1 when any is `FAIL`."""

    OK = "ok"
    NOTE = "note"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Finding:
    """The outcome of one check."""

    check: str
    """Short stable name, for machines."""

    status: Status

    text: str
    """What was found, with value and limit."""

    remedy: str | None = None
    """The command or setting that mends it, or None when nothing needs mending."""

    repair: Callable[[], None] | None = None
    """What `--fix` runs; None when only a person can mend it. Raises what its calls raise."""

    interface: str | None = None
    """The interface that was looked at; None when it is about the machine."""

    @property
    def label(self) -> str:
        """The check, and what it looked at."""
        return f"{self.interface} {self.check}" if self.interface else self.check

    def as_lines(self) -> list[str]:
        """The finding for people."""
        lines = [f"{self.status.value:>4}  {self.label}: {self.text}"]
        return [*lines, f"      -> {self.remedy}"] if self.remedy else lines

    def as_dict(self) -> dict[str, str | bool | None]:
        """The finding for `--json`."""
        return {
            "check": self.check,
            "interface": self.interface,
            "status": self.status.value,
            "text": self.text,
            "remedy": self.remedy,
            "fixable": self.repair is not None,
        }
