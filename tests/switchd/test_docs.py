"""The operating pages have every key, command, method and metric."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from alerts import ALERTS
from make_operating import SECTIONS, write_pages

from ndpstack.switch import counter_texts
from ndpstack.toml.structs import struct_fields
from switchd.config import Config
from switchd.control import METHODS, ServerCounters
from switchd.metrics import metric_names
from switchd.plan import PROFILES
from switchd.switchctl import build_parser

if TYPE_CHECKING:
    from pathlib import Path


def test_every_key_has_its_meaning(tmp_path: Path) -> None:
    write_pages(tmp_path)
    text = (tmp_path / "configuration.md").read_text()
    shown = [cls for _, cls in SECTIONS]
    for cls in shown:
        for item in dataclasses.fields(cls):
            assert item.name == "settings" or f"| `{item.name.replace('_', '-')}` |" in text
    assert all(f"| `{name}` |" in text for name in PROFILES)
    top = {item.name for item in dataclasses.fields(Config)}
    assert "| `ndp-share` | share, 2.5% to 97.5% |" in text
    assert "| `loss` | probability | `0` |" in text
    for name in struct_fields("nd_frame_config"):
        assert re.search(rf"^\| `{name.replace('_', '-')}` \| [^|]+ \| \S", text, re.M), name
    titles = [title.strip("[]").partition(".")[0] for title, _ in SECTIONS]
    assert top == set(titles)


def test_every_command_and_method_is_there(tmp_path: Path) -> None:
    write_pages(tmp_path)
    commands = (tmp_path / "commands.md").read_text()
    for action in build_parser()._actions:
        if isinstance(action.choices, dict):
            assert all(f"### switchctl {name}\n" in commands for name in action.choices)
    api = (tmp_path / "control-api.md").read_text()
    assert all(f"## {name}\n" in api for name in METHODS)


def test_every_metric_is_there_and_every_alert_has_one(tmp_path: Path) -> None:
    write_pages(tmp_path)
    text = (tmp_path / "metrics.md").read_text()
    names = set(metric_names(counter_texts(), ServerCounters()))
    assert all(f"| `{name}` |" in text for name in names)
    short = {name.removeprefix("ndpstack_").removesuffix("_total") for name in names}
    assert set(ALERTS) <= short, set(ALERTS) - short
