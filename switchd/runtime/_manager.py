"""The switches as they run: the plan in force, the links' states, and what becomes of failures."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from switchd._events import Events
from switchd.dataplane import DataPlaneError
from switchd.runtime._apply import Applier
from switchd.runtime._ports import RETRY_SECONDS, follow_link

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ndpstack.switch import Opening
    from switchd.dataplane import DataPlane
    from switchd.plan import Change, Forwarding, Plan
    from switchd.runtime._ports import LivePort, LiveSwitch

log = logging.getLogger("switchd.manager")

REOPEN_STATES = ("gone", "changed", "stuck")
"""States of a port whose remedy is to open it again."""


class Manager:
    """Owns the data path's configuration.

    `apply`, `supervise` and `set_kernel_routes` may take seconds and are called one at a time; the
    others return at once and may be called meanwhile.
    """

    on_change: Callable[[], None]
    """Called after ports or their states changed, from the thread that did it."""
    present: Callable[[Opening], bool]
    """Whether it is worth trying to open that device again."""
    link: Callable[[Opening], bool | None]
    """What the kernel last said of that interface's link; None where it says nothing."""

    def __init__(self, plane: DataPlane) -> None:
        """Begins with no switch."""
        self.plane = plane
        self.live: dict[str, LiveSwitch] = {}
        self.events = Events()
        self.on_change = lambda: None
        self.present = lambda _: True
        self.link = lambda _: None

    @property
    def plan(self) -> Plan:
        """The plan in force."""
        return {name: live.plan for name, live in self.live.items()}

    def apply(self, plan: Plan, *, tolerant: bool = False) -> list[Change]:
        """Makes the data path what the plan says, or leaves it as it was.

        Args:
            plan: What it is to be.
            tolerant: A device that cannot be opened leaves its port down in place of failing; it is
                tried again until it can.

        Raises:
            DataPlaneError: Nothing has changed; the text says why.
        """
        try:
            return Applier(self.plane, self.live, tolerant, self.link).apply(plan)
        finally:
            self.on_change()

    def ports(self) -> Iterator[tuple[str, LiveSwitch, LivePort]]:
        """All ports, each with the name of its switch."""
        for name, live in list(self.live.items()):
            for port in list(live.ports.values()):
                yield name, live, port

    def forwards(self, path: str) -> bool:
        """Whether frames may leave by the port "switch/port"."""
        switch, _, port = path.partition("/")
        live = self.live.get(switch)
        return live is not None and port in live.ports and live.ports[port].forwards

    def link_changed(self, netns: str, device: str, *, up: bool) -> bool:
        """The kernel says that an interface went down or came up; whether it is a port's."""
        found = False
        for name, live, port in self.ports():
            opening = port.plan.opening
            wanted = (opening.netns, opening.device)
            if port.has_interface and wanted == (netns, device):
                found = True
                self._set_link(name, live, port, up=up)
        return found

    def _set_link(self, name: str, live: LiveSwitch, port: LivePort, *, up: bool) -> None:
        if port.link_up == up:
            return
        port.link_up = up
        state = "up" if up else "down"
        log.info("link of %s/%s is %s", name, port.plan.name, state)
        self.events.add("link", f"{name}/{port.plan.name}", state)
        if port.has_interface:
            try:
                live.handle.set_link(port.plan.name, up=port.in_use)
            except DataPlaneError as error:
                # It is being changed in another thread, which sets the link at its end.
                log.info("link of %s/%s: %s", name, port.plan.name, error)
        self.on_change()

    def namespace_left(self, netns: str) -> None:
        """The name of a network namespace is that of nothing now, or of another one.

        Sockets go on in the old one, which lives as long as they do: its ports are opened again.
        """
        for name, _, port in self.ports():
            if port.has_interface and port.plan.opening.netns == netns and not port.error:
                port.error = f"network namespace {netns} was deleted, or made anew"
                self._failed(name, port)

    def set_kernel_routes(self, switch: str, forwarding: Forwarding) -> None:
        """The kernel's FIB changed."""
        live = self.live.get(switch)
        if live is None or live.kernel == forwarding:
            return
        live.kernel = forwarding
        self.events.add("routes", switch, f"the kernel has {len(forwarding.routes)}")
        try:
            live.handle.set_forwarding(live.forwarding(live.plan))
        except DataPlaneError as error:
            log.error("routes of %s are stale: %s", switch, error)

    def waits(self) -> bool:
        """Whether a port waits for its device."""
        return any(port.error for _, _, port in self.ports())

    def supervise(self) -> None:
        """Follows links that the kernel knows nothing of, and opens again what has to be."""
        now = time.monotonic()
        for name, live in list(self.live.items()):
            readings = live.handle.read().ports
            for port in list(live.ports.values()):
                reading = readings.get(port.plan.name)
                if port.error:
                    if now >= port.retry_at and self.present(port.plan.opening):
                        self._reopen(name, live, port)
                elif reading is not None and reading.state in REOPEN_STATES:
                    port.error = f"{reading.state}: {reading.reason}"
                    self._failed(name, port)
                    self._reopen(name, live, port)
                elif reading is not None and not port.has_interface:
                    self._set_link(name, live, port, up=reading.state == "up")

    def _reopen(self, name: str, live: LiveSwitch, port: LivePort) -> None:
        """Closes a port's device and opens it again; if that fails, it is tried later."""
        before, port.retry_at = port.error, time.monotonic() + RETRY_SECONDS
        try:
            live.handle.reopen_port(port.plan)
        except DataPlaneError as error:
            port.error = str(error)
            if port.error != before:
                self._failed(name, port)
        else:
            port.actual, port.error = port.plan, ""
            follow_link(port, self.link)
            port.reopened += 1
            log.info("port %s/%s is open again", name, port.plan.name)
            self.events.add("port", f"{name}/{port.plan.name}", "open again")
        live.handle.set_link(port.plan.name, up=port.in_use)
        self.on_change()

    def _failed(self, name: str, port: LivePort) -> None:
        log.warning("port %s/%s: %s", name, port.plan.name, port.error)
        self.events.add("port", f"{name}/{port.plan.name}", port.error)

    def audit(self) -> list[str]:
        """What breaks conservation, by switch."""
        found = ((name, live.handle.audit()) for name, live in list(self.live.items()))
        return [f"{name}: {text}" for name, text in found if text]

    def close(self) -> None:
        """Stops the data path."""
        self.live.clear()
        self.plane.close()
