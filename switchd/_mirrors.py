"""Mirrors to files and captures for clients: copies that never hold up the data path."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from ndpstack._errors import UserError
from ndpstack.toml import suggest
from switchd.control._rows import MirrorRow
from switchd.dataplane import DataPlaneError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from switchd._controller import Controller
    from switchd.config import Mirror
    from switchd.control._server import Session
    from switchd.dataplane import Direction, SwitchHandle, Tap

log = logging.getLogger("switchd.mirror")

PUMP_SECONDS = 0.02
"""How often copies are fetched."""

CAPTURES_MAX = 8
"""Captures at a time."""

READS_MAX = 8
"""Parts that are fetched at a time, so that nobody else waits."""

BACKLOG_BYTES_MAX = 4 * 2**20
"""Bytes that wait for a client; when there are more, frames wait in the data path's ring."""


@dataclass
class FileMirror:
    """A mirror that writes a file."""

    switch: str
    name: str
    config: Mirror
    handle: SwitchHandle | None = None
    tap: Tap | None = None
    file: BinaryIO | None = None
    state: str = "running"
    bytes: int = 0
    lost: int = 0


@dataclass
class Capture:
    """A capture that a client reads."""

    id: int
    session: Session
    switch: str
    handle: SwitchHandle
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
            if wanted.get(key) != mirror.config or not self._is_live(mirror.switch, mirror.handle):
                self._finish(mirror)
                del self._files[key]
        for key, config in wanted.items():
            if key not in self._files:
                self._files[key] = self._begin(*key, config)
        for capture in [c for c in self._captures if not self._is_live(c.switch, c.handle)]:
            # Its client would wait for frames that never come.
            self._captures.remove(capture)
            capture.tap.close()
            capture.session.hang_up()

    def _is_live(self, switch: str, handle: SwitchHandle | None) -> bool:
        """Whether the switch still is the one that is tapped."""
        live = self._controller.manager.live.get(switch)
        return live is not None and (handle is None or live.handle is handle)

    def _begin(self, switch: str, name: str, config: Mirror) -> FileMirror:
        mirror = FileMirror(switch, name, config)
        try:
            mirror.file = self._open(config.file)
            handle = self._controller.manager.live[switch].handle
            mirror.handle = handle
            mirror.tap = handle.tap(config.source, config.direction, config.snaplen)
            self._write(mirror, mirror.tap.header())
            self.wanted.set()
        except (OSError, DataPlaneError) as error:
            self._fail(mirror, error)
            self._end(mirror)
        return mirror

    def _finish(self, mirror: FileMirror) -> None:
        """Ends a mirror with all that it has seen, unless its switch is gone."""
        if mirror.tap is not None and self._is_live(mirror.switch, mirror.handle):
            self._pump_file(mirror, mirror.tap)
        self._end(mirror)

    def _open(self, name: str) -> BinaryIO:
        """A new file, never through a link that somebody laid."""
        self._folder.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.fdopen(os.open(self._folder / name, flags, 0o640), "wb")

    def _fail(self, mirror: FileMirror, error: Exception) -> None:
        """Says once why a mirror ends."""
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
                # What waits in the file's buffer has no room here either.
                self._fail(mirror, error)
            mirror.file = None

    def _write(self, mirror: FileMirror, data: bytes) -> None:
        assert mirror.file is not None
        mirror.file.write(data)
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
                data = tap.read()
                if not data:
                    break
                if mirror.bytes + len(data) > mirror.config.limit:
                    mirror.state = "full"
                    self._end(mirror)
                    return
                self._write(mirror, data)
            assert mirror.file is not None
            mirror.file.flush()
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
        tap = live[switch].handle.tap(chosen, direction, snaplen)
        capture = Capture(next(self._numbers), session, switch, live[switch].handle, tap)
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

    def stop_capture(self, session: Session, number: int) -> None:
        """Ends a capture of that client.

        Raises:
            UserError: It has none of that number.
        """
        for capture in self._captures:
            if capture.id == number and capture.session is session:
                self._pump_capture(capture)
                capture.tap.close()
                self._captures.remove(capture)
                return
        raise UserError(f"there is no capture {number} of this client")

    def stop_captures(self, session: Session) -> None:
        """Ends all captures of a client that is gone."""
        for capture in [item for item in self._captures if item.session is session]:
            capture.tap.close()
            self._captures.remove(capture)

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
