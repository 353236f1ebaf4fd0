"""Logs of services: to stderr, as journald likes them, with levels that may change later."""

from __future__ import annotations

import json
import logging
import os
import select
import sys
import time
from collections import OrderedDict
from typing import Final, Literal, TextIO, get_args

Level = Literal["debug", "info", "notice", "warning", "error"]
"""The least that is logged, as configurations and command lines say it."""

LEVELS: Final[tuple[str, ...]] = get_args(Level)

NOTICE = 25
"""Between info and warning: configuration was applied."""

_PRIORITIES = {
    logging.CRITICAL: 2,
    logging.ERROR: 3,
    logging.WARNING: 4,
    NOTICE: 5,
    logging.INFO: 6,
    logging.DEBUG: 7,
}

BURST = 20
"""Lines of one message in a period; the others are counted."""
PERIOD_SECONDS = 5.0
MESSAGES_MAX = 1000
"""Messages that are known apart; the one that came longest ago is forgotten first."""


class TextFormatter(logging.Formatter):
    """One line; with systemd's priority in front when it goes to the journal."""

    def __init__(self, *, journal: bool) -> None:
        super().__init__("%(message)s" if journal else "%(asctime)s %(levelname)s %(message)s")
        self._journal = journal

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        text = f"{record.name}: {super().format(record)}".replace("\n", " | ")
        if not self._journal:
            return text
        return f"<{_PRIORITIES.get(record.levelno, 6)}>{text}"


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        entry = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry)


class NeverWaiting(logging.StreamHandler[TextIO]):
    """Writes a line where that can be done at once, and else counts it as lost.

    A service whose stderr nobody reads would wait for ever with its first full pipe. (What a pipe
    promises, it promises for a page: of a longer line the rest may wait.)
    """

    lost = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Writes the record, or counts it."""
        if not self._takes_a_line():
            self.lost += 1
            return
        if self.lost:
            record.msg = f"{record.getMessage()} (after {self.lost} lines that had no room)"
            record.args, self.lost = (), 0
        super().emit(record)

    def _takes_a_line(self) -> bool:
        try:
            descriptor = self.stream.fileno()
        except (OSError, ValueError):  # It is no file: it has room.
            return True
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT)
        return bool(poll.poll(0))


class RateLimit(logging.Filter):
    """Lets a message through a few times in a while; then says how often it was held back."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged."""
        key = (record.name, str(record.msg))
        began, count = self._seen.pop(key, (record.created, 0))
        if record.created - began > PERIOD_SECONDS:
            if count > BURST:
                record.msg = f"{record.getMessage()} (and {count - BURST} more like it)"
                record.args = ()
            began, count = record.created, 0
        self._seen[key] = (began, count + 1)
        if len(self._seen) > MESSAGES_MAX:
            self._seen.popitem(last=False)
        return count < BURST


def configure(name: str, level: str, *, as_json: bool) -> None:
    """Sets level and form of the logger of this name and of those below it."""
    logging.addLevelName(NOTICE, "NOTICE")
    root = logging.getLogger(name)
    root.setLevel(level.upper())
    root.propagate = False
    handler = NeverWaiting(sys.stderr)
    journal = "JOURNAL_STREAM" in os.environ
    handler.setFormatter(JsonFormatter() if as_json else TextFormatter(journal=journal))
    handler.addFilter(RateLimit())
    root.handlers[:] = [handler]
