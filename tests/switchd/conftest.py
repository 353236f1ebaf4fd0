"""A daemon for each test that wants one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from running_daemon import CONFIG, RunningDaemon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[RunningDaemon]:
    """A daemon that is not started yet."""
    daemon = RunningDaemon(tmp_path)
    daemon.write(CONFIG)
    yield daemon
    daemon.stop()


@pytest.fixture
def daemon(stopped: RunningDaemon) -> RunningDaemon:
    """A daemon that runs."""
    stopped.start()
    return stopped
