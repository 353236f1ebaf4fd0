"""The example programs over back ends of a test's choice."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = {
    "echo.py": "echo.md",
    "key_value.py": "key-value.md",
    "numpy_array.py": "numpy.md",
}
PROTOCOLS = {"echo.py": "homa", "key_value.py": "homa", "numpy_array.py": "ndp"}

RUN = """
import contextlib, json, runpy, sys
import ndpstack

first, second = (ndpstack.StackConfig(**config) for config in json.loads(sys.argv[2]))

@contextlib.contextmanager
def pair():
    with ndpstack.Stack(first) as here, ndpstack.Stack(second) as there:
        yield here, there

ndpstack.memory_pair = pair
runpy.run_path(sys.argv[1], run_name="__main__")
"""
"""Runs an example whose pair of stacks is another one than it says."""


def shown(path: Path) -> str:
    """What an example's page says that it prints."""
    page = (ROOT / "docs" / "how-to" / PAGES[path.name]).read_text()
    found = re.search(r"```text\n(.*?)```", page, re.DOTALL)
    assert found is not None
    assert f"```{{literalinclude}} ../../examples/{path.name}" in page
    return found[1]


def printed(path: Path, configs: Sequence[Mapping[str, object]] = ()) -> str:
    """What an example prints, as it is or with stacks of these configs."""
    words = ["-c", RUN, str(path), json.dumps(configs)] if configs else [str(path)]
    done = subprocess.run(
        [sys.executable, "-W", "error", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
