"""What the guard of labs removes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from ndpstack.testbed import _guard
from ndpstack.testbed._state import State

if TYPE_CHECKING:
    import pytest


def test_labs_of_others_are_left_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those whose owner died as well are for `lab down` and the doctor."""
    mine, others = 2**22 + 1, 2**22 + 2  # More than pids go: dead ones.
    known = {
        "mine": State("mine", mine, 1, [], ""),
        "others": State("others", others, 1, [], ""),
    }
    monkeypatch.setattr(_guard, "labs", lambda: dict(known))
    monkeypatch.setattr(_guard, "remove", known.pop)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    _guard.watch(mine)
    assert list(known) == ["others"]
