"""A whole daemon in a thread of the test, over the data path in memory."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from fake_dataplane import FakeDataPlane

from ndpstack.control import Client
from switchd._start import Started
from switchd.config import load
from switchd.daemon import Daemon
from switchd.plan import build_plan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from switchd.config import Config
    from switchd.dataplane import DataPlane

CONFIG = """\
[daemon]
control = "control.sock"
hosts = "{folder}/hosts.sock"
metrics = ""
captures = "{folder}"

[switch.tor0]

[switch.tor0.port.h1]
backend = "memory"
rate = "10Gbit"
phantom = {{}}

[switch.tor0.port.h2]
backend = "memory"
profile = "homa"

[[path]]
id = 1
value = 1
via = ["tor0/h2"]

[[path]]
id = 2
value = 2

[host.h1]
port = "tor0/h1"
address = ["10.0.0.1"]
"""


class RunningDaemon:
    """A daemon that runs in a thread."""

    def __init__(
        self, folder: Path, make_plane: Callable[[Config], DataPlane] | None = None
    ) -> None:
        self.folder = folder
        self.path = folder / "switchd.toml"
        self.plane = FakeDataPlane()
        self._make_plane = make_plane or (lambda _: self.plane)
        self._ready = threading.Event()
        self.left: set[asyncio.Task[object]] = set()  # Tasks that outlived the daemon.
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def write(self, text: str) -> None:
        """Replaces the configuration file."""
        self.path.write_text(text.format(folder=self.folder))

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(10)
        if self._error:
            raise self._error

    def stop(self) -> None:
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.daemon.stop)
            self._thread.join(10)
            assert not self._thread.is_alive()

    def client(self) -> Client:
        return Client(str(self.folder / "control.sock"), 5.0)

    def on_loop(self, work: Callable[[], object]) -> None:
        """Runs a function on the daemon's loop, and waits for it."""

        async def run() -> None:
            work()

        asyncio.run_coroutine_threadsafe(run(), self.loop).result(5)

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:
            self._error = error
        finally:
            self._ready.set()

    async def _main(self) -> None:
        self.loop = asyncio.get_running_loop()
        loaded = load(self.path)
        with Started(loaded.config, build_plan(loaded), self._make_plane) as started:
            self.daemon = Daemon(self.path, loaded, started)
            async with self.daemon:
                self._ready.set()
                await self.daemon.wait()
            self.left = {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}
