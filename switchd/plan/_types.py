"""What the data path is to be: the library's configurations, and what only a daemon follows.

Two plans of a port that are equal mean that nothing about the port changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ndpstack.switch import SwitchConfig

if TYPE_CHECKING:
    from ndpstack.switch import GroupConfig, PortConfig


@dataclass(frozen=True)
class RoutePlan:
    """Where a prefix leads."""

    to: str
    """Port or group."""
    hops: Mapping[str, str] = field(default_factory=dict)
    """Port -> Ethernet address of the next hop there."""


@dataclass(frozen=True, kw_only=True)
class BasePlan(SwitchConfig):
    """What a switch is made with; a change of it means to make it anew."""

    fib: bool = False
    """Whether it routes as the kernel does."""
    netns: str = ""
    """Network namespace of that kernel."""


@dataclass(frozen=True)
class Forwarding:
    """Where frames go: names of ports and groups."""

    groups: tuple[GroupConfig, ...] = ()
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Ethernet address -> port or group."""
    routes: Mapping[str, RoutePlan] = field(default_factory=dict)
    """By prefix."""


@dataclass(frozen=True)
class SwitchPlan:
    """A switch."""

    base: BasePlan
    ports: Mapping[str, PortConfig]
    forwarding: Forwarding


Plan = Mapping[str, SwitchPlan]
"""All switches by name."""
