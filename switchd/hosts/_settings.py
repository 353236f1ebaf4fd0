"""What each host is to know, from the configuration and the states of links."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ndpstack.paths import HostSettings, Marks, Path, Trimming
from switchd.control._views import trimmed_dscp, trims

if TYPE_CHECKING:
    from collections.abc import Mapping

    from switchd.config import Config, FabricPath
    from switchd.plan import SwitchPlan
    from switchd.runtime import Manager

MTU_DEFAULT = 1500


def mtus(manager: Manager) -> dict[str, int]:
    """MTUs of all ports, by "switch/port"."""
    found = {}
    for name, live in list(manager.live.items()):
        for port, reading in live.handle.read().ports.items():
            found[f"{name}/{port}"] = reading.mtu
    return found


def settings_of(
    name: str, config: Config, manager: Manager, mtu_of: Mapping[str, int], generation: int
) -> HostSettings:
    """The settings of a configured host."""
    host = config.host[name]
    switch, _, port = host.port.partition("/")
    plans = manager.plan
    plan = plans[switch].ports.get(port) if switch in plans else None
    paths = [path for path in config.path if not path.hosts or name in path.hosts]
    return HostSettings(
        host=name,
        generation=generation,
        link_rate_bps=plan.rate_bps if plan else 0,
        mtu=mtu_of.get(host.port, MTU_DEFAULT),
        link_up=manager.forwards(host.port),
        paths=tuple(_path(path) for path in paths if _is_up(path, manager)),
        priority_levels=config.priorities.levels,
        cutoffs=tuple(config.priorities.cutoffs),
        marks=_marks(plans, switch),
        trimming=_trimming(plans, switch, port),
    )


def _is_up(path: FabricPath, manager: Manager) -> bool:
    return all(manager.forwards(port) for port in path.via)


def _path(path: FabricPath) -> Path:
    return Path(path.id, path.encoding, path.value, tuple(path.to))


def _marks(plans: Mapping[str, SwitchPlan], own: str) -> Marks | None:
    """As the host's own switch reads them."""
    if own not in plans:
        return None
    wire = plans[own].base.wire
    return Marks(
        dscp_data=cast("int", wire["dscp_data"]),
        dscp_control=cast("int", wire["dscp_control"]),
        dscp_homa=tuple(cast("list[int]", wire["dscp_homa"])),
        pcp=tuple(cast("list[int]", wire["pcp"])),
    )


def _trimming(plans: Mapping[str, SwitchPlan], own: str, port: str) -> Trimming:
    """Trimming anywhere on the way; what may be trimmed is marked as the host's switch wants."""
    if own not in plans:
        return Trimming()
    trimming = [port for plan in plans.values() for port in plan.ports.values() if trims(port)]
    last = plans[own].ports.get(port)
    return Trimming(
        enabled=bool(trimming),
        size=max((port.trim.size for port in trimming), default=0),
        dscp_trimmable=cast("int", plans[own].base.wire["dscp_trimmable"]),
        dscp_trimmed=tuple(sorted(set(map(trimmed_dscp, trimming)))),
        dscp_last_hop=trimmed_dscp(last) if last is not None and trims(last) else None,
    )
