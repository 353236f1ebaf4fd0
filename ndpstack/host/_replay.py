"""Recordings of cores, run again: the same packets, or the first that is another one."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from ndpstack._core import ffi, lib
from ndpstack._errors import UserError
from ndpstack._reason import reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ndpstack import _core
    from ndpstack.decode import Decoded

End = Literal["in order", "open", "full"]
Kind = Literal["differs", "missing", "extra"]

_ENDS: Final[Mapping[int, End]] = {
    lib.ND_RECORDING_ENDED: "in order",
    lib.ND_RECORDING_OPEN: "open",
    lib.ND_RECORDING_FULL: "full",
}
_KINDS: Final[Mapping[int, Kind]] = {
    lib.ND_REPLAY_DIFFERS: "differs",
    lib.ND_REPLAY_MISSING: "missing",
    lib.ND_REPLAY_EXTRA: "extra",
}
_NS: Final = 1_000_000_000


class ReplayError(UserError):
    """The recording cannot be replayed, or only up to somewhere."""

    result: Replay | None = None
    """What was found out before, when it is damaged further on."""


@dataclass(frozen=True)
class Packet:
    """One of the two packets that should be one."""

    size: int
    """Of the frame."""
    frame: bytes
    """All of it, or as much as a recording keeps: all headers."""
    decoded: Decoded | None


@dataclass(frozen=True)
class Difference:
    """The first packet that is not as it was."""

    kind: Kind
    """It differs; only the recorded core sent it (missing); only the replayed one (extra)."""
    number: int
    """Of the packet among those sent, from 1."""
    port: int
    seconds: float
    """Since the first round of the recording."""
    recorded: Packet | None
    replayed: Packet | None

    def fields(self) -> Iterator[tuple[str, object, object]]:
        """Fields that differ: name, recorded value, replayed value."""
        if not self.recorded or not self.replayed:
            return
        was, now = _about(self.recorded), _about(self.replayed)
        for name in {**was, **now}:
            if was.get(name) != now.get(name):
                yield name, was.get(name), now.get(name)


@dataclass(frozen=True)
class Replay:
    """What a replay found."""

    sent: int
    """Packets that were sent as they had been."""
    received: int
    commands: int
    seconds: float
    """From the first round to the last one replayed."""
    end: End
    """The core ended in order, the recording was full, or is still open (or its process died)."""
    difference: Difference | None = field(default=None)


def _about(packet: Packet) -> dict[str, object]:
    about: dict[str, object] = {"bytes": packet.size}
    if packet.decoded:
        about |= {"protocol": packet.decoded.protocol, "source": packet.decoded.source}
        about |= {"target": packet.decoded.target, **packet.decoded.fields}
    return about


def _packet(frame: bytes, length: int) -> Packet | None:
    """Of a frame of which at least all headers are known; payload counts only as its length."""
    if not length:
        return None
    # Services, which share this package, must be up at once and decode nothing.
    from ndpstack.decode import decode_frame

    return Packet(length, frame, decode_frame(frame.ljust(length, b"\0")))


def _difference(raw: _core.nd_replay_result) -> Difference | None:
    if raw.verdict not in _KINDS:
        return None
    return Difference(
        kind=_KINDS[raw.verdict],
        number=raw.sent + 1,
        port=raw.port,
        seconds=(raw.time - raw.begin) / _NS,
        recorded=_packet(bytes(ffi.buffer(raw.recorded))[: raw.recorded_bytes], raw.recorded_bytes),
        replayed=_packet(bytes(ffi.buffer(raw.replayed))[: raw.replayed_bytes], raw.replayed_bytes),
    )


def _result(raw: _core.nd_replay_result) -> Replay:
    return Replay(
        sent=raw.sent,
        received=raw.received,
        commands=raw.commands,
        seconds=(raw.end - raw.begin) / _NS,
        end=_ENDS[raw.state],
        difference=_difference(raw),
    )


def replay(path: str, capture: str | None = None) -> Replay:
    """Runs the core of a recording again, up to its end or the first difference.

    Args:
        path: The recording.
        capture: A file for all packets received and sent, as pcapng.

    Raises:
        ReplayError: It is no recording, of another version, or damaged, or the capture cannot be
            written.
    """
    error = ffi.new("struct nd_error *")
    handle = lib.nd_replay_open(os.fsencode(path), error)
    if not handle:
        raise ReplayError(reason_of(error))
    try:
        if capture is None:
            code = lib.nd_replay_run(handle, ffi.NULL, ffi.NULL, error)
        else:
            code = lib.nd_replay_capture(handle, os.fsencode(capture), error)
        raw = lib.nd_replay_result(handle)[0]
        result, has_begun = _result(raw), raw.turns > 0
    finally:
        lib.nd_replay_close(handle)
    if code == 0:
        return result
    trouble = ReplayError(reason_of(error))
    # Of a capture that cannot be opened, or of damage at the start, there is nothing to tell.
    trouble.result = result if has_begun else None
    raise trouble
