"""The start of the daemon: sockets and switches, before anything that takes long to load.

Frames are forwarded again as soon as the switches are up; operators, hosts and Prometheus wait for
the event loop, which takes longer to import than the switches to start.
"""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import shutil
from typing import TYPE_CHECKING, Self

from ndpstack import _logs
from ndpstack._errors import UserError
from ndpstack._priority import REFUSED, real_time
from switchd._process import drop_privileges, require_library
from switchd._sockets import Access, listening
from switchd.runtime import Manager

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from switchd.config import Config
    from switchd.config import Daemon as DaemonSettings
    from switchd.dataplane import DataPlane
    from switchd.plan import Plan

log = logging.getLogger("switchd")


class Started:
    """Sockets that nobody answers yet, and switches that run; a context manager."""

    control: socket.socket
    """Of operators."""
    hosts: socket.socket | None = None
    """Of hosts that want to know their paths."""
    manager: Manager
    """Of the switches."""

    def __init__(
        self, config: Config, plan: Plan, make_plane: Callable[[Config], DataPlane]
    ) -> None:
        """Starts them; ports whose device is not there follow later.

        Args:
            config: The configuration.
            plan: The switches that it describes.
            make_plane: Starts the data path.

        Raises:
            UserError: A socket or the data path cannot be had.
        """
        with contextlib.ExitStack() as stack:
            # First of all: with this socket another daemon has the ports, too.
            control = listening(str(config.daemon.control), control_access(config))
            self.control = stack.enter_context(control)
            if config.daemon.hosts:
                hosts = listening(config.daemon.hosts, Access(anybody=True))
                self.hosts = stack.enter_context(hosts)
            self.manager = Manager(make_plane(config))
            stack.callback(self.manager.close)
            self.manager.apply(plan, tolerant=True)
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends everything, the sockets last; may be called again."""
        self._stack.close()


def control_access(config: Config) -> Access:
    """Who may connect to the control socket."""
    return Access(config.daemon.control_group)


def configure_logs(daemon: DaemonSettings) -> None:
    """Levels and form as the configuration says, of this process's own and of the library's."""
    for name in ("switchd", "ndpstack"):
        _logs.configure(name, daemon.log, as_json=daemon.log_format == "json")


def namespaces(config: Config) -> set[str]:
    """Network namespaces whose kernel is followed."""
    found = {
        port.netns
        for switch in config.switch.values()
        for port in switch.port.values()
        if port.backend in ("xdp", "packet")
    }
    return found | {s.netns for s in config.switch.values() if s.forwarding == "fib"}


def real_plane(config: Config) -> DataPlane:
    """The data path in C, in a process that has given up what it does not need."""
    from switchd.dataplane._real import start

    level = config.daemon.priority
    # The thread of the data path has the priority of the one that starts it.
    with real_time(level) if level else contextlib.nullcontext("") as found:
        if found == REFUSED:
            log.warning("daemon.priority: %s; give CAP_SYS_NICE or LimitRTPRIO", found)
        # Before the first thread: capabilities belong to threads.
        drop_privileges(config.daemon.user, namespaces=bool(namespaces(config) - {""}))
        if config.daemon.user:
            require_library(config.daemon.user)
        return start(config.daemon)


def prepare(config: Config) -> None:
    """What needs root once: locked memory without limit, and a folder for the sockets.

    Raises:
        UserError: There is no such user.
    """
    with contextlib.suppress(ValueError, OSError):
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.setrlimit(resource.RLIMIT_MEMLOCK, unlimited)
    folder = config.daemon.control.parent
    try:
        is_ours = not folder.exists()  # /run and /tmp stay whose they are.
        folder.mkdir(parents=True, exist_ok=True)
        if is_ours and config.daemon.user and os.geteuid() == 0:
            shutil.chown(folder, config.daemon.user)
    except (OSError, LookupError) as error:
        raise UserError(f"{folder}: cannot be prepared for the sockets: {error}") from error
