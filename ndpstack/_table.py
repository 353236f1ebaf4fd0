"""Plain-text tables: aligned columns, the unit in the header."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Cell = str | int | float | None


class Column(NamedTuple):
    """A column: what is in it, in which unit, with how many digits after the point."""

    name: str
    unit: str = ""
    digits: int = 2

    @property
    def header(self) -> str:
        """Name and unit."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name


def cell_text(cell: Cell, column: Column) -> str:
    """The cell as it is printed."""
    match cell:
        case None:
            return "-"
        case float():
            return f"{cell:,.{column.digits}f}"
        case int():
            return f"{cell:,}"
    return cell


def render(columns: Sequence[Column], rows: Iterable[Sequence[Cell]], title: str = "") -> str:
    """The table as text: numbers to the right, words to the left, no trailing blanks."""
    cells = list(rows)
    texts = [
        [cell_text(cell, column) for cell, column in zip(row, columns, strict=True)]
        for row in cells
    ]
    headers = [column.header for column in columns]
    widths = [max(map(len, parts)) for parts in zip(headers, *texts, strict=True)]
    left = [all(isinstance(row[i], str) for row in cells) for i in range(len(columns))]

    def line(parts: Sequence[str]) -> str:
        padded = (
            part.ljust(width) if word else part.rjust(width)
            for part, width, word in zip(parts, widths, left, strict=True)
        )
        return "  ".join(padded).rstrip()

    lines = [title] if title else []
    lines += [line(headers), line(["-" * width for width in widths]), *map(line, texts)]
    return "\n".join(lines)
