"""Recordings of stacks and what `ndpstack replay` makes of them."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from served import PORT, served

import ndpstack
from ndpstack import host
from ndpstack.cli._main import main
from ndpstack.decode import decode_frame, read_capture

if TYPE_CHECKING:
    from pathlib import Path

HEADER_BYTES = 48
RECORD = struct.Struct("<IBBHIIQ")
SENT = 12
SIZES = (1, 100, 1400, 100_000)
FULL_PACKET_BYTES = 1424
DATA_PACKETS = sum(-(-size // FULL_PACKET_BYTES) for size in SIZES)
"""Each way; grants and acknowledgements come on top."""


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """What the client of some RPCs and messages recorded."""
    path = tmp_path / "client.rec"
    name = f"replay-{tmp_path.name}"
    with (
        ndpstack.Stack(
            ndpstack.StackConfig(name=name, backend="memory", address="10.0.0.1", listen=True)
        ) as server,
        ndpstack.Stack(
            ndpstack.StackConfig(
                name=name,
                backend="memory",
                address="10.0.0.2",
                record=str(path),
                record_bytes=8 << 20,
            )
        ) as stack,
        served(server),
        ndpstack.HomaSocket(stack) as client,
    ):
        for size in SIZES:
            assert len(client.request((server.address, PORT), bytes(size), timeout=30)) == size
    return path


def change_a_sent_packet(path: Path, number: int, offset: int) -> None:
    """Flips a bit in the head of a recorded packet, and makes its record whole again.

    Args:
        path: The recording.
        number: Of the packet, from 1.
        offset: Of the byte; those before 0 are its length and check.
    """
    data = bytearray(path.read_bytes())
    at = HEADER_BYTES
    while True:
        size, kind, index, detail, _, spare, now = RECORD.unpack_from(data, at)
        if kind == SENT:
            number -= 1
        if number == 0:
            break
        at += (RECORD.size + size + 7) & ~7
    body = at + RECORD.size
    data[body + 8 + offset] ^= 1
    head = RECORD.pack(size, kind, index, detail, 0, spare, now)
    check = crc32c(head + data[body : body + size])
    RECORD.pack_into(data, at, size, kind, index, detail, check, spare, now)
    path.write_bytes(data)


def test_a_replay_sends_the_same_packets(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """E-X01."""
    result = host.replay(str(recording))
    assert result.difference is None
    assert result.end == "in order"
    assert result.sent > DATA_PACKETS
    assert result.received > DATA_PACKETS
    assert result.commands >= 4
    assert main(["replay", str(recording)]) == 0
    assert capsys.readouterr().out.startswith(f"identical: {result.sent} packets (after ")
    assert main(["replay", "--json", str(recording)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["identical"]
    assert document["sent"] == result.sent


def test_the_first_difference_is_shown_decoded(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Changed is the second byte of Homa's header: the source port."""
    change_a_sent_packet(recording, 3, 14 + 20 + 1)
    result = host.replay(str(recording))
    assert result.difference is not None
    assert result.difference.kind == "differs"
    assert result.difference.number == 3
    fields = list(result.difference.fields())
    assert [name for name, _, _ in fields] == ["source_port"]
    assert main(["replay", str(recording)]) == 1
    out = capsys.readouterr().out
    assert "packet 3 is another one" in out
    assert f"source_port: {fields[0][1]} then, {fields[0][2]} now" in out
    assert out.count("10.0.0.2 > 10.0.0.1") == 2
    assert main(["replay", "--json", str(recording)]) == 1
    document = json.loads(capsys.readouterr().out)
    assert not document["identical"]
    assert (
        document["difference"]["recorded"]["frame"] != document["difference"]["replayed"]["frame"]
    )


def test_a_replay_writes_a_capture(recording: Path, tmp_path: Path) -> None:
    capture = tmp_path / "all.pcapng"
    assert main(["replay", str(recording), "--capture", str(capture)]) == 0
    result = host.replay(str(recording))
    directions = [record.direction for record in read_capture(str(capture))]
    assert directions.count("out") == result.sent
    assert directions.count("in") == result.received
    assert all(decode_frame(record.frame) for record in read_capture(str(capture)))


def test_a_damaged_recording_is_replayed_up_to_there(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(recording.read_bytes())
    data[len(data) // 2] ^= 1
    recording.write_bytes(data)
    assert main(["replay", str(recording)]) == 1
    captured = capsys.readouterr()
    assert captured.out.startswith("identical up to there: ")
    assert "is damaged at byte" in captured.err


def test_what_is_no_recording_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"something else" * 10)
    assert main(["replay", str(path)]) == 2
    assert "is no recording of a host (ndpstack host run --record)" in capsys.readouterr().err
    assert main(["replay", str(tmp_path / "none")]) == 2
    assert "No such file" in capsys.readouterr().err


def test_a_folder_a_device_or_a_pipe_is_no_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipe that nobody writes into is not waited for."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (tmp_path, pipe, "/dev/null"):
        assert main(["replay", str(path)]) == 2
        assert capsys.readouterr().err == f"ndpstack: {path}: that is no file; name a recording\n"


def test_a_recording_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    config = ndpstack.StackConfig(
        name=f"replay-{tmp_path.name}", backend="memory", address="10.0.0.1", listen=True,
        record=str(tmp_path / "none" / "file"),
    )  # fmt: skip
    with pytest.raises(ndpstack.NdpError, match="none/file"):
        ndpstack.Stack(config)


def test_a_recording_sets_no_folder_or_device_aside(tmp_path: Path) -> None:
    folder, pipe = tmp_path / "folder", tmp_path / "pipe"
    folder.mkdir()
    os.mkfifo(pipe)
    for path in (folder, pipe):
        config = ndpstack.StackConfig(
            name=f"replay-{tmp_path.name}", backend="memory", address="10.0.0.1", listen=True,
            record=str(path),
        )  # fmt: skip
        with pytest.raises(ndpstack.NdpError, match="is no file; name one"):
            ndpstack.Stack(config)
    assert {path.name for path in tmp_path.iterdir()} == {"folder", "pipe"}


def test_a_packet_longer_than_any_is_damage(recording: Path) -> None:
    """It would be filled up to its length to be shown: up to 4 GiB."""
    change_a_sent_packet(recording, 1, -5)
    with pytest.raises(host.ReplayError, match="a packet that no port sends"):
        host.replay(str(recording))


def test_a_capture_does_not_replace_its_recording(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By whatever name."""
    before = recording.read_bytes()
    other = tmp_path / "other"
    other.symlink_to(recording)
    assert main(["replay", str(recording), "--capture", str(other)]) == 2
    printed = capsys.readouterr()
    assert "it is the recording itself" in printed.err
    assert printed.out == ""
    assert recording.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "said"),
    [("none/x", "No such file"), (".", "Is a directory"), ("", "No such file")],
)
def test_a_capture_that_cannot_be_opened_is_all_that_is_said(
    recording: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    said: str,
) -> None:
    """Nothing has been replayed, let alone found identical."""
    monkeypatch.chdir(recording.parent)
    assert main(["replay", "--json", str(recording), "--capture", name]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""


REPLAY_WITHOUT_DESCRIPTORS = """
import os, resource, sys
from ndpstack import host

host.replay(sys.argv[1])  # All is imported.
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
lowest = os.dup(0)
os.close(lowest)
refused = 0
for most in range(lowest, lowest + 16):
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        host.replay(sys.argv[1])
    except host.ReplayError:
        refused += 1
    os.fstat(0)
assert 8 <= refused < 16, refused
"""


def test_without_descriptors_those_of_the_process_stay_open(recording: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", REPLAY_WITHOUT_DESCRIPTORS, str(recording)],
        check=True,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("name", ["\udcff", "é" * 300, "a" + "é" * 300], ids=["raw", "long", "cut"])
def test_any_name_of_a_recording_is_said(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", name]) == 2
    assert "ndpstack: " in capsys.readouterr().err
