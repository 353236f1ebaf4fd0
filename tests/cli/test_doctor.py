"""The doctor's command: text, JSON, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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


def test_a_name_that_cannot_be_spelled_is_shown_escaped() -> None:
    script = "from ndpstack.cli import main; raise SystemExit(main())"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script, "doctor", b"eth\xff"],
        env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (Exit.FAILED, "")
    assert "there is no interface eth\\udcff in" in done.stdout
