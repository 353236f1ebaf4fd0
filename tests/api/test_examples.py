"""The example programs print what the how-to pages say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = {
    "echo.py": "echo.md",
    "key_value.py": "key-value.md",
    "numpy_array.py": "numpy.md",
}


def test_every_example_has_a_page() -> None:
    assert {path.name for path in EXAMPLES} == set(PAGES)


def test_no_example_hides_a_module_of_python() -> None:
    """As one would, from other programs and type checkers that are run beside it."""
    assert not {path.stem for path in EXAMPLES} & sys.stdlib_module_names


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_print_what_their_page_says(path: Path) -> None:
    """T9, T36: nothing in the how-to pages is not run."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page = (ROOT / "docs" / "how-to" / PAGES[path.name]).read_text()
    shown = re.search(r"```text\n(.*?)```", page, re.DOTALL)
    assert shown is not None
    assert done.stdout == shown[1]
    assert f"```{{literalinclude}} ../../examples/{path.name}" in page
