"""A switchd of our own: started with a configuration, waited for, asked, ended."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from ndpstack.control import Client
from ndpstack.testbed._errors import TestbedError
from ndpstack.testbed._settings import HOSTS_SOCKET, SOCKET
from ndpstack.toml import to_toml

if TYPE_CHECKING:
    from pathlib import Path

    from ndpstack.toml import Table

START_SECONDS = 60.0
"""How long a daemon may take until its ports are open."""

LOOK_SECONDS = 0.05
"""How often it is looked whether a daemon that is not ready has ended."""

STOP_SECONDS = 10.0
"""How long a daemon may take to end after SIGTERM."""

CALL_SECONDS = 30.0
"""How long an answer may take, on a machine that has much else to do."""

LOG_LINES = 5
"""Last lines of its log that an error shows."""

CONFIG, LOG, NOTIFY = "switchd.toml", "switchd.log", "notify.sock"

SOCKET_PATH_BYTES = 107
"""Most that the kernel takes."""


class Switchd:
    """A daemon and its folder: its configuration, its control socket, its log.

    It ends with this process, however that ends: its standard input is a pipe of ours.

    Args:
        folder: Where its files are.
        settings: Its configuration.

    Raises:
        TestbedError: It does not start; the text says what its log does.
    """

    def __init__(self, folder: Path, settings: Table) -> None:
        _require_short(folder)
        self._folder = folder
        self._client: Client | None = None
        config = folder / CONFIG
        config.write_text(to_toml(settings))
        with (
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready,
            (folder / LOG).open("wb") as log,
        ):
            ready.bind(str(folder / NOTIFY))
            environment = {**os.environ, "NOTIFY_SOCKET": str(folder / NOTIFY)}
            environment.pop("WATCHDOG_USEC", None)
            self._process = subprocess.Popen(
                # -P: sources in the current folder must not hide the package that is installed.
                [sys.executable, "-P", "-m", "switchd", "--config", str(config), "--tethered"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
            try:
                self._wait(ready)
                self._client = Client(self.control, CALL_SECONDS)
            except BaseException:
                self.close()
                raise
            finally:
                (folder / NOTIFY).unlink()

    @property
    def control(self) -> str:
        """Path of its control socket, for `switchctl --socket`."""
        return str(self._folder / SOCKET)

    def call(self, method: str, **params: object) -> object:
        """Asks it; see the control API.

        Raises:
            UserError: It refused, or is gone.
        """
        assert self._client is not None
        return self._client.call(method, **params)

    def wait(self) -> None:
        """Returns never: a daemon that nobody ends runs on.

        Raises:
            TestbedError: It ended.
        """
        self._process.wait()
        raise self._ended()

    def close(self) -> None:
        """Ends it; may be called again."""
        if self._client is not None:
            self._client.close()
            self._client = None
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()

    def _wait(self, ready: socket.socket) -> None:
        """Until it says that it is ready."""
        ready.settimeout(LOOK_SECONDS)
        deadline = time.monotonic() + START_SECONDS
        while True:
            with contextlib.suppress(TimeoutError):
                if b"READY=1" in ready.recv(4096):
                    return
            if self._process.poll() is not None:
                raise self._ended()
            if time.monotonic() > deadline:
                raise TestbedError(
                    f"switchd was not ready in {START_SECONDS:.0f} s: {self._last_words()}"
                )

    def _ended(self) -> TestbedError:
        return TestbedError(
            f"switchd ended by itself with {self._process.returncode}: {self._last_words()}"
        )

    def _last_words(self) -> str:
        lines = (self._folder / LOG).read_text(errors="replace").splitlines()
        return "; ".join(lines[-LOG_LINES:]) or "without a word"


def _require_short(folder: Path) -> None:
    longest = max(len(os.fsencode(folder / name)) for name in (SOCKET, HOSTS_SOCKET, NOTIFY))
    if longest > SOCKET_PATH_BYTES:
        raise TestbedError(
            f"{folder}: sockets in it would have paths of {longest} bytes, more than the "
            f"{SOCKET_PATH_BYTES} that are possible; set TMPDIR to a shorter one"
        )
