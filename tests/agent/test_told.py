"""What switchd tells the hosts of a run."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING

import pytest
from running_daemon import CONFIG, RunningDaemon

from ndpstack.agent._told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MORE = """
[host.h2]
port = "tor0/h2"

[[path]]
id = 3
value = 3
hosts = ["h2"]
"""

SECONDS = 20


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RunningDaemon]:
    made = RunningDaemon(tmp_path)
    made.write(CONFIG + MORE)
    made.start()
    yield made
    made.stop()


def paths(told: Told, host: int) -> list[int]:
    settings = told.settings(host)
    assert settings is not None
    return [path.id for path in settings.paths]


def test_each_host_is_told_its_own_paths_and_hears_of_changes(daemon: RunningDaemon) -> None:
    with Told(str(daemon.folder / "hosts.sock"), ["h1", "h2"]) as told:
        assert (paths(told, 0), paths(told, 1)) == ([1, 2], [1, 2, 3])
        settings = told.settings(0)
        assert settings is not None
        assert settings.link_rate_bps == 10**10
        with daemon.client() as client:
            client.call("set", items=["switch.tor0.port.h2.enabled=false"])
        changed: set[int] = set()
        while (paths(told, 0), paths(told, 1)) != ([2], [2, 3]) or changed != {0, 1}:
            assert select.select([told.descriptor], [], [], SECONDS)[0]
            changed.update(told.changes())
        daemon.stop()
        assert paths(told, 0) == [2], "hosts go on with what they know"


def test_where_nobody_tells_nothing_changes() -> None:
    with Told("", ["h1"]) as told:
        assert told.settings(0) is None
        assert told.changes() == []
