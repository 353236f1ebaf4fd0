"""`switchctl events`: what happens, as it happens."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from ndpstack.control import Client

POLL_SECONDS = 0.2


def follow(client: Client, arguments: argparse.Namespace) -> None:
    """Prints what happened, then what happens, until it is interrupted or the time is over."""
    deadline = time.monotonic() + arguments.seconds if arguments.seconds is not None else None
    for row in cast("list[Mapping[str, object]]", client.call("events")):
        _print(row, arguments.output)
    while deadline is None or time.monotonic() < deadline:
        for message in client.notifications(POLL_SECONDS):
            if message.method == "event":
                _print(message.params, arguments.output)


def _print(row: Mapping[str, object], form: str) -> None:
    """One line each; for programs a JSON document a line."""
    if form == "json":
        print(json.dumps(dict(row)))
    elif form == "keyvalue":
        print(" ".join(f"{key}={json.dumps(value)}" for key, value in row.items()))
    else:
        print("{time}  {kind:6}  {what}  {text}".format(**row))
    sys.stdout.flush()
