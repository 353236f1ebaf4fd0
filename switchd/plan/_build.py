"""From a configuration to the plan of the data path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ndpstack._core import ffi, lib
from ndpstack.switch import (
    FaultsConfig,
    GroupConfig,
    Opening,
    PhantomConfig,
    PortConfig,
    TrimConfig,
)
from ndpstack.toml import Place, Problems, format_rate, format_size
from ndpstack.toml.structs import apply, check_names, written
from switchd.config import Config, ConfigError, Loaded, Port, Switch, explain
from switchd.plan._queues import PROFILES, queue_plan
from switchd.plan._types import BasePlan, Forwarding, Plan, RoutePlan, SwitchPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    Values = Mapping[str, object]

ETHERNET_BYTES = 14
MTU_DEFAULT = 1500
PHANTOM_RATE_MAX_BPS = 10**12
PHANTOM_LEVEL_MAX_BYTES = 2**30
PHANTOM_QUANTUM_MAX_PS = 10**9
PHANTOM_SHARE_PERCENT = 95
"""Of the link's rate, as in the HULL paper."""


def build_plan(loaded: Loaded) -> Plan:
    """The plan.

    Raises:
        ConfigError: With every mistake that only the core finds.
    """
    problems = Problems()
    plan: dict[str, SwitchPlan] = {}
    for name in loaded.config.switch:
        with problems.noted():
            plan[name] = _switch(loaded.config, name, problems)
    if problems.found:
        sources = list(loaded.sources)
        raise ConfigError([explain(problem, sources) for problem in problems.found])
    return plan


def _switch(config: Config, name: str, problems: Problems) -> SwitchPlan:
    switch = config.switch[name]
    place = Place() / "switch" / name
    wire = _wire(switch, place / "wire")
    ports: dict[str, PortConfig] = {}
    for port_name in switch.port:
        with problems.noted():
            place_of_port = place / "port" / port_name
            ports[port_name] = _port(config, switch, port_name, wire, place_of_port)
    base = BasePlan(
        name=name,
        packets=switch.packets,
        frame_bytes=switch.frame,
        addresses=switch.addresses,
        routes=switch.routes if switch.forwarding == "fib" else 0,
        aging_ns=switch.aging // 1000,
        learning=switch.forwarding == "learned",
        fib=switch.forwarding == "fib",
        netns=switch.netns,
        wire=wire,
        seed=switch.seed & (2**64 - 1),
    )
    return SwitchPlan(base, ports, _forwarding(switch))


def _forwarding(switch: Switch) -> Forwarding:
    groups = tuple(
        GroupConfig(name=name, ports=group.ports, mode=group.mode, divisor=group.divisor)
        for name, group in switch.group.items()
    )
    addresses = {str(entry.mac): entry.to for entry in switch.address}
    routes = {str(entry.prefix): RoutePlan(entry.to, dict(entry.hops)) for entry in switch.route}
    return Forwarding(groups, addresses, routes)


def _wire(switch: Switch, place: Place) -> Values:
    config = ffi.new("struct nd_frame_config *", lib.nd_frame_config_default())
    settings = {key.replace("-", "_"): value for key, value in switch.wire.items()}
    check_names("nd_frame_config", settings, [], place)
    apply(config, "nd_frame_config", settings, MTU_DEFAULT, place)
    why = ffi.new("char *[]", 1)
    if lib.nd_frame_config_check(config, why) < 0:
        place.fail(ffi.string(why[0]).decode())
    return written(config, "nd_frame_config")


def _port(config: Config, switch: Switch, name: str, wire: Values, place: Place) -> PortConfig:
    port = switch.port[name]
    profile_name = port.profile or switch.profile
    profile = config.profile.get(profile_name) or PROFILES[profile_name]
    packet_bytes = (port.mtu or MTU_DEFAULT) + ETHERNET_BYTES + _number(wire, "framing_bytes")
    return PortConfig(
        name=name,
        opening=_opening(name, port),
        queue=queue_plan(profile, port, packet_bytes, place),
        rate_bps=port.rate,
        catch_up_ns=port.catch_up // 1000,
        trim=_trim(switch, port, wire),
        phantom=_phantom(port, place),
        faults=_faults(port),
        mac=port.mac or "",
        floods=port.floods,
        enabled=port.enabled,
    )


def _opening(name: str, port: Port) -> Opening:
    return Opening(
        backend=port.backend,
        device=port.device or name,
        netns=port.netns,
        mtu=port.mtu,
        rx_frames=port.rx_frames,
        tx_frames=port.tx_frames,
        listen=port.listen,
        xdp_mode=port.xdp_mode,
        zero_copy=port.zero_copy,
        force=port.force,
        queue_first=port.queue_first,
        queues=port.queues,
    )


def _number(values: Values, name: str) -> int:
    value = values[name]
    assert isinstance(value, int)
    return value


def _trim(switch: Switch, port: Port, wire: Values) -> TrimConfig:
    trim = switch.trim
    last_hop = port.role == "host"
    if trim.dscp_value == "from-tc":
        dscp = port.tc_to_dscp[trim.tc_value]
    elif trim.dscp_value is None:
        dscp = _number(wire, "dscp_trimmed_last_hop" if last_hop else "dscp_trimmed")
    else:
        dscp = trim.dscp_value
    pcp = None if trim.queue_index == "dynamic" else trim.queue_index
    return TrimConfig(size=trim.size, dscp=dscp, pcp=pcp, last_hop=last_hop)


def _phantom(port: Port, place: Place) -> PhantomConfig | None:
    phantom = port.phantom
    if phantom is None:
        return None
    rate = phantom.rate or port.rate * PHANTOM_SHARE_PERCENT // 100
    here = place / "phantom"
    if not rate:
        here.fail("needs a `rate`, because the port has none")
    if port.rate and rate > port.rate:
        (here / "rate").fail("is above the port's: it would never mark")
    if rate > PHANTOM_RATE_MAX_BPS:
        (here / "rate").fail(f"{format_rate(rate)} is above 1Tbit; use 95 % of the link's rate")
    if phantom.threshold >= PHANTOM_LEVEL_MAX_BYTES:
        text = "is not below 1GiB, where the level saturates: it would never mark; 6000B is usual"
        (here / "threshold").fail(f"{format_size(phantom.threshold)} {text}")
    if phantom.quantum > PHANTOM_QUANTUM_MAX_PS:
        (here / "quantum").fail("is above 1ms")
    return PhantomConfig(
        rate_bps=rate, threshold_bytes=phantom.threshold, quantum_ns=phantom.quantum // 1000
    )


def _faults(port: Port) -> FaultsConfig:
    faults = port.faults
    if faults is None:
        return FaultsConfig()
    return FaultsConfig(
        loss=float(faults.loss),
        corrupt=float(faults.corrupt),
        duplicate=float(faults.duplicate),
        reorder=float(faults.reorder),
        delay_ns=faults.delay // 1000,
        reorder_ns_max=faults.reorder_max // 1000,
    )
