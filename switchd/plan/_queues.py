"""Profiles to disciplines: presets, a profile's settings and a port's, checked by the core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ndpstack._disciplines import Queue, discipline
from ndpstack.switch import QueueConfig
from ndpstack.toml.structs import written
from switchd.config import Port, Profile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ndpstack.toml import Limit, Place

PROFILES: Mapping[str, Profile] = {
    "ndp": Profile(discipline="ndp"),
    "homa": Profile(discipline="strict"),
    "pfabric": Profile(discipline="pfabric"),
    "ecn": Profile(discipline="ecn"),
    "droptail": Profile(discipline="droptail"),
    "mixed": Profile(
        discipline="fair",
        ndp=Profile(discipline="ndp"),
        others=Profile(discipline="strict", settings={"total": "300pkt"}),
    ),
}
"""The built-in profiles. mixed: NDP beside Homa and the kernel's packets, which share strict
priorities; each side gets half of the link while both have packets."""

_LIMITS = {
    "droptail": "limit",
    "ecn": "limit",
    "pfabric": "limit",
    "strict": "total",
    "ndp": "data",
    "cut-payload": "threshold",
}
"""The setting that a port's `buffers` stands for."""

FAIR_ROUND_BYTES = 64 * 1024
"""Served a round of a fair queue, both children together."""


def limit_text(limit: Limit) -> list[str]:
    """A limit as a setting."""
    parts = [f"{limit.bytes}B"] if limit.bytes else []
    return [*parts, f"{limit.packets}pkt"] if limit.packets else parts


def _port_settings(name: str, port: Port, place: Place) -> dict[str, object]:
    """The settings that keys of the port stand for."""
    settings: dict[str, object] = {}
    if port.buffers is not None:
        settings[_LIMITS[name]] = limit_text(port.buffers)
    if port.header_buffers is not None:
        if name != "ndp":
            (place / "header-buffers").fail(f"{name} has no header queue")
        settings["headers"] = limit_text(port.header_buffers)
    if port.ecn is not None:
        if name != "ecn":
            (place / "ecn").fail(f"{name} does not mark; give the port a phantom queue, or use ecn")
        settings["threshold"] = limit_text(port.ecn.threshold)
    return settings


def _single(
    profile: Profile, settings: Mapping[str, object], packet_bytes: int, place: Place, *, last: bool
) -> QueueConfig:
    queue = Queue(
        discipline=profile.discipline,
        preset=profile.preset,
        settings={**profile.settings, **settings},
    )
    found = discipline(queue, place)
    config = found.configure(queue, packet_bytes, place, last_hop=last)
    name = profile.discipline.replace("-", "_")
    return QueueConfig(discipline=name, settings=written(config, found.struct))


def _without_trimming(plan: QueueConfig, place: Place) -> QueueConfig:
    """The queue that drops where an ndp queue would trim: its data queue alone."""
    if plan.discipline != "ndp":
        (place / "packet-discard-action").fail(f"{plan.discipline} does not trim anyway")
    return QueueConfig(discipline="droptail", settings={"limit": plan.settings["data"]})


def queue_plan(profile: Profile, port: Port, packet_bytes: int, place: Place) -> QueueConfig:
    """The discipline of a port.

    Args:
        profile: Its profile.
        port: The port, whose own keys go over the profile's.
        packet_bytes: Wire bytes of a full packet.
        place: Where the port stands.

    Raises:
        PlaceError: Something is wrong.
    """
    if profile.discipline == "fair":
        return _fair(profile, port, packet_bytes, place)
    if profile.discipline not in _LIMITS:
        discipline(Queue(discipline=profile.discipline), place)
    settings = _port_settings(profile.discipline, port, place)
    last = port.role == "host"
    plan = _single(profile, settings, packet_bytes, place, last=last)
    action = port.packet_discard_action
    if (action or profile.packet_discard_action) == "drop":
        return _without_trimming(plan, place)
    return plan


def _fair(profile: Profile, port: Port, packet_bytes: int, place: Place) -> QueueConfig:
    for key in ("buffers", "header_buffers", "ecn", "packet_discard_action"):
        if getattr(port, key) is not None:
            text = "goes with one queue; write a profile of your own for two"
            (place / key.replace("_", "-")).fail(text)
    if profile.ndp is None or profile.others is None:
        place.fail("fair needs both `ndp` and `others`")
    inner = Port(role=port.role)
    children = (
        queue_plan(profile.ndp, inner, packet_bytes, place / "ndp"),
        queue_plan(profile.others, inner, packet_bytes, place / "others"),
    )
    share = FAIR_ROUND_BYTES * profile.ndp_share // 10**6
    return QueueConfig(
        discipline="fair", children=children, quanta=(share, FAIR_ROUND_BYTES - share)
    )
