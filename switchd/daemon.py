"""switchd: looks after switches that run, and answers operators and hosts."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Self

from ndpstack import _logs
from ndpstack._errors import UserError
from ndpstack._priority import step_back
from ndpstack._systemd import notify, watchdog_seconds
from ndpstack._units import counted
from switchd._controller import Controller
from switchd._kernel import Kernel, KernelState, kernel_forwarding
from switchd._mirrors import PUMP_SECONDS, Mirrors
from switchd._start import configure_logs, control_access, namespaces
from switchd._threads import in_thread
from switchd.control import Api, Limits, Server
from switchd.hosts import HOST_LIMITS, HostService
from switchd.metrics import Exporter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from ndpstack.switch import Opening
    from switchd._start import Started
    from switchd.config import Config, Loaded
    from switchd.dataplane import SwitchHandle
    from switchd.plan import Forwarding, SwitchPlan

log = logging.getLogger("switchd")

RETRY_SECONDS = 0.25
"""How often it is looked whether the device of a port has come."""

HANG_SECONDS = 3.0
"""A data path whose heartbeat stands still for so long hangs: systemd is no longer fed."""


class Daemon:
    """One process: `async with Daemon(...)` is its life; `wait` returns when it is to end."""

    def __init__(self, path: Path, loaded: Loaded, started: Started) -> None:
        """Prepares it.

        Args:
            path: Of the configuration.
            loaded: What it says.
            started: What runs already; it outlives the daemon.
        """
        self._path, self._loaded, self._started = path, loaded, started
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._namespaces: set[str] = set()
        self._follows = asyncio.Lock()
        self._events: dict[SwitchHandle, int] = {}
        """Descriptors of our own: a number whose switch is freed may be a client's at once."""
        self._logs: tuple[str, str] | None = None
        self._closing = False

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._make(self._loaded.config)
        try:
            await self._begin(self._loaded.config)
        except BaseException:
            await self.close()
            raise
        return self

    def _make(self, config: Config) -> None:
        """All parts, none of which does anything yet."""
        self.server = Server(control_limits(config))
        self.host_server = Server(HOST_LIMITS)
        self.manager = self._started.manager
        self.kernel = Kernel(self._link, self._kernel_state, self.manager.namespace_left)
        self.manager.on_change = self._changed
        self.manager.present, self.manager.link = self._present, self._link_of
        self.controller = Controller(self._path, self._loaded, self.manager, self._configured)
        self.mirrors = Mirrors(self.controller)
        self.hosts = HostService(self.controller)
        self.api = Api(self.controller, self.mirrors, self.hosts)
        self.api.server = self.server
        self.exporter = Exporter(self.controller, self.server, self.host_server)

    async def _begin(self, config: Config) -> None:
        self._configured()
        self._every(RETRY_SECONDS, self._retry)
        self._every(PUMP_SECONDS, self._pump)
        await self.server.serve(self._started.control, self.api)
        if self._started.hosts is not None:
            await self.host_server.serve(self._started.hosts, self.hosts)
        # Its imports take as long as all other things here: operators are answered meanwhile.
        await in_thread(self.exporter.listen, config.daemon.metrics)
        notify("READY=1", f"STATUS={self.status()}")
        self._spawn(self._watchdog)
        log.log(_logs.NOTICE, "%s", self.status())
        self.manager.events.add("config", "daemon", f"started: {self.status()}")

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends all but what it was given."""
        notify("STOPPING=1")
        self._closing = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for handle in list(self._events):
            self._ignore_ports(handle)
        self.exporter.close()
        await self.server.close()
        await self.host_server.close()
        self.mirrors.close()
        self.kernel.close()

    async def wait(self) -> None:
        """Returns when the daemon is to end."""
        await self._stop.wait()

    def stop(self) -> None:
        """Has `wait` return."""
        self._stop.set()

    def status(self) -> str:
        """What systemctl shows."""
        status = self.api.status()
        down = f", {status.ports_down} of them down" if status.ports_down else ""
        return (
            f"{counted(status.switches, 'switch', 'switches')} with "
            f"{counted(status.ports, 'port')}{down}"
        )

    async def reload(self) -> None:
        """SIGHUP; failures are logged and leave all as it was."""
        notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
        try:
            changes = await self.controller.reload()
            log.log(_logs.NOTICE, "reloaded, %d changes", len(changes))
            for change in changes:
                log.info("%s", "; ".join(line.strip() for line in change.lines()))
        except UserError as error:
            log.error("not reloaded, the old configuration stays: %s", error)
            self.manager.events.add("config", "daemon", f"not reloaded: {error}")
        except Exception as error:
            log.exception("not reloaded, the old configuration stays")
            self.manager.events.add("config", "daemon", f"not reloaded: {error!r}")
        finally:  # Else systemd waits for it, and kills in the end.
            notify("READY=1", f"STATUS={self.status()}")

    def request_reload(self) -> None:
        """Reloads soon."""
        self._spawn(self.reload)

    # ---- what happens ----

    def _configured(self) -> None:
        """Another configuration is in force."""
        config = self.controller.config
        logs = config.daemon.log, config.daemon.log_format
        if logs != self._logs:  # Else a level that an operator chose would go with any change.
            configure_logs(config.daemon)
            self._logs = logs
        self._namespaces = namespaces(config)
        self.mirrors.configure()
        self.hosts.refresh()
        self._follow_ports()
        self._spawn(self._follow_namespaces)

    def _follow_ports(self) -> None:
        """Hears of ports' states from the switches that there are now."""
        handles = [live.handle for live in self.manager.live.values()]
        for handle in [handle for handle in self._events if handle not in handles]:
            self._ignore_ports(handle)
        for handle in [handle for handle in handles if handle not in self._events]:
            descriptor = self._events[handle] = os.dup(handle.events_fd)
            self._loop.add_reader(descriptor, self._port_event, descriptor)
        self._spawn(self.controller.supervise)

    def _ignore_ports(self, handle: SwitchHandle) -> None:
        """Hears no more of a switch; the thread that frees it cannot wait for this one."""
        descriptor = self._events.pop(handle)
        self._loop.remove_reader(descriptor)
        os.close(descriptor)

    def _port_event(self, descriptor: int) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(descriptor, 8)
        self._spawn(self.controller.supervise)

    async def _retry(self) -> None:
        if self.manager.waits():
            await self.controller.supervise()

    async def _follow_namespaces(self) -> None:
        async with self._follows:  # The last one follows those of the last configuration.
            await in_thread(self.kernel.watch, self._namespaces)
        for _, _, port in self.manager.ports():
            opening = port.plan.opening
            up = self._link_of(opening)
            if up is not None:
                self.manager.link_changed(opening.netns, opening.device, up=up)
        await self._follow_routes()
        self.hosts.refresh()

    async def _follow_routes(self) -> None:
        await self.controller.follow_kernel(self._kernel_forwarding)

    def _kernel_forwarding(self, plan: SwitchPlan) -> Forwarding:
        return kernel_forwarding(self.kernel.state(plan.base.netns), plan)

    def _changed(self) -> None:
        """Ports or their states changed; called from any thread."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.hosts.refresh)

    def _link(self, netns: str, device: str, up: bool) -> None:
        """From the thread that listens to the kernel: hosts are to hear of it at once."""
        self.manager.link_changed(netns, device, up=up)

    def _kernel_state(self, netns: str, state: KernelState) -> None:  # noqa: ARG002
        """From the thread that listens to the kernel."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(lambda: self._spawn(self._follow_routes))

    def _present(self, opening: Opening) -> bool:
        return opening.backend not in ("xdp", "packet") or self.kernel.present(
            opening.netns, opening.device
        )

    def _link_of(self, opening: Opening) -> bool | None:
        has_interface = opening.backend in ("xdp", "packet")
        return self.kernel.link(opening.netns, opening.device) if has_interface else None

    # ---- what goes on ----

    def _spawn(self, work: Callable[[], Awaitable[None]]) -> None:
        if self._closing:  # What happens now concerns nobody, and nobody would wait for the task.
            return

        async def guarded() -> None:
            try:
                await work()
            except Exception:
                log.exception("a task of the daemon failed")

        task = self._loop.create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _every(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        async def repeat() -> None:
            while True:
                await asyncio.sleep(seconds)
                try:
                    await work()
                except Exception:
                    log.exception("a periodic task of the daemon failed")

        self._spawn(repeat)

    async def _pump(self) -> None:
        await self.mirrors.wanted.wait()
        self.mirrors.pump()

    async def _watchdog(self) -> None:
        """Feeds systemd as long as the data path's heart beats."""
        wanted = watchdog_seconds()
        rounds, beat_at, hangs = -1, time.monotonic(), False
        while True:
            now, beat = time.monotonic(), self.manager.plane.heartbeat().rounds
            if beat != rounds:
                rounds, beat_at, hangs = beat, now, False
            elif now - beat_at > HANG_SECONDS and not hangs:
                hangs = True
                log.critical("the data path hangs: no round for %.1f s", now - beat_at)
            if wanted is not None and not hangs:
                notify("WATCHDOG=1", f"STATUS={self.status()}")
            await asyncio.sleep(min(wanted / 3 if wanted else 1.0, 1.0))


def serve(path: Path, loaded: Loaded, started: Started, *, tethered: bool = False) -> None:
    """Answers for the switches until a signal ends it, or its starter's end if it is tethered.

    Args:
        path: Of the configuration.
        loaded: What it says.
        started: What runs already.
        tethered: Whether it ends with standard input.
    """
    daemon = Daemon(path, loaded, started)
    try:
        import uvloop
    except ImportError:
        log.warning("uvloop is not installed: pip install 'ndpstack[switch]'; asyncio's loop it is")
        asyncio.run(_serve(daemon, tethered))
    else:
        uvloop.run(_serve(daemon, tethered))


async def _serve(daemon: Daemon, tethered: bool) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, daemon.stop)
    if tethered:
        loop.add_reader(sys.stdin.fileno(), daemon.stop)
    async with daemon:
        step_back()  # From now on packets wait for no answer to an operator; a start is in a hurry.
        loop.add_signal_handler(signal.SIGHUP, daemon.request_reload)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})  # See _entry.
        await daemon.wait()


def control_limits(config: Config) -> Limits:
    """Of the control socket."""
    daemon = config.daemon
    return Limits(daemon.clients_max, daemon.client_cpu / 1e6, control_access(config))
