"""Keeps a host's settings current in the background."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import select
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Final, Self

from ndpstack._errors import UserError
from ndpstack.control import Client
from ndpstack.paths._settings import HostSettings, SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

log = logging.getLogger("ndpstack.paths")

RETRY_SECONDS_MIN: Final = 0.05
RETRY_SECONDS_MAX: Final = 2.0
PROBE_SECONDS: Final = 5.0
"""How long a silent connection is believed in."""
CALL_SECONDS: Final = 2.0
MESSAGE_BYTES_MAX: Final = 4 * 2**20
"""Longest message that a host reads: settings with as many paths as it takes."""
NAMES_MAX: Final = 64
"""Names of settings whose refusals are counted one by one."""
OTHERS: Final = "others"
"""Stands for all names beyond those."""


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
        self.address = address
        self._host, self._addresses = host, list(addresses)
        self._on_change = on_change
        self._settings: HostSettings | None = None
        self._changed = threading.Condition()
        self._connected = False
        self._problem = "not started"
        self._outages = 0
        self._refused: Counter[str] = Counter()
        self._reasons: dict[str, str] = {}
        self._wake_read, self._wake_write = os.pipe()
        self._thread: threading.Thread | None = None
        self._process = os.getpid()
        self._closed = False

    @property
    def settings(self) -> HostSettings | None:
        """The last settings that were told; None before the first."""
        return self._settings

    @property
    def connected(self) -> bool:
        """Whether the daemon is there: if not, settings may be old."""
        return self._connected

    @property
    def problem(self) -> str:
        """Why the daemon was away last, or is; empty when it never was."""
        return self._problem

    @property
    def outages(self) -> int:
        """Times that the daemon went away."""
        return self._outages

    @property
    def refused(self) -> Mapping[str, int]:
        """How often each setting was refused, by name."""
        return dict(self._refused)

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why settings of the last message were refused, by name."""
        return self._reasons

    def start(self) -> None:
        """Connects in the background; at once when the daemon is there, else when it comes."""
        self._thread = threading.Thread(target=self._run, name="ndpstack-paths", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends it; may be called again. A fork's child leaves its parent's alone."""
        if self._closed:
            return
        self._closed = True
        if self._process == os.getpid():
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
                raise UserError(f"{self.address}: no settings: {self._problem}")
            assert self._settings is not None
            return self._settings

    def _run(self) -> None:
        retry = RETRY_SECONDS_MIN
        while not self._closed:
            began = time.monotonic()
            try:
                with Client(self.address, CALL_SECONDS, MESSAGE_BYTES_MAX) as client:
                    self._follow(client)
            except (UserError, SettingsError) as error:
                self._lose(str(error))
            long_lived = time.monotonic() - began > PROBE_SECONDS
            retry = RETRY_SECONDS_MIN if long_lived else min(2 * retry, RETRY_SECONDS_MAX)
            # Hosts that lost the same daemon do not all come back at once.
            select.select([self._wake_read], [], [], retry * random.uniform(0.5, 1))

    def _lose(self, problem: str) -> None:
        """The daemon is away, or was never there: said once, until it is back."""
        first = self._connected or not self._outages
        self._connected, self._problem = False, problem
        if first:
            self._outages += 1
            old = "; the last settings stay" if self._settings else ""
            log.warning("%s%s; trying again", problem, old)

    def _follow(self, client: Client) -> None:
        """Takes in what the daemon tells, until it is gone."""
        answer = client.call("subscribe", host=self._host, addresses=self._addresses)
        self._take(answer)
        if self._outages:
            log.info("%s: switchd is there again", self.address)
        self._connected = True
        while not self._closed:
            descriptors = [client.fileno(), self._wake_read]
            if not select.select(descriptors, [], [], PROBE_SECONDS)[0]:
                client.call("version")
            # Also those that came while that was answered.
            told = [m.params for m in client.notifications(0) if m.method == "settings"]
            if told:
                self._take(told[-1])

    def _take(self, value: object) -> None:
        settings, reasons = HostSettings.from_wire(value, self._settings)
        for name, reason in reasons.items():
            if self._reasons.get(name) != reason:
                log.warning("%s: %s refused: %s", self.address, name, reason)
            known = name in self._refused or len(self._refused) < NAMES_MAX
            self._refused[name if known else OTHERS] += 1
        self._reasons = reasons
        with self._changed:
            self._settings = settings
            self._changed.notify_all()
        if self._on_change is not None:
            with contextlib.suppress(Exception):
                self._on_change(settings)
