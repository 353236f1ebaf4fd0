"""Carries a plan out step by step, and takes every step back when one fails."""

from __future__ import annotations

import dataclasses
import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from switchd.dataplane import DataPlane, DataPlaneError
from switchd.plan import Change, Forwarding, Plan, SwitchPlan, differences
from switchd.runtime._ports import RETRY_SECONDS, LivePort, LiveSwitch, follow_link, stand_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from ndpstack.switch import Opening, PortConfig

log = logging.getLogger("switchd.apply")

Device = tuple[str, str, str]


def device_of(opening: Opening) -> Device:
    """What two ports cannot have both."""
    kind = "interface" if opening.backend in ("xdp", "packet") else opening.backend
    return kind, opening.netns, opening.device


def close_port(live: LiveSwitch, name: str) -> None:
    """Takes a port away."""
    live.handle.remove_port(name)
    del live.ports[name]


@dataclass
class Applier:
    """One change of the data path.

    What can fail comes first: new ports, new devices. What cannot fail, that is what goes away,
    comes last, except where a new port needs the device of an old one.
    """

    plane: DataPlane
    live: dict[str, LiveSwitch]
    tolerant: bool
    """Ports that cannot be opened get a stand-in in place of failing the change."""
    link: Callable[[Opening], bool | None]
    """As the manager's."""
    _undo: list[Callable[[], None]] = field(default_factory=list)

    def apply(self, new: Plan) -> list[Change]:
        """Makes the data path what the plan says, or raises and leaves it as it was."""
        changes = differences({name: live.plan for name, live in self.live.items()}, new)
        try:
            self._free_devices(new)
            for plan in new.values():
                self._build(plan)
            for name, plan in new.items():
                self._forward(self.live[name], plan)
        except Exception:
            self._roll_back()
            raise
        self._remove_the_rest(new)
        return changes

    def _roll_back(self) -> None:
        while self._undo:
            try:
                self._undo.pop()()
            except Exception:
                log.exception("cannot restore what was before")
        # Also of switches whose forwarding no step set: what led to a port went with the port.
        for name, live in self.live.items():
            try:
                self._forward(live, live.plan)
            except Exception:
                log.exception("cannot restore what %s forwarded before", name)

    def _free_devices(self, new: Plan) -> None:
        """Closes what is opened again, and what holds a device that is needed."""
        wanted = self._wanted(new)
        for name, live in list(self.live.items()):
            held = {device_of(port.actual.opening) for port in live.ports.values()}
            if name not in new:
                if held & wanted:
                    self._remove_switch(live)
            elif live.plan.base != new[name].base:
                self._remove_switch(live)
            else:
                self._free_ports(live, new[name], wanted)

    def _free_ports(self, live: LiveSwitch, new: SwitchPlan, wanted: set[Device]) -> None:
        for name, port in list(live.ports.items()):
            after = new.ports.get(name)
            if after is None:
                if device_of(port.actual.opening) in wanted:
                    self._remove_port(live, name)
            elif after.opening != port.plan.opening:
                self._vacate(live, port)

    def _wanted(self, new: Plan) -> set[Device]:
        """Devices that are opened."""
        wanted = set()
        for name, plan in new.items():
            live = self.live.get(name)
            same = live.ports if live and live.plan.base == plan.base else {}
            for port in plan.ports.values():
                if port.name not in same or same[port.name].plan.opening != port.opening:
                    wanted.add(device_of(port.opening))
        return wanted

    def _remove_switch(self, live: LiveSwitch) -> None:
        self._undo.append(lambda: self._restore_switch(live.plan))
        name = live.plan.base.name
        del self.live[name]
        self.plane.remove_switch(name)

    def _restore_switch(self, plan: SwitchPlan) -> None:
        again = Applier(self.plane, self.live, tolerant=True, link=self.link)
        again._build(plan)
        self.live[plan.base.name].plan = plan

    def _vacate(self, live: LiveSwitch, port: LivePort) -> None:
        """Closes the device of a port that gets another one; its queue and counters stay."""
        before = port.plan
        self._undo.append(lambda: self._occupy(live, port, before, tolerant=True))
        self._leave(live, port)

    def _leave(self, live: LiveSwitch, port: LivePort) -> None:
        port.actual = stand_in(port.plan)
        live.handle.reopen_port(port.actual)

    def _occupy(
        self, live: LiveSwitch, port: LivePort, plan: PortConfig, *, tolerant: bool
    ) -> None:
        """Opens the device of a port that has a stand-in."""
        try:
            live.handle.reopen_port(plan)
        except DataPlaneError as error:
            if not tolerant:
                raise
            port.error, port.retry_at = str(error), time.monotonic() + RETRY_SECONDS
            log.warning("port %s/%s is down: %s", live.plan.base.name, plan.name, error)
        else:
            port.plan = port.actual = plan
            port.error = ""
            follow_link(port, self.link)
        live.handle.set_link(plan.name, up=port.in_use)

    def _open_port(self, live: LiveSwitch, plan: PortConfig, *, tolerant: bool) -> None:
        """Adds a port; where its device cannot be opened, a stand-in, or the error."""
        port = LivePort(plan, plan)
        try:
            live.handle.add_port(plan)
        except DataPlaneError as error:
            if not tolerant:
                raise
            port.actual, port.error = stand_in(plan), str(error)
            port.retry_at = time.monotonic() + RETRY_SECONDS
            live.handle.add_port(port.actual)
            log.warning("port %s/%s is down: %s", live.plan.base.name, plan.name, error)
        live.ports[plan.name] = port
        follow_link(port, self.link)
        if not port.in_use:
            live.handle.set_link(plan.name, up=False)

    def _remove_port(self, live: LiveSwitch, name: str) -> None:
        plan = live.ports[name].plan
        self._undo.append(lambda: self._open_port(live, plan, tolerant=True))
        close_port(live, name)

    def _build(self, plan: SwitchPlan) -> None:
        """Makes the switch if there is none, and its ports."""
        name = plan.base.name
        if name not in self.live:
            empty = SwitchPlan(plan.base, {}, Forwarding())
            self.live[name] = LiveSwitch(empty, self.plane.add_switch(plan.base))
            self._undo.append(lambda: self._drop_switch(name))
        live = self.live[name]
        for port in plan.ports.values():
            self._port(live, port)

    def _drop_switch(self, name: str) -> None:
        del self.live[name]
        self.plane.remove_switch(name)

    def _port(self, live: LiveSwitch, plan: PortConfig) -> None:
        known = live.ports.get(plan.name)
        if known is None:
            self._open_port(live, plan, tolerant=self.tolerant)
            self._undo.append(lambda: close_port(live, plan.name))
        elif known.plan != plan:
            before = known.plan
            self._undo.append(lambda: self._set(live, before))
            self._set(live, plan)
            if plan.opening != before.opening:
                self._occupy(live, known, plan, tolerant=self.tolerant)
                self._undo.append(lambda: self._leave(live, known))

    def _set(self, live: LiveSwitch, plan: PortConfig) -> None:
        """Gives a port another plan; its device stays, or its stand-in."""
        port = live.ports[plan.name]
        actual = dataclasses.replace(plan, opening=port.actual.opening)
        live.handle.set_port(actual)
        port.plan, port.actual = plan, actual
        live.handle.set_link(plan.name, up=port.in_use)

    def _forward(self, live: LiveSwitch, plan: SwitchPlan) -> None:
        live.handle.set_forwarding(live.forwarding(plan))

    def _remove_the_rest(self, new: Plan) -> None:
        """What is left over, now that nothing leads there; and the plan is the one in force."""
        for name, live in list(self.live.items()):
            if name not in new:
                self._drop_switch(name)
                continue
            for port in [port for port in live.ports if port not in new[name].ports]:
                close_port(live, port)
            live.plan = new[name]
