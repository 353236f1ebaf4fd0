"""A run as one JSON document: the same bytes for the same scenario and seed."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING

from ndpstack import __version__

if TYPE_CHECKING:
    from ndpstack.scenario import ScenarioFile
    from ndpstack.sim import Result, Simulation

Document = dict[str, object]


def command_line(file: ScenarioFile) -> str:
    """The command that repeats a run."""
    words = ["ndpstack", "run", file.name]
    for item in file.overrides:
        words += ["--set", item]
    return shlex.join(words)


def document(file: ScenarioFile, simulation: Simulation, result: Result) -> Document:
    """The run, its settings included; nothing that depends on the machine or the hour."""
    return {
        "ndpstack": __version__,
        "command": command_line(file),
        "scenario": file.name,
        "title": file.scenario.title,
        "set": list(file.overrides),
        "seed": file.scenario.seed,
        "on": "sim",
        "hosts": simulation.plan.network.hosts,
        "settings": simulation.plan.settings(),
        "result": asdict(result),
    }


def dumps(value: object) -> str:
    """JSON with a stable layout; what is not a number is null."""
    return json.dumps(value, indent=1, allow_nan=False)
