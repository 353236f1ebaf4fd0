"""The doctor's command: text, JSON, exit codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ndpstack.cli._exit import Exit
from ndpstack.cli._main import main

if TYPE_CHECKING:
    import pytest


def test_missing_interface_fails_and_names_the_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "no-such-if"]) == Exit.FAILED
    shown = capsys.readouterr().out
    assert "fail  interface: there is no interface no-such-if" in shown
    assert "-> ip -br link" in shown


def test_json_has_the_same_findings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json", "no-such-if"]) == Exit.FAILED
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 1
    checks = [finding["check"] for finding in document["findings"]]
    assert checks[0] == "kernel"
    assert checks[-1] == "interface"
