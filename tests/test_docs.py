"""The documentation's examples print what they say, and the reference is complete."""

from __future__ import annotations

import dataclasses
import doctest
import re
from pathlib import Path

import pytest
from make_reference import write_pages

from ndpstack._disciplines import Queue
from ndpstack.cli._main import COMMANDS
from ndpstack.scenario._protocols import PROTOCOLS
from ndpstack.scenario._schema import (
    TOPOLOGIES,
    TRAFFIC,
    Hosts,
    Probes,
    Scenario,
    Switch,
)
from ndpstack.toml.structs import struct_fields

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
EXAMPLES = [path for path in PAGES if ">>> " in path.read_text()]


def test_there_are_examples() -> None:
    assert DOCS / "how-to" / "simulate.md" in EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.relative_to(DOCS)))
def test_examples_print_what_they_say(path: Path) -> None:
    # A fence ends an example's output just as a blank line does.
    text = re.sub(r"^```.*$", "", path.read_text(), flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(text, {}, str(path), str(path), 0)
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_the_reference_has_every_key_with_its_meaning(tmp_path: Path) -> None:
    write_pages(tmp_path)
    text = (tmp_path / "scenario.md").read_text()
    classes = [*TOPOLOGIES.values(), *TRAFFIC.values(), Scenario, Switch, Queue, Hosts, Probes]
    for cls in classes:
        for item in dataclasses.fields(cls):
            if item.name != "settings":
                assert f"| `{item.name.replace('_', '-')}` |" in text
    for protocol in PROTOCOLS.values():
        for name in struct_fields(protocol.struct):
            assert re.search(rf"^\| `{name.replace('_', '-')}` \| [^|]+ \| \S", text, re.M), name
    assert "| `score.nack-percent` | number | outlier:" in text
    assert "| `source`, `random`, `round-robin`, `flow` |" in text
    assert not re.search(r"\| enum nd_\w+ \|", text)


def test_the_reference_has_every_command(tmp_path: Path) -> None:
    write_pages(tmp_path)
    text = (tmp_path / "commands.md").read_text()
    assert all(f"## ndpstack {name}\n" in text for name in COMMANDS)
    verbs = ["host run", "host status", "lab up", "lab exec", "bench latency", "bench incast"]
    assert all(f"### ndpstack {verb}\n" in text for verb in verbs)
    assert "--record-bytes" in text
