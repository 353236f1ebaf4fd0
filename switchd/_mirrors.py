"""Mirrors to files and captures for clients: copies that never hold up the data path."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack.toml import suggest
from switchd.control._rows import MirrorRow

if TYPE_CHECKING:
    import io
    from collections.abc import Iterable, Mapping, Sequence

    from switchd._controller import Controller
    from switchd.config import Mirror
    from switchd.control._server import Session
    from switchd.dataplane import Direction, SwitchHandle, Tap
    from switchd.runtime import LivePort, LiveSwitch

log = logging.getLogger("switchd.mirror")

PUMP_SECONDS = 0.02
"""How often copies are fetched."""

CAPTURES_MAX = 8
"""Captures at a time."""

READS_MAX = 8
"""Parts that are fetched at a time, so that nobody else waits."""

STOP_READS_MAX = 512
"""Parts that a capture is sent as it ends: the data path's ring holds less."""

BACKLOG_BYTES_MAX = 4 * 2**20
"""Bytes that wait for a client; when there are more, frames wait in the data path's ring."""

BLOCK_BYTES_MAX = 16 * 2**10
"""Longer than a frame with what is noted of it."""


@dataclass(frozen=True)
class Tapped:
    """What is tapped; what is made anew under the same name is something else."""

    switch: str
    handle: SwitchHandle
    ports: Mapping[str, LivePort]


@dataclass
class FileMirror:
    """A mirror that writes a file."""

    switch: str
    name: str
    config: Mirror
    tapped: Tapped | None = None
    tap: Tap | None = None
    file: io.FileIO | None = None
    state: str = "running"
    bytes: int = 0
    lost: int = 0


@dataclass
class Capture:
    """A capture that a client reads."""

    id: int
    session: Session
    tapped: Tapped
    tap: Tap


class Mirrors:
    """All mirrors and captures."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        # Of the start: whoever may change settings must not choose where files are written.
        self._folder = controller.config.daemon.captures
        self._files: dict[tuple[str, str], FileMirror] = {}
        self._captures: list[Capture] = []
        self._numbers = itertools.count(1)
        self.wanted = asyncio.Event()
        """Set while there is something to pump: an idle daemon sleeps."""

    def configure(self) -> None:
        """Follows the configuration: unchanged mirrors go on, others begin or end."""
        wanted = {
            (switch, name): mirror
            for switch, table in self._controller.config.switch.items()
            for name, mirror in table.mirror.items()
        }
        for key, mirror in list(self._files.items()):
            if wanted.get(key) != mirror.config or not self._is_live(mirror.tapped):
                self._finish(mirror)
                del self._files[key]
        for key, config in wanted.items():
            if key not in self._files:
                self._files[key] = self._begin(*key, config)
        for capture in [c for c in self._captures if not self._is_live(c.tapped)]:
            # Its client would wait for frames that never come.
            self._drop(capture)
            capture.session.hang_up()

    def _is_live(self, tapped: Tapped | None) -> bool:
        """Whether switch and ports still are those that are tapped."""
        if tapped is None:  # It failed at once, and goes on failing.
            return True
        live = self._controller.manager.live.get(tapped.switch)
        # A port that was removed and added again, as a change that fails does, copies nothing.
        return (
            live is not None
            and live.handle is tapped.handle
            and all(live.ports.get(name, port) is port for name, port in tapped.ports.items())
        )

    def _begin(self, switch: str, name: str, config: Mirror) -> FileMirror:
        mirror = FileMirror(switch, name, config)
        try:
            mirror.file = self._open(config.file)
            live = self._controller.manager.live[switch]
            mirror.tapped = _tapped(switch, live, config.source)
            mirror.tap = live.handle.tap(config.source, config.direction, config.snaplen)
            self._write(mirror, mirror.tap.header())
            self.wanted.set()
        except (OSError, UserError) as error:
            self._fail(mirror, error)
            self._end(mirror)
        return mirror

    def _finish(self, mirror: FileMirror) -> None:
        """Ends a mirror with all that it has seen, unless its switch is gone."""
        if mirror.tap is not None and self._is_live(mirror.tapped):
            self._pump_file(mirror, mirror.tap)
        self._end(mirror)

    def _open(self, name: str) -> io.FileIO:
        """A new file, never through a link that somebody laid; nothing else is written to."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / name
        # Not blocking: all would wait for the reader of a pipe, who may never come.
        flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.fdopen(os.open(path, flags, 0o640), "wb", buffering=0)
        try:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
                raise UserError(
                    f"{path}: is no regular file, or has another name, too; "
                    "remove it, or name another `file`"
                )
            file.truncate(0)
        except BaseException:
            file.close()
            raise
        return file

    def _fail(self, mirror: FileMirror, error: Exception) -> None:
        """Says once why a mirror ends; its file ends with the last block that is whole."""
        if mirror.file is not None:
            with contextlib.suppress(OSError):
                mirror.file.truncate(mirror.bytes)
        if not mirror.state.startswith("failed"):
            mirror.state = f"failed: {error}"
            log.error("mirror %s of %s: %s", mirror.name, mirror.switch, error)

    def _end(self, mirror: FileMirror) -> None:
        if mirror.tap is not None:
            mirror.tap.close()
            mirror.tap = None
        if mirror.file is not None:
            try:
                mirror.file.close()
            except OSError as error:
                # Some file systems say only now that there was no room.
                self._fail(mirror, error)
            mirror.file = None

    def _write(self, mirror: FileMirror, data: bytes) -> None:
        """Writes blocks; unbuffered, so that what is counted is in the file."""
        assert mirror.file is not None
        rest = memoryview(data)
        while rest:
            rest = rest[mirror.file.write(rest) :]
        mirror.bytes += len(data)

    def pump(self) -> None:
        """Fetches what was copied since the last time."""
        if not self._captures and all(mirror.tap is None for mirror in self._files.values()):
            self.wanted.clear()
        for mirror in self._files.values():
            if mirror.tap is not None:
                self._pump_file(mirror, mirror.tap)
        for capture in list(self._captures):
            self._pump_capture(capture)

    def _pump_file(self, mirror: FileMirror, tap: Tap) -> None:
        mirror.lost = tap.dropped()
        try:
            for _ in range(READS_MAX):
                room = max(0, mirror.config.limit - mirror.bytes)
                data = tap.read(room)
                if data:
                    self._write(mirror, data)
                    continue
                # Nothing waits, or nothing that fits.
                if room < BLOCK_BYTES_MAX and tap.read():
                    mirror.state = "full"
                    self._end(mirror)
                break
        except OSError as error:
            self._fail(mirror, error)
            self._end(mirror)

    def start_capture(
        self,
        session: Session,
        switch: str,
        ports: Sequence[str],
        direction: Direction,
        snaplen: int,
    ) -> int:
        """Begins a capture whose bytes go to the client, and returns its number.

        Raises:
            UserError: There is no such switch or port, or there are too many captures.
        """
        live = self._controller.manager.live
        if switch not in live:
            raise UserError(f"{switch!r} is no switch; {suggest(switch, list(live), 'there are')}")
        known = list(live[switch].ports)
        for port in ports:
            if port not in known:
                raise UserError(f"{port!r} is no port; {suggest(port, known, 'there are')}")
        if len(self._captures) >= CAPTURES_MAX:
            raise UserError(f"there are {CAPTURES_MAX} captures already; end one")
        chosen = list(ports) or known
        tapped = _tapped(switch, live[switch], chosen)
        tap = tapped.handle.tap(chosen, direction, snaplen)
        capture = Capture(next(self._numbers), session, tapped, tap)
        self._captures.append(capture)
        self.wanted.set()
        self._notify(capture, tap.header())
        return capture.id

    def _pump_capture(self, capture: Capture) -> None:
        for _ in range(READS_MAX):
            # What a slow client leaves in the ring is lost there, and counted.
            if capture.session.backlog > BACKLOG_BYTES_MAX:
                return
            data = capture.tap.read()
            if not data:
                return
            self._notify(capture, data)

    def _notify(self, capture: Capture, data: bytes) -> None:
        params = {"id": capture.id, "data": data, "lost": capture.tap.dropped()}
        capture.session.notify("capture", params)

    async def stop_capture(self, session: Session, number: int) -> None:
        """Ends a capture of that client, after it was sent what the data path's ring holds.

        Raises:
            UserError: It has none of that number.
        """
        for capture in self._captures:
            if capture.id == number and capture.session is session:
                try:
                    await self._send_rest(capture)
                finally:
                    self._drop(capture)
                return
        raise UserError(f"there is no capture {number} of this client")

    async def _send_rest(self, capture: Capture) -> None:
        """As fast as the client reads; who does not is hung up on with the answer."""
        with contextlib.suppress(TimeoutError, ConnectionError):
            for _ in range(STOP_READS_MAX):
                data = capture.tap.read()
                if not data:
                    return
                self._notify(capture, data)
                await capture.session.drained()

    def _drop(self, capture: Capture) -> None:
        """Ends a capture, unless that was done meanwhile."""
        if capture in self._captures:
            self._captures.remove(capture)
            capture.tap.close()

    def stop_captures(self, session: Session) -> None:
        """Ends all captures of a client that is gone."""
        for capture in [item for item in self._captures if item.session is session]:
            self._drop(capture)

    def close(self) -> None:
        """Ends everything."""
        for mirror in self._files.values():
            self._end(mirror)
        self._files.clear()
        for capture in self._captures:
            capture.tap.close()
        self._captures.clear()

    def rows(self) -> list[MirrorRow]:
        """`show mirrors`."""
        return [
            MirrorRow(
                switch=mirror.switch,
                mirror=mirror.name,
                source=", ".join(mirror.config.source),
                direction=mirror.config.direction,
                file=str(self._folder / mirror.config.file),
                state=mirror.state,
                bytes=mirror.bytes,
                lost=mirror.lost,
            )
            for mirror in self._files.values()
        ]


def _tapped(name: str, live: LiveSwitch, ports: Iterable[str]) -> Tapped:
    """Those ports of a switch, as they are now."""
    return Tapped(
        name, live.handle, {port: live.ports[port] for port in ports if port in live.ports}
    )
