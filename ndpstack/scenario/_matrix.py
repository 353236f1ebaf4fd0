"""Connection matrices (.cm): who sends to whom, when, and what that sets off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ndpstack._errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

NO_TRIGGER = -1

NUMBER_MAX = 10**18
"""Picoseconds and bytes alike."""

_LIMITS = {"prio": 7, "count": 2**32 - 1}
"""Keys whose numbers are smaller."""


@dataclass(frozen=True)
class Connection:
    """One line of a matrix."""

    source: int
    target: int
    size: int
    start_ps: int
    """Absolute, or counted from the trigger."""
    starts_on: int
    """Index of the trigger that starts it, or NO_TRIGGER."""
    on_sent: int
    on_received: int
    priority: int


@dataclass(frozen=True)
class ConnectionMatrix:
    """A whole file."""

    nodes: int
    connections: tuple[Connection, ...]
    triggers: tuple[int, ...]
    """For each trigger how many releases it needs."""


def load_matrix(path: Path) -> ConnectionMatrix:
    """Reads a connection matrix.

    Lines are `source->target [id N] [start PS] size BYTES [trigger N] [send_done_trigger N]
    [recv_done_trigger N] [prio N]` and `trigger id N oneshot | barrier count N`.
    """
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot read this matrix: {error}") from None
    reader = _Reader(path)
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split("#")[0].split()
        if words:
            reader.line(words, f"{path}:{number}")
    return reader.finish()


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.counts: dict[str, int] = {}
        self.lines: list[tuple[int, int, dict[str, int], str]] = []
        self.needs: dict[int, int] = {}

    def line(self, words: list[str], where: str) -> None:
        head = words[0].lower()
        if head in ("nodes", "connections", "triggers") and len(words) == 2:
            self.counts[head] = _number(words[1], where)
        elif head == "trigger":
            self._trigger(words, where)
        elif "->" in head:
            source, _, target = head.partition("->")
            pairs = _pairs(words[1:], where)
            self.lines.append((_number(source, where), _number(target, where), pairs, where))
        else:
            raise UserError(f"{where}: {' '.join(words)!r} is no line of a connection matrix")

    def _trigger(self, words: list[str], where: str) -> None:
        kinds = {"oneshot", "barrier"}
        kind = next((word for word in words[1:] if word in kinds), "oneshot")
        rest = [word for word in words[1:] if word not in kinds]
        pairs = _pairs(rest, where)
        if "id" not in pairs:
            raise UserError(f"{where}: a trigger needs `id N`")
        if pairs.get("count") == 0:
            raise UserError(f"{where}: a barrier of count 0 never opens; it must be 1 or more")
        self.needs[pairs["id"]] = pairs.get("count", 1) if kind == "barrier" else 1

    def finish(self) -> ConnectionMatrix:
        for count, have in (("connections", len(self.lines)), ("triggers", len(self.needs))):
            if self.counts.get(count, have) != have:
                raise UserError(
                    f"{self.path}: it announces {self.counts[count]} {count} and has {have}"
                )
        order = {trigger: i for i, trigger in enumerate(sorted(self.needs))}
        connections = tuple(self._connection(*line, order) for line in self.lines)
        nodes = self.counts.get("nodes", 0)
        return ConnectionMatrix(
            nodes, connections, tuple(self.needs[trigger] for trigger in sorted(self.needs))
        )

    def _connection(
        self, source: int, target: int, pairs: dict[str, int], where: str, order: dict[int, int]
    ) -> Connection:
        nodes = self.counts.get("nodes", 0)
        if max(source, target) >= nodes or source == target:
            raise UserError(
                f"{where}: {source}->{target} does not lie within {nodes} nodes, or sends to itself"
            )
        if "size" not in pairs:
            raise UserError(f"{where}: `size BYTES` is missing")

        def trigger(key: str) -> int:
            if key not in pairs:
                return NO_TRIGGER
            if pairs[key] not in order:
                raise UserError(f"{where}: trigger {pairs[key]} is not declared")
            return order[pairs[key]]

        return Connection(
            source,
            target,
            pairs["size"],
            pairs.get("start", 0),
            trigger("trigger"),
            trigger("send_done_trigger"),
            trigger("recv_done_trigger"),
            pairs.get("prio", 0),
        )


_KEYS = {
    "id",
    "start",
    "size",
    "trigger",
    "send_done_trigger",
    "recv_done_trigger",
    "prio",
    "count",
}


def _pairs(words: list[str], where: str) -> dict[str, int]:
    if len(words) % 2 or not _KEYS.issuperset(words[::2]):
        raise UserError(
            f"{where}: {' '.join(words)!r} is not a list of `key number`; keys are "
            f"{', '.join(sorted(_KEYS))}"
        )
    pairs = {key: _number(word, where) for key, word in zip(words[::2], words[1::2], strict=True)}
    for key, most in _LIMITS.items():
        if pairs.get(key, 0) > most:
            raise UserError(f"{where}: {key} {pairs[key]} does not lie within 0 to {most}")
    return pairs


def _number(word: str, where: str) -> int:
    try:
        number = int(float(word)) if "e" in word.lower() else int(word)
    except (ValueError, OverflowError):
        raise UserError(f"{where}: {word!r} is not a whole number") from None
    if not 0 <= number <= NUMBER_MAX:
        raise UserError(f"{where}: {word} does not lie within 0 to {NUMBER_MAX}")
    return number
