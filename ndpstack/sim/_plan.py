"""From a scenario to what the core is given: one config struct and two arrays."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ndpstack._core import ffi, lib
from ndpstack._disciplines import discipline
from ndpstack._errors import UserError
from ndpstack.scenario._protocols import Demand, protocol
from ndpstack.scenario._schema import Graph
from ndpstack.sim._network import TIER_NAMES, Network, topology_config
from ndpstack.sim._traffic import Flows, Setting, build, check_count
from ndpstack.toml import Picoseconds, Place, UnitError, format_rate, format_time, parse_time
from ndpstack.toml.structs import written

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction
    from pathlib import Path

    from ndpstack._core import CData, nd_phantom_config, nd_sim_config, nd_sim_delay, nd_sim_egress
    from ndpstack._disciplines import Phantom, Queue
    from ndpstack.scenario._protocols import Configured
    from ndpstack.scenario._schema import (
        Delay,
        LinkChange,
        Probes,
        Scenario,
        Traffic,
    )

SERVICE = 1
"""The port that servers of the simulator listen on."""

GOODPUT_BINS_MAX = 100_000
"""Bins of a series; what comes later counts in the last one."""

QUANTILE_MAX = 2**32 - 1
"""Picoseconds of a delay that is drawn: 4 ms."""

_ROUND_SEED = 0x9E3779B97F4A7C15
"""Added to the seed for each further round."""

_ROUTES = ("source", "random", "round-robin", "flow")
_LOSS_ONE = 1 << 32
_CORRUPTION_ONE = 1 << 48


@dataclass(frozen=True)
class Change:
    """A change of one port at one time."""

    time_ps: int
    port: int
    kind: int
    value: int
    both_ways: bool


class Plan:
    """Everything that a simulation is built from, kept alive together."""

    def __init__(self, scenario: Scenario, name: str = "scenario") -> None:
        self.scenario = scenario
        self._place = Place(name)
        self._keep: list[CData] = []
        self.config: nd_sim_config = ffi.new("struct nd_sim_config *")
        self.config.seed = scenario.seed
        topology = topology_config(scenario.topology, self._keep)
        self.config.topology = topology[0]
        self.network = Network(topology)
        self.host_rate = self._host_rate()
        self.engines = self._engines()
        self.packet_bytes = max(engine.sizes.packet_bytes for engine in self.engines.values())
        self._egress()
        self._hosts()
        self._changes()
        self._probes(scenario.probes)
        self.config.packets_max = scenario.limits.packets
        self.config.events_max = scenario.limits.events
        self.config.wire_check = scenario.wire_check
        self.traffic = self._traffic()
        self._fit()

    def _host_rate(self) -> int:
        """Bits per second of a host's cable, which engines and loads reckon with."""
        rate = self.scenario.topology.rate
        if not isinstance(self.scenario.topology, Graph):
            return rate
        rates = {self.network.rate(host) for host in range(self.network.hosts)}
        return rates.pop() if len(rates) == 1 else rate

    def _engines(self) -> dict[str, Configured]:
        """The engines by name, in the order of the scenario."""
        table = self.scenario.transport
        result = {}
        engines = ffi.new("struct nd_sim_engine[]", len(table))
        for engine, (name, transport) in zip(engines, table.items(), strict=True):
            place = self._place / "transport" / name
            made = protocol(name, place).configure(transport, self.host_rate, place)
            configs = ffi.new("void *[]", [made.config])
            engine.ops, engine.configs, engine.classes = made.ops, configs, 1
            engine.message_bytes_max = made.sizes.message_bytes_max
            engine.payload_bytes_max = made.sizes.payload_bytes_max
            engine.overhead_bytes = made.sizes.overhead_bytes
            engine.wire_bytes_min = made.sizes.wire_bytes_min
            engine.service = SERVICE
            self._keep += [configs, made.config]
            result[name] = made
        self._keep.append(engines)
        self.config.engines, self.config.engine_count = engines, len(table)
        return result

    def _fit(self) -> None:
        """Sizes every host's limits for the flows that it has: hosts of one size are a class."""
        flows = self.traffic.flows
        hosts = self.network.hosts
        for index, (name, made) in enumerate(self.engines.items()):
            found = protocol(name, self._place)
            if found.fitted is None:
                continue
            mine = flows[flows["engine"] == index]
            sources = np.bincount(mine["source"], minlength=hosts)
            targets = np.bincount(mine["target"], minlength=hosts)
            demands = [
                Demand(int(a), int(b)).rounded() for a, b in zip(sources, targets, strict=True)
            ]
            classes = sorted(set(demands))
            kept = frozenset(self.scenario.transport[name].settings)
            configs = [found.fitted(made.config, demand, kept) for demand in classes]
            for config in configs:
                if found.paths is not None and "paths" not in kept:
                    found.paths(config, self.network.paths_max)
            array = ffi.new("void *[]", configs)
            numbers = {demand: number for number, demand in enumerate(classes)}
            host_class = ffi.new("uint8_t[]", [numbers[demand] for demand in demands])
            engine = self.config.engines[index]
            engine.configs, engine.classes, engine.host_class = array, len(classes), host_class
            self._keep += [array, host_class, *configs]

    def _egress(self) -> None:
        switch = self.scenario.switch
        self.config.route = _ROUTES.index(switch.route)
        for tier, name in enumerate(TIER_NAMES):
            if name == "nic":
                continue
            queue, place = switch.queue, self._place / "switch" / "queue"
            for other, special in switch.ports.items():
                if other == name:
                    queue, place = special, self._place / "switch" / "ports" / name
            egress = self.config.egress[tier]
            self._queue(egress, queue, place, last_hop=name == "edge-down")
            if queue.phantom is not None:
                egress.phantom = self._phantom(
                    queue.phantom, self._tier_rate(name, place / "phantom")
                )

    def _queue(self, egress: nd_sim_egress, queue: Queue, place: Place, *, last_hop: bool) -> None:
        found = discipline(queue, place)
        config = found.configure(queue, self.packet_bytes, place, last_hop=last_hop)
        self._keep.append(config)
        egress.ops, egress.config = found.ops, config
        switch = self.scenario.switch
        if switch.shared_buffer is not None:
            fields = dict(ffi.typeof(f"struct {found.struct}").fields)
            if "shared" not in fields:
                place.fail(f"{queue.discipline} has no shared buffer; leave `shared-buffer` out")
            egress.config_bytes = ffi.sizeof(f"struct {found.struct}")
            egress.shared_offset = fields["shared"].offset
            egress.shared_bytes = switch.shared_buffer
            egress.shared_alpha_256 = round(256 * switch.shared_alpha)

    def _tier_rate(self, tier: str, place: Place) -> int:
        """Bits per second of the cables of a kind of port; 0 where there is none."""
        network = self.network
        ports = range(network.hosts, network.ports)
        rates = sorted({network.rate(port) for port in ports if network.tier(port) == tier})
        if len(rates) > 1:
            place.fail(
                f"{tier} ports have cables of {format_rate(rates[0])} to {format_rate(rates[-1])}, "
                "and it has one rate for all of them; make them alike, or leave it out"
            )
        return rates[0] if rates else 0

    def _phantom(self, phantom: Phantom, rate: int) -> nd_phantom_config:
        config = ffi.new("struct nd_phantom_config *")
        config.rate_bps = max(1, rate * phantom.drain // 10**6)
        config.threshold_bytes = phantom.threshold
        config.quantum = phantom.quantum // 1000
        self._keep.append(config)
        return config

    def _hosts(self) -> None:
        hosts = self.scenario.hosts
        self.config.nic_packets = hosts.nic_packets
        self.config.packet_bytes = self.packet_bytes
        self._delay(self.config.receive_delay, hosts.receive_delay)
        self._delay(self.config.send_delay, hosts.send_delay)
        self._delay(self.config.timer_delay, hosts.timer_delay)

    def _delay(self, target: nd_sim_delay, delay: Delay) -> None:
        target.fixed_ps = delay.fixed
        if delay.file is not None:
            quantiles = ffi.new("uint32_t[]", _read_times(delay.file))
            self._keep.append(quantiles)
            target.quantiles_ps, target.count = quantiles, len(quantiles)

    def _changes(self) -> None:
        changes = [change for link in self.scenario.link for change in self._link(link)]
        changes.sort(key=lambda change: change.time_ps)
        array = ffi.new("struct nd_sim_change[]", len(changes))
        for target, change in zip(array, changes, strict=True):
            target.time_ps, target.port = change.time_ps, change.port
            target.kind, target.value = change.kind, change.value
            target.both_ways = change.both_ways
        self._keep.append(array)
        self.config.changes, self.config.change_count = array, len(changes)

    def _link(self, link: LinkChange) -> list[Change]:
        port = self.network.port(link.between)
        values: list[tuple[int, int]] = []
        if link.rate is not None:
            values.append((lib.ND_SIM_CHANGE_RATE, link.rate))
        if link.delay is not None:
            values.append((lib.ND_SIM_CHANGE_DELAY, link.delay))
        if link.state is not None:
            down = link.state == "down"
            values.append((lib.ND_SIM_CHANGE_DOWN if down else lib.ND_SIM_CHANGE_UP, 0))
        if link.loss is not None:
            values.append((lib.ND_SIM_CHANGE_LOSS, _scaled(link.loss, _LOSS_ONE)))
        if link.corruption is not None:
            values.append((lib.ND_SIM_CHANGE_CORRUPT, _scaled(link.corruption, _CORRUPTION_ONE)))
        return [Change(link.at, port, kind, value, link.both_ways) for kind, value in values]

    def _probes(self, probes: Probes) -> None:
        target = self.config.probes
        target.timeline_host = target.pcap_port = lib.ND_NONE
        if probes.goodput is not None:
            target.goodput_bin_ps = probes.goodput
            target.goodput_bins = self._bins(probes.goodput)
            target.goodput_by_flow = probes.goodput_of == "flows"
        target.queues, target.delays = probes.queues, probes.delays
        target.waste, target.timeline = probes.waste, probes.timeline
        if probes.timeline_host is not None:
            target.timeline_host = probes.timeline_host
        if probes.capture is not None:
            path = ffi.new("char[]", os.fsencode(probes.capture.file))
            self._keep.append(path)
            target.pcap_port = self.network.port(probes.capture.between)
            target.pcap_path = path

    def _bins(self, width: int) -> int:
        if width == 0:
            (self._place / "probes" / "goodput").fail("a bin of no width; give a time above 0")
        if self.scenario.duration is None:
            return GOODPUT_BINS_MAX // 100
        return max(1, min(-(-self.scenario.duration // width), GOODPUT_BINS_MAX))

    def _traffic(self) -> Flows:
        parts = []
        count = 0
        for i, item in enumerate(self.scenario.traffic):
            for part in self._rounds(item, self.scenario.seed * 1_000_003 + i):
                count += len(part.flows)
                check_count(count)
                parts.append(part)
        return Flows.join(parts)

    def _rounds(self, item: Traffic, place_seed: int) -> Iterator[Flows]:
        """Each time that an item of the traffic happens."""
        names = list(self.engines)
        engine = item.transport or names[0]
        seed = item.seed if item.seed is not None else place_seed
        for number in range(item.repeat):
            setting = Setting(
                self.network.hosts,
                self.host_rate,
                names.index(engine),
                self.engines[engine].sizes,
                (seed + number * _ROUND_SEED) % 2**64,
            )
            start = Picoseconds(item.start + number * (item.every or 0))
            yield build(dataclasses.replace(item, start=start), setting)

    def host_configs(self, host: int) -> dict[str, CData]:
        """Every engine's config as this host has it; alive as long as the plan."""
        found = {}
        for index, name in enumerate(self.engines):
            engine = self.config.engines[index]
            number = engine.host_class[host] if engine.host_class else 0
            found[name] = engine.configs[number]
        return found

    def settings(self) -> dict[str, object]:
        """Every engine's config as the run has it."""
        return {name: written(made.config, made.struct) for name, made in self.engines.items()}


def _scaled(probability: Fraction, one: int) -> int:
    return min(round(probability * one), one - 1)


def _read_times(path: Path) -> list[int]:
    """Quantiles of a delay, in picoseconds."""
    try:
        lines = path.read_text().split("\n")
        times = [int(parse_time(line.strip())) for line in lines if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot read these delays: {error}") from None
    except UnitError as error:
        raise UserError(f"{path}: {error}") from None
    if not times:
        raise UserError(f"{path}: no delays in it; write one a line, like 1.5us")
    if max(times) > QUANTILE_MAX:
        raise UserError(
            f"{path}: {format_time(max(times))} is above {format_time(QUANTILE_MAX)}, the longest "
            "delay that the core draws"
        )
    return times
