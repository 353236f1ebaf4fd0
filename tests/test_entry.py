"""Console scripts that are interrupted before they have begun."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

INTERRUPT = """
import sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "argparse":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
"""
"""As if Ctrl-C came while the command imports what it needs first."""

STARTS = [
    *([str(Path(sys.executable).with_name(name))] for name in ("ndpstack", "switchctl", "switchd")),
    [sys.executable, "-m", "switchd"],
]


@pytest.mark.parametrize("start", STARTS, ids=lambda words: Path(words[-1]).name)
def test_an_interrupt_during_imports_ends_it_quietly(start: list[str], tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPT)
    done = subprocess.run(
        [*start, "--version"],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
