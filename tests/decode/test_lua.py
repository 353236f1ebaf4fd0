"""Wireshark's dissector: every field as our own decoder reads it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

from ndpstack._core import ffi, lib
from ndpstack.cli import main
from ndpstack.cli._exit import Exit
from ndpstack.contrib.scapy import NDP, Homa, HomaAck, HomaAckEntry, HomaData
from ndpstack.decode import decode_frame, lua_dissector

if TYPE_CHECKING:
    from pathlib import Path

HEAD = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="10.0.0.1", dst="10.0.0.2")
ROOT_OF = {"ndp": "ndpstack.ndp", "homa": "homa"}


def ndp(kind: str, payload: int = 0, **fields: str | int) -> bytes:
    """A frame with an NDP packet."""
    packet = NDP(connection=0x89ABCDEF, sequence=(1 << 32) - 2, type=kind)
    for name, value in fields.items():
        setattr(packet, name, value)
    return bytes(HEAD / UDP(sport=49155, chksum=0) / packet / bytes(payload))


FRAMES = [
    ndp("DATA", 5, flags="SYN+LAST", path=3, message_bytes=5, priority=5),
    *(ndp(kind) for kind in ("ACK", "NACK", "PULL", "CLOSE")),
    bytes(
        HEAD
        / Homa(sender_id=(1 << 63) + 5, type="DATA")
        / HomaData(message_bytes=100, incoming=1 << 31, offset=-1)
        / bytes(100)
    ),
    bytes(
        HEAD
        / UDP(sport=4798, dport=4798)
        / Homa(sender_id=3, type="ACK")
        / HomaAck(acks=[HomaAckEntry(ack_id=8, ack_port=9), HomaAckEntry(ack_id=10, ack_port=11)])
    ),
]


@pytest.fixture
def script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The dissector as the command prints it."""
    assert main(["decode", "--lua"]) == Exit.OK
    path = tmp_path / "ndpstack.lua"
    path.write_text(capsys.readouterr().out)
    return path


def test_every_field_of_the_table_is_there() -> None:
    text = lua_dissector()
    for i in range(lib.nd_fields_count):
        row = lib.nd_fields[i]
        name, help_text = ffi.string(row.name).decode(), ffi.string(row.text).decode()
        assert f'name = "{name}"' in text
        assert f'text = "{help_text}"' in text


@pytest.mark.parametrize("arguments", [["decode"], ["decode", "--lua", "a.pcap"]])
def test_a_file_or_the_dissector(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == Exit.USAGE
    assert "--lua" in capsys.readouterr().err


def test_a_lua_compiler_takes_it(script: Path) -> None:
    compiler = shutil.which("luac5.4") or shutil.which("luac")
    if compiler is None:
        pytest.skip("no luac: apt install lua5.4")
    subprocess.run([compiler, "-p", str(script)], check=True, timeout=60)


def dissect(script: Path, capture: Path) -> list[dict[str, object]]:
    """What tshark shows: the layers of each packet."""
    if shutil.which("tshark") is None:
        pytest.skip("no tshark: apt install tshark")
    done = subprocess.run(
        ["tshark", "-X", f"lua_script:{script}", "-T", "json", "-r", str(capture)],
        capture_output=True, text=True, check=True, timeout=60,
        env={**os.environ, "HOME": str(script.parent)},
    )  # fmt: skip
    return [packet["_source"]["layers"] for packet in json.loads(done.stdout)]


def test_wireshark_reads_what_we_read(script: Path, tmp_path: Path) -> None:
    """Each number of each kind of packet."""
    capture = tmp_path / "a.pcap"
    wrpcap(str(capture), [Ether(frame) for frame in FRAMES])
    compared = 0
    for layers, frame in zip(dissect(script, capture), FRAMES, strict=True):
        packet = decode_frame(frame)
        assert packet is not None
        shown = layers[ROOT_OF[packet.protocol]]
        assert isinstance(shown, dict)
        by_name = {key.rsplit(".", 1)[1]: value for key, value in shown.items()}
        for name, value in packet.fields.items():
            if isinstance(value, int):
                assert int(by_name[name], 0) == value, (packet.type, name)
                compared += 1
    assert compared > 60


def test_a_trimmed_packet_is_said_to_be(script: Path, tmp_path: Path) -> None:
    capture = tmp_path / "t.pcap"
    cut = bytearray(ndp("DATA", 90, message_bytes=90)[:-90])
    cut[16:18], cut[38:40] = (20 + 8 + 40).to_bytes(2), (8 + 40).to_bytes(2)
    wrpcap(str(capture), [Ether(bytes(cut)), Ether(ndp("DATA", 90))])
    trimmed, whole = (json.dumps(layers) for layers in dissect(script, capture))
    assert "Payload was trimmed" in trimmed
    assert "Payload was trimmed" not in whole


def test_there_may_be_no_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    assert main(["decode", "--lua"]) == Exit.OK
