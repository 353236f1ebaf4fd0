"""What is known of each port beyond its socket: what it should be, and why it is not."""

from __future__ import annotations

import dataclasses
import itertools
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ndpstack.switch import Opening
from switchd.plan import Forwarding

if TYPE_CHECKING:
    from collections.abc import Callable

    from ndpstack.switch import PortConfig
    from switchd.dataplane import SwitchHandle
    from switchd.plan import SwitchPlan

RETRY_SECONDS = 1.0
"""How long after a failure a port is opened again."""

_serial = itertools.count()


@dataclass
class LivePort:
    """A port as the daemon sees it."""

    plan: PortConfig
    """What it is to be."""
    actual: PortConfig
    """What the data path has: the plan, or a stand-in that holds its place."""
    error: str = ""
    """Why its device is not open."""
    link_up: bool = True
    """What the kernel last said of its interface."""
    retry_at: float = 0.0
    """When to open it again, by the monotonic clock."""
    reopened: int = 0
    """Times that its device was opened again."""

    @property
    def has_interface(self) -> bool:
        """Whether the kernel tells of its link."""
        return self.plan.opening.backend in ("xdp", "packet")

    @property
    def forwards(self) -> bool:
        """Whether frames leave by it."""
        return self.in_use and self.link_up

    @property
    def in_use(self) -> bool:
        """Whether the data path is to use it.

        A link that the kernel says is down is left out at once. Of other links, the data path is
        the one that tells.
        """
        return self.plan.enabled and not self.error and (self.link_up or not self.has_interface)


def follow_link(port: LivePort, link: Callable[[Opening], bool | None]) -> None:
    """Gives a port that was opened the link of its interface, which may have returned down.

    Where the kernel says nothing it is taken for up: of such links the data path tells.
    """
    # Again after it was noted: the thread that listens to the kernel may have noted more.
    while port.link_up != (up := link(port.plan.opening) is not False):
        port.link_up = up


@dataclass
class LiveSwitch:
    """A switch that runs."""

    plan: SwitchPlan
    handle: SwitchHandle
    ports: dict[str, LivePort] = field(default_factory=dict)
    kernel: Forwarding = field(default_factory=Forwarding)
    """Routes, and the groups they need, as the kernel's FIB has them."""

    def forwarding(self, plan: SwitchPlan) -> Forwarding:
        """Configured forwarding over the kernel's."""
        own = plan.forwarding
        groups = (*own.groups, *self.kernel.groups)
        return Forwarding(groups, own.addresses, {**self.kernel.routes, **own.routes})


def stand_in(plan: PortConfig) -> PortConfig:
    """The plan of a port that nobody is connected to.

    It holds the place of a port whose device is not there, so that groups keep their order and
    the port's queue its counters.
    """
    opening = Opening(
        backend="memory",
        device=f"@ndpstack-absent-{os.getpid()}-{next(_serial)}",
        mtu=plan.opening.mtu,
        listen=True,
    )
    return dataclasses.replace(plan, opening=opening)
