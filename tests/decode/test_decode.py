"""`ndpstack decode`: files made here, whole and damaged."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.utils import PcapWriter, wrpcap

from ndpstack._core import ffi, lib
from ndpstack.cli import _decode, main
from ndpstack.cli._exit import Exit
from ndpstack.contrib.scapy import NDP, Homa, HomaAck, HomaAckEntry, HomaData
from ndpstack.decode import CaptureError, _capture, decode_frame, read_capture
from ndpstack.scenario import parse_scenario
from ndpstack.sim import Simulation

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAC = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
V4 = IP(src="10.0.0.11", dst="10.0.0.10")
SENT = NDP(connection=0x89ABCDEF, sequence=7, path=3, message_bytes=5, flags="SYN+LAST") / b"hello"


def ndp(kind: str) -> bytes:
    """A frame with an NDP packet."""
    packet = NDP(connection=0x89ABCDEF, type=kind, sequence=7)
    return bytes(MAC / V4 / UDP(sport=49155, chksum=0) / packet)


def homa() -> bytes:
    """A frame with Homa DATA, from a server."""
    data = HomaData(message_bytes=100, incoming=100) / bytes(100)
    return bytes(MAC / V4 / Homa(sender_id=3, type="DATA") / data)


INCAST = """
[topology]
kind = "single-switch"
hosts = 13
[switch.queue]
discipline = "ndp"
[transport.ndp]
[[traffic]]
kind = "incast"
senders = 12
size = "30KB"
[probes]
capture = {{ between = ["edge 0", "host 0"], file = "{file}" }}
"""

FRAMES = [
    bytes(MAC / V4 / UDP(sport=49155, chksum=0) / SENT),
    bytes(MAC / ARP()),
    ndp("ACK"),
    homa(),
]

TRIMMED = bytes(
    MAC / IP(src=V4.src, dst=V4.dst, len=68) / UDP(sport=49155, len=48, chksum=0) / SENT
)[:82]
"""The first frame as a switch that rewrites lengths leaves it."""


def pcap(path: Path, frames: list[bytes]) -> Path:
    """A classic capture."""
    wrpcap(str(path), [Ether(frame) for frame in frames])
    return path


def pcapng(path: Path, comment: str) -> Path:
    """A capture as our switch's mirror writes it."""
    out = ffi.new("uint8_t[]", 4096)
    text = ffi.new("char[]", comment.encode())
    name = ffi.new("char[]", b"sw0p1")
    frame = ffi.from_buffer("uint8_t[]", TRIMMED)
    packet = ffi.new("struct nd_pcapng_packet *")
    packet.time, packet.frame, packet.captured_bytes = 1_700_000_000_123_456_789, frame, 82
    packet.original_bytes, packet.direction, packet.comment = 87, 2, text
    with path.open("wb") as file:
        file.write(ffi.buffer(out, lib.nd_pcapng_section(out, 4096, name)))
        file.write(ffi.buffer(out, lib.nd_pcapng_interface(out, 4096, name, 128)))
        file.write(ffi.buffer(out, lib.nd_pcapng_packet(out, 4096, packet)))
    return path


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    """What --json printed."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", str(pcap(tmp_path / "a.pcap", FRAMES))]) == Exit.OK
    text = capsys.readouterr().out
    assert "0x89abcdef" in text
    assert "flags=SYN+LAST" in text
    assert "10.0.0.11" in text
    assert len(text.splitlines()) == 2 + 3


def test_a_long_capture_is_printed_as_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_decode, "PORTION", 2)
    assert main(["decode", str(pcap(tmp_path / "a.pcap", FRAMES))]) == Exit.OK
    lines = capsys.readouterr().out.splitlines()
    heads = [number for number, line in enumerate(lines) if line.startswith("no.")]
    assert heads == [0, 4]
    assert [line.split()[0] for line in (*lines[2:4], *lines[6:])] == ["1", "3", "4"]


def test_json_has_every_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", str(pcap(tmp_path / "a.pcap", FRAMES)), "--json"]) == Exit.OK
    first, second, third = lines(capsys)
    assert first["number"] == 1
    assert first["fields"]["path"] == 3  # type: ignore[index]
    assert first["fields"]["flags"] == ["SYN", "LAST"]  # type: ignore[index]
    assert (second["type"], second["protocol"]) == ("ACK", "ndp")
    assert (third["type"], third["id"], third["error"]) == ("DATA", 2, "")


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ([], [1, 3, 4]),
        (["-c", "2"], [1, 3]),
        (["--protocol", "homa"], [4]),
        (["--connection", "0x89abcdef"], [1, 3]),
        (["--connection", "5"], []),
        (["--rpc", "2"], [4]),
        (["--rpc", "3"], [4]),
    ],
)
def test_filters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], numbers: list[int]
) -> None:
    path = pcap(tmp_path / "a.pcap", FRAMES)
    assert main(["decode", str(path), "--json", *options]) == Exit.OK
    assert [line["number"] for line in lines(capsys)] == numbers


def test_a_mirrors_verdict_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = pcapng(tmp_path / "m.pcapng", "dropped: queue")
    assert main(["decode", str(path)]) == Exit.OK
    text = capsys.readouterr().out
    assert "[dropped: queue]" in text
    assert "sw0p1 out" in text
    assert "TRIMMED" in text
    (record,) = read_capture(path)
    assert (record.time_ns, record.original_bytes) == (1_700_000_000_123_456_789, 87)


def test_payload_that_a_capture_left_out_is_no_loss() -> None:
    for whole in (FRAMES[0], homa()):
        packet = decode_frame(whole[:-3], len(whole))
        assert packet is not None
        assert (packet.trimmed, packet.error) == (False, "")


def test_payload_that_the_network_took_is_missed_however_much_was_captured() -> None:
    cut = FRAMES[0][:-3]
    for frame, wire_bytes in ((TRIMMED, 87), (cut, len(cut)), (cut, len(cut) + 1)):
        packet = decode_frame(frame, wire_bytes)
        assert packet is not None
        assert packet.trimmed
    header = decode_frame(homa()[: 34 + 30], len(homa()))
    assert header is not None
    assert header.error == "homa_cut"
    assert "incoming" not in header.fields


def test_a_simulated_capture_has_the_trims_that_there_were(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.pcapng"
    simulation = Simulation(parse_scenario(INCAST.format(file=path)))
    simulation.run()
    assert main(["decode", str(path), "--json"]) == Exit.OK
    data = [line for line in lines(capsys) if line["type"] == "DATA"]
    names, table = simulation.queue_counters()
    trims = int(table[:, names.index("trimmed_packets")].sum())
    assert 0 < trims < len(data)
    assert sum(bool(line["trimmed"]) for line in data) == trims


def test_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = pcap(tmp_path / "a.pcap", FRAMES).read_bytes()
    read_end, write_end = os.pipe()
    with open(read_end, "rb"):
        with open(write_end, "wb") as pipe:
            pipe.write(content)
        assert main(["decode", f"/dev/fd/{read_end}", "--json"]) == Exit.OK
    assert [line["number"] for line in lines(capsys)] == [1, 3, 4]


def test_standard_input(tmp_path: Path) -> None:
    def decode(content: bytes) -> subprocess.CompletedProcess[bytes]:
        command = [str(Path(sys.executable).with_name("ndpstack")), "decode", "-", "--json"]
        return subprocess.run(command, input=content, capture_output=True, check=False)

    shown = decode(pcap(tmp_path / "a.pcap", FRAMES).read_bytes()).stdout.splitlines()
    assert [json.loads(line)["number"] for line in shown] == [1, 3, 4]
    refused = decode(b"#!/bin/sh")
    assert refused.returncode == Exit.USAGE
    assert refused.stderr.startswith(b"ndpstack: standard input: neither pcap nor pcapng")


@pytest.mark.parametrize("cut", [1, 30, 95])
@pytest.mark.parametrize("modern", [False, True])
def test_a_truncated_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cut: int, modern: bool
) -> None:
    path = tmp_path / "a.pcap"
    if modern:
        whole = pcapng(path, "sent").read_bytes()
        path.write_bytes(whole[:-cut])
    else:
        path.write_bytes(pcap(path, FRAMES).read_bytes()[:-cut])
    assert main(["decode", str(path)]) in (Exit.FAILED, Exit.USAGE)
    assert "truncated" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"\xa1", b"#!/bin/sh\necho\n", b"\x7fELF" + bytes(99)])
def test_a_foreign_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    assert main(["decode", str(path)]) == Exit.USAGE
    assert "neither pcap nor pcapng" in capsys.readouterr().err


def test_an_empty_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x"
    path.touch()
    assert main(["decode", str(path)]) == Exit.USAGE
    assert f"{path}: the file is empty" in capsys.readouterr().err


def test_a_file_that_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    """Our memory has no page at 0."""
    assert main(["decode", "/proc/self/mem"]) == Exit.USAGE
    said = capsys.readouterr().err
    assert said == "ndpstack: /proc/self/mem: cannot be read: Input/output error\n"


class Failing(io.RawIOBase):
    """A file on a disk that fails behind this content."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        if got := self._content.readinto(buffer):
            return got
        raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.mark.parametrize("modern", [False, True])
@pytest.mark.parametrize(("kept", "code"), [(1.0, Exit.FAILED), (0.1, Exit.USAGE)])
def test_a_file_that_cannot_be_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    modern: bool, kept: float, code: Exit,
) -> None:  # fmt: skip
    """What was read is shown, and that there is more is said: also where a packet has ended."""
    path = tmp_path / "a.pcap"
    whole = (pcapng(path, "sent") if modern else pcap(path, FRAMES)).read_bytes()
    broken = io.BufferedReader(Failing(whole[: int(kept * len(whole))]))
    monkeypatch.setattr(_capture, "open", lambda *_, **__: broken, raising=False)
    assert main(["decode", str(path)]) == code
    printed = capsys.readouterr()
    assert printed.err == f"ndpstack: {path}: cannot be read: Input/output error\n"
    assert ("10.0.0.11" in printed.out) == (code == Exit.FAILED)


def test_no_file_and_other_links(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", str(tmp_path / "none")]) == Exit.USAGE
    path = tmp_path / "raw.pcap"
    with PcapWriter(str(path), linktype=101) as writer:
        writer.write(V4 / UDP(chksum=0) / SENT)
    assert main(["decode", str(path)]) == Exit.USAGE
    assert "link type 101" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--rpc", "--connection"])
def test_a_wrong_number(tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    path = pcap(tmp_path / "a.pcap", FRAMES)
    assert main(["decode", str(path), option, "x"]) == Exit.USAGE
    assert "'x'" in capsys.readouterr().err
    assert main(["decode", str(path), "-c", "0"]) == Exit.USAGE


def test_what_a_receiver_drops_is_named() -> None:
    frame = bytearray(FRAMES[0])
    frame[50] ^= 1
    packet = decode_frame(bytes(frame))
    assert packet is not None
    assert packet.error == "ndp_header_check"
    assert (packet.source, packet.target) == ("10.0.0.11", "10.0.0.10")


def test_ipv6_and_lists() -> None:
    acks = HomaAck(acks=[HomaAckEntry(ack_id=8, ack_port=4000)])
    frame = bytes(MAC / IPv6(src="fd00::b", dst="fd00::a") / Homa(type="ACK") / acks)
    packet = decode_frame(frame)
    assert packet is not None
    assert packet.source == "fd00::b"
    assert packet.fields["ack_id"] == [8, 0, 0, 0, 0]
    assert decode_frame(b"") is None


@pytest.mark.parametrize("nano", [False, True])
def test_times_of_a_classic_capture_are_nanoseconds(tmp_path: Path, nano: bool) -> None:
    frame = Ether(homa())
    frame.time = 1_700_000_000.5
    path = tmp_path / "classic.pcap"
    wrpcap(str(path), [frame], nano=nano)
    (record,) = read_capture(path)
    assert record.time_ns == 1_700_000_000_500_000_000


def test_reading_stops_at_the_first_packet_that_is_cut(tmp_path: Path) -> None:
    path = pcap(tmp_path / "a.pcap", FRAMES)
    path.write_bytes(path.read_bytes()[:-10])
    records = read_capture(path)
    assert [next(records).number for _ in range(3)] == [1, 2, 3]
    with pytest.raises(CaptureError, match="truncated in packet 4"):
        next(records)
