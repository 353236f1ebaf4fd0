"""The compiled core is there, typed, and its documentation travels with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ndpstack import _core

ROOT = Path(__file__).parent.parent


def test_every_queue_counter_is_documented() -> None:
    table = _core.lib.nd_queue_counters_table
    texts = [
        (_core.ffi.string(table.texts[i].name), _core.ffi.string(table.texts[i].help))
        for i in range(table.count)
    ]
    assert len(texts) > 10
    assert all(help_text.endswith(b".") for _, help_text in texts)


def test_the_stub_is_in_sync_with_the_declarations() -> None:
    check = [sys.executable, str(ROOT / "bindings" / "make_stubs.py"), "--check"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_stub_knows_every_name_of_the_library() -> None:
    stub = (ROOT / "ndpstack" / "_core.pyi").read_text()
    missing = [name for name in dir(_core.lib) if f" {name}" not in stub]
    assert missing == []
