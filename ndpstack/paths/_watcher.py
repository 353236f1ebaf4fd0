"""Keeps a host's settings current in the background."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import threading
import time
from typing import TYPE_CHECKING, Self

from ndpstack._errors import UserError
from ndpstack.control import Client
from ndpstack.paths._settings import HostSettings, SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

log = logging.getLogger("ndpstack.paths")

RETRY_SECONDS_MIN = 0.05
RETRY_SECONDS_MAX = 2.0
PROBE_SECONDS = 5.0
"""How long a silent connection is believed in."""
CALL_SECONDS = 2.0


class PathWatcher:
    """Settings of one host; usable from any thread."""

    def __init__(
        self,
        address: str,
        host: str = "",
        addresses: Sequence[str] = (),
        on_change: Callable[[HostSettings], None] | None = None,
    ) -> None:
        """Prepares a watcher; `start`, or `with`, connects it.

        Args:
            address: Where switchd serves hosts: a UNIX path, or ADDRESS:PORT.
            host: Name of this host in switchd's configuration.
            addresses: Its addresses, by which it is found when it has no name.
            on_change: Called with new settings, from the watcher's thread.
        """
        self._address, self._host, self._addresses = address, host, list(addresses)
        self._on_change = on_change
        self._settings: HostSettings | None = None
        self._changed = threading.Condition()
        self._connected = False
        self._problem = "not started"
        self._wake_read, self._wake_write = os.pipe()
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def settings(self) -> HostSettings | None:
        """The last settings that were told; None before the first."""
        return self._settings

    @property
    def connected(self) -> bool:
        """Whether the daemon is there: if not, settings may be old."""
        return self._connected

    def start(self) -> None:
        """Connects in the background; at once when the daemon is there, else when it comes."""
        self._thread = threading.Thread(target=self._run, name="ndpstack-paths", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends it; may be called again."""
        if self._closed:
            return
        self._closed = True
        os.write(self._wake_write, b"x")
        if self._thread is not None:
            self._thread.join()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait(self, timeout_seconds: float = 5.0, after_generation: int = -1) -> HostSettings:
        """Settings, newer than a generation if one is given.

        Raises:
            UserError: There are none in that time; the text says what was wrong last.
        """

        def newer() -> bool:
            return self._settings is not None and self._settings.generation > after_generation

        with self._changed:
            if not self._changed.wait_for(newer, timeout_seconds):
                raise UserError(f"{self._address}: no settings: {self._problem}")
            assert self._settings is not None
            return self._settings

    def _run(self) -> None:
        retry = RETRY_SECONDS_MIN
        while not self._closed:
            began = time.monotonic()
            try:
                with Client(self._address, CALL_SECONDS) as client:
                    self._follow(client)
            except (UserError, SettingsError) as error:
                self._problem = str(error)
                log.info("%s", error)
            self._connected = False
            long_lived = time.monotonic() - began > PROBE_SECONDS
            retry = RETRY_SECONDS_MIN if long_lived else min(2 * retry, RETRY_SECONDS_MAX)
            select.select([self._wake_read], [], [], retry)

    def _follow(self, client: Client) -> None:
        """Takes in what the daemon tells, until it is gone."""
        answer = client.call("subscribe", host=self._host, addresses=self._addresses)
        self._connected = True
        self._take(answer)
        while not self._closed:
            descriptors = [client.fileno(), self._wake_read]
            ready = select.select(descriptors, [], [], PROBE_SECONDS)[0]
            if not ready:
                client.call("version")
            if client.fileno() in ready:
                for message in client.notifications(0):
                    if message.method == "settings":
                        self._take(message.params)

    def _take(self, value: object) -> None:
        settings = HostSettings.from_wire(value)
        with self._changed:
            self._settings = settings
            self._changed.notify_all()
        if self._on_change is not None:
            with contextlib.suppress(Exception):
                self._on_change(settings)
