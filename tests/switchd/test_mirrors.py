"""Mirrors and captures: what they write, and where they end."""

from __future__ import annotations

import dataclasses
import errno
import io
import logging
import os
from typing import TYPE_CHECKING, cast

import pytest
from running_daemon import CONFIG

from ndpstack.control import ControlError, UnreachableError
from switchd._mirrors import READS_MAX, Mirrors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fake_dataplane import FakeTap
    from running_daemon import RunningDaemon

    from ndpstack.control import Client

FILE = "m.pcapng"
MIRROR = "switch.tor0.mirror.m"


class Full(io.FileIO):
    """A file on a disk that has room for so many bytes more."""

    room = 100

    def write(self, data: object) -> int:
        view = memoryview(cast("bytes", data))
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        count = min(self.room, len(view))
        self.room -= count
        return super().write(view[:count])


def mirror(client: Client, **keys: str) -> dict[str, object]:
    """Mirrors h1, and says what became of that."""
    wanted = {"source": "['h1']", "file": FILE, **keys}
    client.call("set", items=[f"{MIRROR}.{key}={value}" for key, value in wanted.items()])
    return shown(client)


def shown(client: Client) -> dict[str, object]:
    (row,) = cast("list[dict[str, object]]", client.call("show.mirrors"))
    return row


def arrive(daemon: RunningDaemon, *blocks: bytes) -> FakeTap:
    """Frames for the last tap, and the daemon fetches them."""
    tap = daemon.plane.switches["tor0"].taps[-1]
    tap.blocks += blocks
    daemon.on_loop(daemon.daemon.mirrors.pump)
    return tap


def lay_pipe(path: Path) -> None:
    os.mkfifo(path)


def lay_name(path: Path) -> None:
    other = path.with_name("evidence")
    other.write_text("evidence")
    path.hardlink_to(other)


def lay_link(path: Path) -> None:
    path.with_name("evidence").write_text("evidence")
    path.symlink_to("evidence")


@pytest.mark.parametrize("lay", [lay_pipe, lay_name, lay_link])
@pytest.mark.parametrize("read", [False, True])
def test_only_a_regular_file_of_one_name_is_written(
    daemon: RunningDaemon, lay: Callable[[Path], None], read: bool
) -> None:
    """A pipe that nobody reads held up the daemon for ever; one that is read is no file, either."""
    path = daemon.folder / FILE
    lay(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if read else -1
    with daemon.client() as client:
        row = mirror(client)
        assert str(row["state"]).startswith("failed: ")
        assert row["bytes"] == 0
    if read:
        os.close(reader)
    evidence = daemon.folder / "evidence"
    assert lay is lay_pipe or evidence.read_text() == "evidence"


def test_a_file_that_is_there_is_replaced(daemon: RunningDaemon) -> None:
    (daemon.folder / FILE).write_bytes(bytes(1000))
    with daemon.client() as client:
        mirror(client)
    arrive(daemon, b"block")
    assert (daemon.folder / FILE).read_bytes() == b"<h1>block"


def test_a_mirror_goes_on_after_a_change_that_failed(daemon: RunningDaemon) -> None:
    """Its port was removed and added again, without being mirrored: the file stayed empty."""
    good = daemon.path.read_text()
    renamed = CONFIG.replace("switch.tor0.port.h1", "switch.tor0.port.h3")
    renamed = renamed.replace("tor0/h1", "tor0/h3").replace("phantom", 'device = "h1"\nphantom')
    nowhere = '[switch.tor0.port.h4]\nbackend = "packet"\n'
    daemon.plane.absent.add("h4")
    with daemon.client() as client:
        daemon.path.write_text(f"{good}[{MIRROR}]\nsource = ['h1']\nfile = '{FILE}'\n")
        client.call("reload")
        before = arrive(daemon, b"before")
        daemon.write(renamed + nowhere)
        with pytest.raises(ControlError, match="h4: no such device"):
            client.call("reload")
        after = arrive(daemon, b"after")
        assert (before.closed, after.closed) == (True, False)
        assert shown(client)["state"] == "running"
    assert (daemon.folder / FILE).read_bytes() == b"<h1>after"


def test_a_burst_fills_a_file_up_to_its_limit(daemon: RunningDaemon) -> None:
    """All of what was fetched at once was thrown away, and the file was empty."""
    with daemon.client() as client:
        mirror(client, limit="1KB")
        arrive(daemon, bytes(900), bytes(97))
        assert shown(client)["state"] == "full"
    assert (daemon.folder / FILE).read_bytes() == b"<h1>" + bytes(900)


def test_a_file_is_full_when_nothing_fits(daemon: RunningDaemon) -> None:
    with daemon.client() as client:
        mirror(client, limit="1KB")
        arrive(daemon, bytes(996))
        row = shown(client)
        assert (row["state"], row["bytes"]) == ("running", 1000)
        assert arrive(daemon, b"a").closed
        row = shown(client)
        assert (row["state"], row["bytes"]) == ("full", 1000)


def test_a_file_on_a_full_disk_ends_with_a_whole_block(
    daemon: RunningDaemon, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What was said to be in it was less than what was, and the last block had no end."""
    path = daemon.folder / FILE
    monkeypatch.setattr(Mirrors, "_open", lambda *_: Full(path, "w"))
    with daemon.client() as client:
        mirror(client)
        assert not arrive(daemon, bytes(60)).closed
        assert arrive(daemon, bytes(60)).closed
        row = shown(client)
        assert "No space left" in str(row["state"])
        assert row["bytes"] == path.stat().st_size == 64
        client.call("unset", items=[MIRROR])
    errors = [record.message for record in caplog.records if record.levelno >= logging.ERROR]
    assert errors == ["mirror m of tor0: [Errno 28] No space left on device"]


def test_a_mirror_on_a_full_disk_can_be_removed(
    daemon: RunningDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mirrors, "_open", lambda *_: io.FileIO("/dev/full", "w"))
    with daemon.client() as client:
        assert "No space left" in str(mirror(client)["state"])
        client.call("unset", items=[MIRROR])
        assert client.call("show.mirrors") == []


def test_a_capture_that_ends_was_sent_all_that_waited(
    daemon: RunningDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than is fetched at a time was lost, and not counted."""
    blocks = [bytes([number]) * 2**18 for number in range(10 * READS_MAX)]
    with daemon.client() as client:
        begun = client.call("capture.start", switch="tor0", ports=["h1"])
        number = cast("dict[str, int]", begun)["id"]
        monkeypatch.setattr(Mirrors, "pump", lambda _: None)
        tap = daemon.plane.switches["tor0"].taps[0]
        tap.blocks += blocks
        client.call("capture.stop", id=number)
        assert tap.closed
        told = [message.params["data"] for message in client.notifications(0)]
    assert told == [b"<h1>", *blocks]


def test_a_capture_ends_with_a_port_that_is_made_anew(daemon: RunningDaemon) -> None:
    """Its client would wait for frames of a port that is gone."""
    with daemon.client() as client:
        client.call("capture.start", switch="tor0", ports=["h1"])
        live = daemon.daemon.manager.live["tor0"]
        live.ports["h1"] = dataclasses.replace(live.ports["h1"])
        daemon.on_loop(daemon.daemon.mirrors.configure)
        with pytest.raises(UnreachableError):
            client.call("version")
    assert daemon.plane.switches["tor0"].taps[0].closed
