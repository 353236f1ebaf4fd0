"""Copies of frames and what became of them, for people and for wireshark."""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from ndpstack._core import ffi, lib
from ndpstack.switch._errors import Failure, SwitchError
from ndpstack.switch._forks import forked
from ndpstack.switch._values import U32_MAX, choice_of, number_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

    from ndpstack._core import nd_control, nd_mirror
    from ndpstack.switch._switch import Switch

Direction = Literal["rx", "tx", "both"]

_RX, _TX = 1, 2
_DIRECTIONS = {"rx": _RX, "tx": _TX, "both": _RX | _TX}

_FRAMES_AT_ONCE = 256
_HEADER_BYTES_MAX = 192 * 65
_CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True)
class MirrorFrame:
    """A copy of a frame."""

    time_ns: int
    """Of the wall clock."""
    port: str
    direction: Literal["rx", "tx"]
    verdict: str
    """What became of it: "queued", "trimmed", "dropped: unknown", "sent" ..."""
    data: bytes
    """As much as the mirror keeps."""
    original_bytes: int
    """Length before it was cut to that, or trimmed."""


class Ring:
    """The core's part of a mirror, which its switch knows as long as there is something to free.

    Raises:
        SwitchError: A setting is refused, or the switch has all of its mirrors.
    """

    def __init__(
        self,
        control: nd_control,
        ports: Mapping[str, int],
        direction: Direction,
        snaplen: int,
        frames: int,
    ) -> None:
        texts = [ffi.new("char[]", name.encode()[:31]) for name in ports]
        names = ffi.new("char *[]", texts)
        config = ffi.new("struct nd_mirror_config *")
        indices = ffi.new("uint8_t[]", list(ports.values()))
        config.ports, config.port_count = indices, len(ports)
        config.names = names
        taken = choice_of("mirror", "direction", direction, _DIRECTIONS)
        config.rx, config.tx = bool(taken & _RX), bool(taken & _TX)
        config.snap_bytes = number_of("mirror", "snaplen", snaplen, 0, U32_MAX)
        config.frames = number_of("mirror", "frames", frames, 0, U32_MAX)
        failure = Failure()
        mirror = lib.nd_control_mirror(control, config, failure.error)
        if not mirror:
            raise failure.exception()
        self.lock = threading.RLock()
        """Of the handle. A destructor may free anywhere."""
        self._control = control
        self._mirror: nd_mirror | None = mirror
        self.freed = False
        self._forked = False

    def disown(self) -> None:
        """In the child of a fork: nobody fills it there."""
        self.lock = threading.RLock()
        self._mirror, self.freed, self._forked = None, True, True

    @property
    def handle(self) -> nd_mirror:
        """The core's object, valid under the lock."""
        if self._forked:
            raise forked("the mirror")
        if self._mirror is None:
            raise SwitchError("the mirror is closed")
        return self._mirror

    def free(self) -> None:
        """Ends it; may be called again."""
        with self.lock:
            mirror, self._mirror = self._mirror, None
            if mirror is not None:
                lib.nd_control_unmirror(self._control, mirror)
                self.freed = True


class Mirror:
    """A ring of copies that the worker fills and this empties; it never holds up the switch.

    Read it from one thread. `Switch.mirror` makes it; the switch closes it with itself, from any
    thread. One that is dropped ends, with a ResourceWarning.
    """

    def __init__(self, switch: Switch, ring: Ring, ports: Mapping[str, int], snaplen: int) -> None:
        self._ring = ring
        self._switch = switch
        """Kept: what frees the ring must find the switch."""
        self._names = {index: name for name, index in ports.items()}
        self._snaplen = snaplen
        self._records = ffi.new("struct nd_mirror_frame[]", _FRAMES_AT_ONCE)
        self._bytes = ffi.new("uint8_t[]", _FRAMES_AT_ONCE * snaplen)
        self._chunk = ffi.new("uint8_t[]", _CHUNK_BYTES)

    def read(self) -> list[MirrorFrame]:
        """Frames since the last call, a few hundred at most; never waits."""
        ring = self._ring
        with ring.lock:
            count = lib.nd_mirror_read(ring.handle, self._records, self._bytes, _FRAMES_AT_ONCE)
        comment = ffi.new("char[]", 64)
        frames = []
        for i in range(count):
            record = self._records[i]
            begin = i * self._snaplen
            data = ffi.buffer(self._bytes)[begin : begin + record.captured_bytes]
            verdict = ffi.string(lib.nd_mirror_comment(ffi.addressof(record), comment))
            frames.append(
                MirrorFrame(
                    time_ns=record.time,
                    port=self._names[record.port],
                    direction="rx" if record.direction == 1 else "tx",
                    verdict=verdict.decode(),
                    data=bytes(data),
                    original_bytes=record.original_bytes,
                )
            )
        return frames

    def header(self) -> bytes:
        """The beginning of a pcapng file: the ports are its interfaces."""
        out = ffi.new("uint8_t[]", _HEADER_BYTES_MAX)
        with self._ring.lock:
            count = lib.nd_mirror_header(self._ring.handle, out, len(out))
        return bytes(ffi.buffer(out)[0:count])

    def read_pcapng(self, limit: int | None = None) -> bytes:
        """Frames since the last call as blocks of a pcapng file; empty when there are none.

        Args:
            limit: Most bytes; what has no room in them waits for the next call.
        """
        room = _CHUNK_BYTES if limit is None else min(limit, _CHUNK_BYTES)
        with self._ring.lock:
            count = lib.nd_mirror_pcapng(self._ring.handle, self._chunk, room)
        return bytes(ffi.buffer(self._chunk)[0:count])

    def write(self, file: BinaryIO, limit: int | None = None) -> int:
        """Writes what waits to a file that begins with `header()`; returns the bytes written.

        Args:
            file: Where to.
            limit: Most bytes; what has no room in them waits for the next call.
        """
        written = 0
        while chunk := self.read_pcapng(None if limit is None else limit - written):
            file.write(chunk)
            written += len(chunk)
        return written

    def dropped(self) -> int:
        """Copies that were lost because they were not read in time."""
        with self._ring.lock:
            return lib.nd_mirror_dropped(self._ring.handle)

    def close(self) -> None:
        """Ends it; may be called again."""
        self._ring.free()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        ring = getattr(self, "_ring", None)
        if ring is not None and not ring.freed:
            ring.free()
            warnings.warn("unclosed mirror", ResourceWarning, source=self, stacklevel=2)
