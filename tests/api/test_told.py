"""What a host service takes from switchd: its link's rate at the start, paths as they change."""

from __future__ import annotations

import logging
import select
from typing import TYPE_CHECKING

import pytest
from memory_host import MemoryHost, fresh_opening
from running_daemon import CONFIG, RunningDaemon

import ndpstack
from ndpstack.decode import decode_frame
from ndpstack.host._told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PEER = "10.0.0.2"
SECONDS = 20
PACKETS = 8
"""Of a connection that are looked at: both of two paths are among them."""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RunningDaemon]:
    made = RunningDaemon(tmp_path)
    made.write(CONFIG)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def heard(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What the host service logs; daemons keep it from the root logger."""
    logger = logging.getLogger("ndpstack.host")
    logger.addHandler(caplog.handler)
    yield caplog
    logger.removeHandler(caplog.handler)


def paths_taken(stack: ndpstack.Stack, wire: MemoryHost) -> set[object]:
    """Paths of a connection's first packets."""
    wire.drain(0)
    with ndpstack.NdpSocket(stack) as sock:
        sock.connect((PEER, 4000))
        sock.send(bytes(50_000))
        found = [decode_frame(wire.wait()) for _ in range(PACKETS)]
    return {packet.fields["path"] for packet in found if packet and packet.protocol == "ndp"}


def test_rate_and_paths_come_from_switchd(
    daemon: RunningDaemon, heard: pytest.LogCaptureFixture
) -> None:
    opening = fresh_opening()
    config = ndpstack.StackConfig(
        name=opening.device, backend="memory", address="10.0.0.1", listen=True
    )
    with (
        Told(str(daemon.folder / "hosts.sock"), "", ["10.0.0.1"]) as told,
        ndpstack.Stack(config) as stack,
    ):
        wire = MemoryHost(opening)
        assert told.link_rate_bps() == 10**10
        stack.peer(PEER)
        told.apply(stack)
        assert paths_taken(stack, wire) == {1, 2}
        items = ["switch.tor0.port.h2.enabled=false", "switch.tor0.port.h1.rate=1Gbit"]
        with daemon.client() as client:
            client.call("set", items=items)
        while told.describe() != {"connected": True, "link_rate_bps": 10**9, "paths": [2]}:
            assert select.select([told], [], [], SECONDS)[0]
            told.apply(stack)
        told.apply(stack)
        assert paths_taken(stack, wire) == {2}
        assert "1000000000 bit/s of our link now: restart" in heard.text
        wire.close()


def test_without_switchd_a_host_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heard: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("ndpstack.host._told.FIRST_SECONDS", 0.05)
    with Told(str(tmp_path / "nobody"), "h1", []) as told:
        assert told.link_rate_bps() == 0
        assert told.describe() == {"connected": False, "link_rate_bps": 0, "paths": []}
    assert "starting without" in heard.text
