"""One end of a turn, as a process of its own: `python -m ndpstack.bench._worker ROLE TURN`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from ndpstack.bench._kinds import KINDS
from ndpstack.bench._turn import Turn


def main(role: str, text: str) -> None:
    """Serves until it is killed, or measures and prints what it found."""
    turn = Turn.loads(text)
    contestant = KINDS[turn.kind].entry(turn.contestant).load()
    if role == "serve":
        contestant.serve(turn, lambda port: print(port, flush=True))
    else:
        say(json.dumps(asdict(contestant.measure(turn))))


def say(text: str) -> None:
    """Writes a line, all of it, to the parent.

    A signal ends a long write to a pipe before its end, and print() does not go on where Python
    runs unbuffered.
    """
    with open(sys.stdout.fileno(), "wb", closefd=False) as parent:
        parent.write(f"{text}\n".encode())


if __name__ == "__main__":
    main(*sys.argv[1:3])
