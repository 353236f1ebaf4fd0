"""What switchd tells a host: its link's rate when it starts, its paths whenever they change."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
from array import array
from typing import TYPE_CHECKING, Final, Self

from ndpstack._address import unpack
from ndpstack._core import ffi, lib
from ndpstack._errors import UserError
from ndpstack.host._sockets import raw_peers
from ndpstack.paths import PathWatcher

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ndpstack._stack import Stack
    from ndpstack.paths import HostSettings

log = logging.getLogger("ndpstack.host")

FIRST_SECONDS: Final = 1.0
"""How long a start waits for switchd; without it the host goes on with what it knows."""

_LATER: Final = (-errno.EAGAIN, -errno.ENOBUFS)


class Told:
    """Listens to a switchd; a context manager. Paths are given to the core by `apply` alone.

    Args:
        address: Where it serves hosts: a UNIX path, or ADDRESS:PORT.
        host: Our name there; found by our addresses when empty.
        addresses: Our own.
    """

    def __init__(self, address: str, host: str, addresses: Sequence[str]) -> None:
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._watcher = PathWatcher(address, host, addresses, self._ring)
        self._watcher.start()
        self._given: dict[int, bytes] = {}
        self._rate_bps: int | None = None

    def _ring(self, _: HostSettings) -> None:
        os.eventfd_write(self._bell, 1)

    def fileno(self) -> int:
        """Readable when something is new."""
        return self._bell

    def link_rate_bps(self) -> int:
        """The rate of our link, for a core that is about to start; 0 when nobody knows."""
        try:
            self._rate_bps = self._watcher.wait(FIRST_SECONDS).link_rate_bps
        except UserError as error:
            log.warning("%s; starting without: the link's rate is the interface's", error)
            return 0
        return self._rate_bps

    def describe(self) -> dict[str, object]:
        """What we were told last, for `ndpstack host status`."""
        settings = self._watcher.settings
        return {
            "connected": self._watcher.connected,
            "link_rate_bps": settings.link_rate_bps if settings else 0,
            "paths": [path.id for path in settings.paths] if settings else [],
        }

    def apply(self, stack: Stack) -> None:
        """Gives NDP the paths to the peers that it knows, where they are not those it has."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._bell)
        settings = self._watcher.settings
        if settings is None:
            return
        self._look_at_rate(settings.link_rate_bps)
        known = {}
        for row in raw_peers(stack):
            known[row.handle] = unpack(bytes(ffi.buffer(row.address)))
        self._given = {handle: ids for handle, ids in self._given.items() if handle in known}
        for handle, address in known.items():
            ids = array("H", (path.id for path in settings.paths_to(address))).tobytes()
            if ids and ids != self._given.get(handle) and self._give(stack, handle, ids):
                self._given[handle] = ids

    def _look_at_rate(self, rate_bps: int) -> None:
        if rate_bps != self._rate_bps:
            log.warning("switchd says %d bit/s of our link now: restart to use that", rate_bps)
            self._rate_bps = rate_bps

    @staticmethod
    def _give(stack: Stack, handle: int, ids: bytes) -> bool:
        code = lib.nd_app_send(
            stack.dispatcher.app, lib.ND_PROTO_NDP, lib.ND_COMMAND_PATHS, 0, handle, 0, 0, 0,
            lib.ND_NEVER, ids, len(ids),
        )  # fmt: skip
        if code not in _LATER:
            stack.dispatcher.check(code, "paths")
        return code >= 0

    def close(self) -> None:
        """Listens no longer."""
        self._watcher.close()
        os.close(self._bell)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
