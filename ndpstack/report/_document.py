"""A run as one JSON document: the same bytes for the same scenario and seed."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING

from ndpstack import __version__

if TYPE_CHECKING:
    from ndpstack.scenario import ScenarioFile
    from ndpstack.sim import Result, Run

Document = dict[str, object]


def command_line(file: ScenarioFile, run: Run) -> str:
    """The command that repeats a run."""
    words = ["ndpstack", "run", file.name, *run.options]
    for item in file.overrides:
        words += ["--set", item]
    return shlex.join(words)


def document(file: ScenarioFile, run: Run, result: Result) -> Document:
    """The run, its settings included; of a simulation nothing depends on the machine or hour."""
    return {
        "ndpstack": __version__,
        "command": command_line(file, run),
        "scenario": file.name,
        "title": file.scenario.title,
        "set": list(file.overrides),
        "seed": file.scenario.seed,
        "on": run.world,
        "hosts": run.plan.network.hosts,
        "settings": run.plan.settings(),
        "result": asdict(result),
    }


def dumps(value: object) -> str:
    """JSON with a stable layout; ValueError where a number is infinite or none."""
    return json.dumps(value, indent=1, allow_nan=False)
