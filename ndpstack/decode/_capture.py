"""Frames out of pcap and pcapng files, read by scapy; where it would be silent, we are not."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from ndpstack._errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader
    from pathlib import Path

ETHERNET = 1
_PCAP = {b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1"}
_PCAPNG = b"\x0a\x0d\x0d\x0a"
_DIRECTIONS = {1: "in", 2: "out"}


class CaptureError(UserError):
    """A file that is no capture, or ends in the middle of one."""


@dataclass(frozen=True)
class Record:
    """One captured frame."""

    number: int
    """From 1, as Wireshark counts."""
    time_ns: int
    frame: bytes
    original_bytes: int
    """Before the capture or a switch cut it."""
    interface: str
    direction: str
    """`in`, `out`, or empty where the file does not say."""
    comment: str
    """Of the capturing program: our switch writes its verdict there."""


class _Watched:
    """A file that counts reads: the reader tells neither a cut nor an error from a file's end."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.reads = self.got = 0
        self._error: OSError | None = None

    def read(self, size: int = -1) -> bytes:
        try:
            data = self._file.read(size)
        except OSError as error:
            self._error = error
            raise
        self.reads, self.got = self.reads + 1, len(data)
        return data

    def check(self) -> None:
        """Raises what a read has raised."""
        if self._error is not None:
            raise self._error

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a file has
        return getattr(self._file, name)


def read_capture(path: str | Path) -> Iterator[Record]:
    """The frames of a file, in its order; `-` is standard input.

    Raises:
        CaptureError: It is no capture of Ethernet frames, cannot be read, or ends in the middle of
            a packet; the packets before that were given.
    """
    from_stdin = path == "-"
    name = "standard input" if from_stdin else path
    try:
        file = open(0 if from_stdin else path, "rb", closefd=not from_stdin)  # noqa: SIM115 - closed below
    except OSError as error:
        raise CaptureError(f"{name}: {error.strerror}") from error
    with file:
        try:
            yield from _records(name, file)
        except OSError as error:
            raise CaptureError(f"{name}: cannot be read: {error.strerror}") from error


def _records(path: str | Path, file: BufferedReader) -> Iterator[Record]:
    try:
        from scapy.error import Scapy_Exception
        from scapy.utils import RawPcapNgReader, RawPcapReader
    except ImportError as error:
        raise CaptureError("reading captures needs scapy: pip install 'ndpstack[scapy]'") from error
    logging.getLogger("scapy.runtime").setLevel(logging.ERROR)
    # A pipe cannot be read twice.
    magic = file.peek(4)[:4]
    if not magic:
        raise CaptureError(f"{path}: the file is empty: nothing was captured")
    if magic != _PCAPNG and magic not in _PCAP:
        raise CaptureError(f"{path}: neither pcap nor pcapng; it begins with {magic.hex()}")
    watched: Any = _Watched(file)
    reader: Any
    modern = magic == _PCAPNG
    try:
        reader = (RawPcapNgReader if modern else RawPcapReader)(watched)
    except (Scapy_Exception, EOFError) as error:
        watched.check()
        raise CaptureError(f"{path}: truncated in its file header") from error
    read = reader._read_block if modern else reader._read_packet
    number = 0
    while True:
        watched.reads = 0
        try:
            block = read()
        except EOFError:
            watched.check()
            if watched.got or watched.reads > 1:
                raise CaptureError(f"{path}: truncated behind packet {number}") from None
            return
        if block is None:
            continue
        frame, about = block
        number += 1
        if not modern and len(frame) < about.caplen:
            raise CaptureError(f"{path}: truncated in packet {number}")
        link = about.linktype if modern else reader.linktype
        if link != ETHERNET:
            raise CaptureError(
                f"{path}: link type {link} in packet {number}, but only Ethernet (1)"
                " is understood: capture on the interface, not on 'any'"
            )
        yield _modern(number, frame, about) if modern else _classic(number, frame, about, reader)


def _text(value: bytes | None) -> str:
    return (value or b"").decode(errors="replace")


def _modern(number: int, frame: bytes, about: Any) -> Record:  # noqa: ANN401 - scapy's
    ticks = about.tshigh << 32 | about.tslow
    comments = about.comments or []
    return Record(
        number,
        ticks * 1_000_000_000 // int(about.tsresol),
        frame,
        about.wirelen,
        _text(about.ifname),
        _DIRECTIONS.get(about.direction, ""),
        "; ".join(map(_text, comments)),
    )


def _classic(number: int, frame: bytes, about: Any, reader: Any) -> Record:  # noqa: ANN401
    fraction = about.usec if reader.nano else about.usec * 1000
    return Record(number, about.sec * 1_000_000_000 + fraction, frame, about.wirelen, "", "", "")
