"""What switchd tells the hosts of a run: each its paths and its rate, as they change."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from typing import TYPE_CHECKING, Self

from ndpstack.paths import PathWatcher

if TYPE_CHECKING:
    from ndpstack.paths import HostSettings

SETTINGS_SECONDS = 30.0
"""How long the first settings of a host may take."""


class Told:
    """A watcher for each host, and one descriptor for all of them; a context manager."""

    def __init__(self, address: str, hosts: list[str]) -> None:
        """Waits until all hosts know their settings.

        Args:
            address: Where switchd serves hosts; nothing is told, ever, when it is empty.
            hosts: Names of the hosts.

        Raises:
            UserError: A host is not told in time.
        """
        self.descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        """Readable when there are changes."""
        self._changed: deque[int] = deque()
        self._stack = contextlib.ExitStack()
        self._stack.callback(os.close, self.descriptor)
        with self._stack:
            self._watchers = [
                self._stack.enter_context(self._watcher(address, number, name))
                for number, name in enumerate(hosts if address else [])
            ]
            for watcher in self._watchers:
                watcher.wait(SETTINGS_SECONDS)
            self._stack = self._stack.pop_all()

    def _watcher(self, address: str, number: int, name: str) -> PathWatcher:
        def changed(_: HostSettings) -> None:
            self._changed.append(number)
            os.eventfd_write(self.descriptor, 1)

        return PathWatcher(address, name, on_change=changed)

    def settings(self, host: int) -> HostSettings | None:
        """What a host knows; None where nobody tells."""
        return self._watchers[host].settings if self._watchers else None

    def changes(self) -> list[int]:
        """Hosts whose settings are new since the last call."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self.descriptor)
        found = set()
        while self._changed:
            found.add(self._changed.popleft())
        return sorted(found)

    def close(self) -> None:
        """Listens no longer; may be called again."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
