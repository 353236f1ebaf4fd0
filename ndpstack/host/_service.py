"""The host service as a process: opens a core on an interface and serves until it is told to end.

A core that stops takes its sockets along and leaves nothing behind, however it ended: the filter
hangs on a BPF link, the service's name is abstract or is taken over, memory is anonymous.
"""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import signal
import socket
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

from ndpstack import __version__, _netns
from ndpstack._config import StackConfig
from ndpstack._documents import counters, document
from ndpstack._errors import UserError
from ndpstack._netlink import UNIVERSE, Netlink
from ndpstack._stack import Stack
from ndpstack._status import DEFAULT_SERVICE, StatusSocket
from ndpstack._systemd import listening_sockets, notify, watchdog_seconds
from ndpstack.errors import NdpError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ndpstack._config import Backend, Profile
    from ndpstack._stack import PortState

log = logging.getLogger("ndpstack.host")

LOOK_SECONDS: Final = 1.0
"""How often the port is looked at, to log what became of it."""


@dataclass(frozen=True, kw_only=True)
class ServiceConfig:
    """What `ndpstack host run` is asked for. What is left out follows the kernel."""

    interface: str | None = None
    """Its name; None: the only one that has an address and is not the loopback."""
    service: str = DEFAULT_SERVICE
    """What applications attach by: an abstract name, or the path of a socket."""
    backend: Backend = "xdp"
    profile: Profile = "adaptive"
    namespace: str | None = None
    """Network namespace to live in, by name."""
    cpu: int | None = None
    link_rate_bps: int = 0
    """Rate of the link, where the kernel does not know it or a switch paces it; 0: the kernel's."""
    switchd: str | None = None
    """Where a switchd serves hosts; see StackConfig.switchd."""
    host: str = ""
    """Our name in switchd's configuration; found by our addresses when empty."""
    record: str | None = None
    """File for a recording of all that the core is given; see `ndpstack replay`."""
    record_bytes: int = 0
    """Most that it takes; 0: 256 MiB."""


def choose_interface() -> str:
    """The only interface with an address that others can reach.

    Raises:
        UserError: There is none, or more than one.
    """
    with Netlink() as netlink:
        names = {
            socket.if_indextoname(found.interface)
            for found in netlink.addresses()
            if found.scope == UNIVERSE
        }
    if len(names) == 1:
        return names.pop()
    found = f"these have: {', '.join(sorted(names))}" if names else "none has an address"
    raise UserError(f"--interface: name the one to use; {found}")


def addresses_of(interface: str) -> tuple[str | None, str | None]:
    """The first IPv4 and the first IPv6 address of an interface that others can reach.

    Raises:
        UserError: There is no such interface, or it has none.
    """
    try:
        index = socket.if_nametoindex(interface)
    except OSError:
        raise UserError(f"{interface}: no such interface in this network namespace") from None
    found: dict[int, str] = {}
    with Netlink() as netlink:
        for own in netlink.addresses():
            if own.interface == index and own.scope == UNIVERSE:
                found.setdefault(own.family, own.address)
    v4, v6 = found.get(int(socket.AF_INET)), found.get(int(socket.AF_INET6))
    if v4 is None and v6 is None:
        raise UserError(
            f"{interface} has no address; ip address add ADDRESS/LENGTH dev {interface}"
        )
    return v4, v6


def plan(config: ServiceConfig) -> StackConfig:
    """The core's settings: what was asked for, and the rest from the kernel.

    Raises:
        UserError: The interface does not do.
    """
    interface = config.interface or choose_interface()
    v4, v6 = addresses_of(interface)
    stack = StackConfig(
        name=interface,
        backend=config.backend,
        address=v4 or v6 or "",
        address6=v6 if v4 else None,
        profile=config.profile,
        cpu=config.cpu,
        service=config.service,
        link_rate_bps=config.link_rate_bps,
        switchd=config.switchd,
        host=config.host,
        record=config.record,
        record_bytes=config.record_bytes,
        visible=False,  # The service tells of it, by its own name.
    )
    handed = listening_sockets()
    if len(handed) > 1:
        raise UserError(f"{len(handed)} sockets were handed down; the host service takes one")
    return replace(stack, service_socket=handed[0]) if handed else stack


class HostService:
    """One core and its service socket: `with HostService(config) as service: service.serve()`.

    Args:
        config: What to serve.

    Raises:
        UserError: It cannot be started; the text says why and what to do.
    """

    def __init__(self, config: ServiceConfig) -> None:
        if config.namespace is not None:
            try:
                _netns.enter(config.namespace)
            except OSError as error:
                text = f"--netns {config.namespace}: {error.strerror}; see `ip netns`"
                raise UserError(text) from None
        self.service = config.service
        self._began = time.monotonic()
        stack = plan(config)
        self._addresses = [text for text in (stack.address, stack.address6) if text]
        self._held = contextlib.ExitStack()
        with self._held as held:
            self._open(stack, held)
            self._held = held.pop_all()
        self._port: PortState | None = None
        self._stopping = False

    def _open(self, stack: StackConfig, held: contextlib.ExitStack) -> None:
        """The core, and the socket that tells of it."""
        try:
            self._stack = Stack(stack)
        except NdpError as error:
            raise UserError(str(error.strerror)) from error
        except ValueError as error:
            raise UserError(str(error)) from error
        held.callback(self._stack.close, drain=0)
        self._link_rate_bps = stack.link_rate_bps
        self._status = StatusSocket(stack.service or DEFAULT_SERVICE, self._document)
        held.callback(self._status.close)

    def _document(self, name: str) -> dict[str, object] | None:
        return self.describe() if name == "status" else document(self._stack, name)

    def describe(self) -> dict[str, object]:
        """What `ndpstack host status` shows."""
        state = self._stack.port_state()
        values = counters(self._stack)
        return {
            "schema_version": 1,
            "version": __version__,
            "service": self.service,
            "pid": os.getpid(),
            "uptime_s": round(time.monotonic() - self._began, 3),
            "interface": self._stack.name,
            "addresses": self._addresses,
            "port": {"state": state.state, "mode": state.mode, "note": state.note},
            "link_rate_bps": self._link_rate_bps,
            "switchd": self._stack.told(),
            "applications": values["core"]["apps_attached"] - values["core"]["apps_ended"] - 1,
            "counters": values,
        }

    def serve(self) -> None:
        """Serves until SIGTERM or SIGINT, which are as they were when it returns."""
        with self._signals() as reader, selectors.DefaultSelector() as selector:
            selector.register(reader, selectors.EVENT_READ)
            selector.register(self._status, selectors.EVENT_READ)
            self._look()
            notify("READY=1", f"STATUS={self._line()}")
            log.info("ready: %s", self._line())
            self._loop(selector)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[socket.socket]:
        """Has signals end it, and gives what is readable then."""
        with contextlib.ExitStack() as held:
            reader, writer = map(held.enter_context, socket.socketpair())
            reader.setblocking(False)
            writer.setblocking(False)
            held.callback(signal.set_wakeup_fd, signal.set_wakeup_fd(writer.fileno()))
            for number in (signal.SIGTERM, signal.SIGINT):
                before = signal.signal(number, self._stop)
                # None: not Python's, which cannot be put back.
                held.callback(signal.signal, number, before or signal.SIG_DFL)
            yield reader

    def _loop(self, selector: selectors.BaseSelector) -> None:
        watchdog = watchdog_seconds()
        patience = min(LOOK_SECONDS, watchdog / 2) if watchdog else LOOK_SECONDS
        while not self._stopping:
            for key, _ in selector.select(patience):
                if key.fileobj is self._status:
                    self._status.answer()
            self._look()
            if watchdog:
                notify("WATCHDOG=1")

    def _stop(self, number: int, _: object) -> None:
        log.info("%s: ending", signal.Signals(number).name)
        self._stopping = True

    def _look(self) -> None:
        """Logs what became of the port. The core answers: that is what the watchdog is told."""
        state = self._stack.port_state()
        if state == self._port:
            return
        level = logging.INFO if state.state == "up" else logging.WARNING
        log.log(level, "port %s: %s, %s%s", self._stack.name, state.state, state.mode,
                f": {state.note}" if state.note else "")  # fmt: skip
        self._port = state

    def _line(self) -> str:
        mode = self._port.mode if self._port else "?"
        return (
            f"service {self.service} on {self._stack.name} ({mode}), {', '.join(self._addresses)}"
        )

    def close(self) -> None:
        """Ends the core: applications get StackGone, peers are told. Idempotent."""
        notify("STOPPING=1")
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
