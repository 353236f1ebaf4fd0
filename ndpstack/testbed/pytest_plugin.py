"""The pytest fixture `lab`: builds testbeds for a test and always takes them down.

A conftest.py imports it: `from ndpstack.testbed.pytest_plugin import lab as lab`. Where
namespaces cannot be made the test is skipped, with the reason.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from ndpstack.testbed import Lab, Plan, why_unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

LabMaker = Callable[[Plan], Lab]
"""What the fixture is: brings a plan up, for as long as the test lasts."""


@pytest.fixture
def lab() -> Iterator[LabMaker]:
    """A function that brings a plan up and returns the lab; it ends with the test."""
    reason = why_unavailable()
    if reason:
        pytest.skip(reason)
    with contextlib.ExitStack() as stack:
        yield lambda plan: stack.enter_context(Lab(plan))
