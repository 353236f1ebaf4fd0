"""The check of an interface's offloads: those that keep frames from a port as they are sent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pyroute2 import Ethtool
from pyroute2.ethtool.ioctl import EthtoolError

from ndpstack.doctor._finding import Finding, Status

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from ndpstack.doctor._interface import Interface


@dataclass(frozen=True)
class Harm:
    """What offloads of a kind do."""

    names: Mapping[str, str]
    """The kernel's names, and what `ethtool -K` calls them."""

    status: Status

    text: str
    """What follows when they are on."""


SUPER_FRAMES = Harm(
    {
        "tx-tcp-segmentation": "tso",
        "tx-generic-segmentation": "gso",
        "tx-vlan-hw-insert": "txvlan",
    },
    Status.WARN,
    "kernel traffic through a software switch at its other end arrives as super-frames or "
    "without its VLAN tag; where there is none, that is right",
)
"""Of a veth: what the kernel leaves to a NIC, nobody does."""

MERGED_FRAMES = Harm(
    {"rx-lro": "lro", "rx-gro-hw": "rx-gro-hw"},
    Status.WARN,
    "native XDP may be refused because of it, and frames may arrive merged",
)
"""Of NICs."""

STRIPPED_TAGS = Harm(
    {"rx-vlan-hw-parse": "rxvlan"},
    Status.NOTE,
    "a port does not see VLAN tags; where frames have none, that is right",
)
"""Of NICs: nearly all have it on."""


def check_offloads(interface: Interface, *, of_switch: bool) -> Iterator[Finding]:
    """Offloads that are on and change what a port gets, be it the one at the other end."""
    try:
        with Ethtool() as ethtool:
            features = ethtool.get_features(interface.name).features
    except (OSError, EthtoolError):
        yield Finding("offloads", Status.OK, "it has no offloads")
        return
    active = {name for name, feature in features.items() if feature.enable}
    fixed = {name for name, feature in features.items() if not feature.available}
    yield from judge_offloads(interface, active, fixed, of_switch=of_switch)


def judge_offloads(
    interface: Interface,
    active: Collection[str],
    fixed: Collection[str] = (),
    *,
    of_switch: bool = False,
) -> Iterator[Finding]:
    """What the offloads that are on do there.

    Args:
        interface: Where.
        active: Those that are on.
        fixed: Those that cannot be switched.
        of_switch: It is a switch's port.
    """
    harmless = True
    for harm in _harms(interface, of_switch=of_switch):
        names = [name for name in harm.names if name in active]
        if not names:
            continue
        harmless = False
        text = f"{', '.join(names)} on {interface.name}: {harm.text}"
        switches = [name for name in names if name not in fixed]
        if not switches:
            yield Finding("offloads", Status.NOTE, f"{text}; its driver has no switch for it")
            continue
        words = " ".join(f"{harm.names[name]} off" for name in switches)
        yield Finding(
            "offloads",
            harm.status,
            text,
            f"ethtool -K {interface.name} {words}",
            partial(_disable, interface.name, switches) if harm.status is Status.WARN else None,
        )
    if harmless:
        yield Finding("offloads", Status.OK, "no offload stands in the way")


def _harms(interface: Interface, *, of_switch: bool) -> tuple[Harm, ...]:
    if interface.driver == "veth" and not of_switch:
        return (SUPER_FRAMES,)
    return () if interface.is_software else (MERGED_FRAMES, STRIPPED_TAGS)


def _disable(interface: str, names: Collection[str]) -> None:
    with Ethtool() as ethtool:
        features = ethtool.get_features(interface)
        for name in names:
            features.features[name].enable = False
        ethtool.set_features(interface, features)
