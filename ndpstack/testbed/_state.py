"""One file for each lab that is up: who owns it and whether it is whole.

The file is what makes a name taken, and what lets another process find a lab and end it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from ndpstack.testbed._errors import TestbedError

STATE_DIRECTORY = Path("/run/ndpstack/labs")
END_SECONDS = 10.0
"""How long an owner may take to take its lab down."""

_START_TIME_FIELD = 19
"""Of /proc/PID/stat, counted behind the command's closing parenthesis."""


def _start_time(pid: int) -> int:
    """When a process began, in ticks since boot: with the pid it names the process; 0: gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    fields = stat.rpartition(")")[2].split()
    return 0 if fields[0] == "Z" else int(fields[_START_TIME_FIELD])


@dataclass(frozen=True)
class State:
    """A lab as its file has it."""

    lab: str
    owner: int
    """Pid of the process that runs it."""
    started: int
    """Start time of that process: pids are used again."""
    nodes: list[str]
    scenario: str
    ready: bool = False
    control: str = ""
    """Path of the control socket of its switches; empty when none run."""

    @staticmethod
    def claim(lab_id: str, nodes: list[str], scenario: str) -> State:
        """Takes the name of a lab for this process.

        Raises:
            TestbedError: It is taken.
        """
        pid = os.getpid()
        state = State(lab_id, pid, _start_time(pid), nodes, scenario)
        STATE_DIRECTORY.mkdir(parents=True, exist_ok=True)
        draft = STATE_DIRECTORY / f"{lab_id}.{pid}.draft"
        try:
            # Whole or not at all: half a file would take the name, and name no owner to end.
            draft.write_text(json.dumps(dataclasses.asdict(state)))
            _path(lab_id).hardlink_to(draft)
        except FileExistsError:
            raise TestbedError(
                f"lab {lab_id} is up already; take it down: ndpstack lab down {lab_id}"
            ) from None
        finally:
            draft.unlink(missing_ok=True)
        folder_of(lab_id).mkdir(exist_ok=True)
        return state

    @staticmethod
    def forget(lab_id: str) -> None:
        """Gives the name of a lab back; its files go."""
        shutil.rmtree(folder_of(lab_id), ignore_errors=True)
        _path(lab_id).unlink(missing_ok=True)

    def set_ready(self, control: str) -> None:
        """Says that the lab is whole, and where its switches listen."""
        path = _path(self.lab)
        draft = path.with_suffix(".draft")
        ready = dataclasses.replace(self, ready=True, control=control)
        draft.write_text(json.dumps(dataclasses.asdict(ready)))
        draft.replace(path)

    @property
    def alive(self) -> bool:
        """Whether the owner still runs."""
        return _start_time(self.owner) == self.started

    def end_owner(self) -> None:
        """Asks the owner to end, and kills it when it does not."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not self.alive:
                return
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.owner, number)
            deadline = time.monotonic() + END_SECONDS
            while self.alive and time.monotonic() < deadline:
                time.sleep(0.02)


def _path(lab_id: str) -> Path:
    return STATE_DIRECTORY / f"{lab_id}.json"


def folder_of(lab_id: str) -> Path:
    """Where files of a lab are while it is up."""
    return STATE_DIRECTORY / lab_id


def sweep() -> None:
    """Removes drafts and logs of processes that died before these had the name of a lab."""
    for path in STATE_DIRECTORY.glob("*.*.*"):
        _, pid, kind = path.name.split(".", 2)
        if kind in {"draft", "log"} and pid.isdigit() and not _start_time(int(pid)):
            path.unlink(missing_ok=True)


def labs() -> dict[str, State]:
    """The labs that have a state file."""
    found: dict[str, State] = {}
    for path in sorted(STATE_DIRECTORY.glob("*.json")):
        with contextlib.suppress(OSError, ValueError, TypeError):
            state = State(**json.loads(path.read_text()))
            found[state.lab] = state
    return found
