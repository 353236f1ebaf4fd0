"""A scenario's traffic as arrays of flows and triggers."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ndpstack._core import ffi, lib
from ndpstack._errors import UserError
from ndpstack.scenario._matrix import NO_TRIGGER, load_matrix
from ndpstack.scenario._schema import (
    TIME_MAX,
    AllToAll,
    ClosedLoop,
    Incast,
    Matrix,
    OneFlow,
    OpenLoop,
    Outcast,
    Permutation,
    Random,
    Scheduler,
    Trace,
    Traffic,
)
from ndpstack.scenario._workload import SIZE_MAX, Workload
from ndpstack.sim._arrays import record
from ndpstack.toml import format_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ndpstack._core import nd_flow, nd_rng, nd_sizes, nd_traffic_open
    from ndpstack.scenario._protocols import WireSizes

FLOWS_MAX = 50_000_000
"""More flows than this are refused: their rows alone would take gigabytes."""

_NONE = lib.ND_NONE
_PS_PER_S = 10**12
_PS_PER_US = 10**6


@dataclass
class Flows:
    """Flows and the triggers that they name by index."""

    flows: NDArray[np.void]
    triggers: NDArray[np.void]

    @staticmethod
    def join(parts: list[Flows]) -> Flows:
        """All of them, trigger indices shifted."""
        shifted = 0
        for part in parts:
            for name in ("starts_on", "on_sent", "on_received"):
                column = part.flows[name]
                column[column != _NONE] += shifted
            shifted += len(part.triggers)
        return Flows(
            np.concatenate([part.flows for part in parts]),
            np.concatenate([part.triggers for part in parts]),
        )


@dataclass(frozen=True)
class Setting:
    """What traffic is made for."""

    hosts: int
    rate_bps: int
    """Of a host's link."""
    engine: int
    """Index of the protocol."""
    sizes: WireSizes
    seed: int


def check_count(count: int) -> None:
    """Refuses what would not fit into memory."""
    if count > FLOWS_MAX:
        raise UserError(
            f"{count:,} flows are more than {FLOWS_MAX:,}; shorten the time or lower the load"
        )


def _flows(count: int) -> NDArray[np.void]:
    check_count(count)
    return np.zeros(count, record("nd_flow"))


def _no_triggers() -> NDArray[np.void]:
    return np.zeros(0, record("nd_trigger"))


def _pattern(traffic: Traffic, setting: Setting) -> nd_flow:
    """The flow that all of an item are copies of."""
    flow = ffi.new("struct nd_flow *")
    flow.start_ps = traffic.start
    flow.starts_on = flow.on_sent = flow.on_received = _NONE
    flow.priority = traffic.priority
    flow.engine = setting.engine
    flow.background = traffic.background
    flow.kind = lib.ND_FLOW_ONEWAY if traffic.reply is None else lib.ND_FLOW_ECHO
    flow.reply_bytes = traffic.reply or 0
    size = getattr(traffic, "size", None)
    if isinstance(size, int):
        flow.bytes = size
    elif size == "endless":
        flow.bytes = lib.ND_FLOW_ENDLESS
        flow.background = True
    return flow


class _Sizes:
    """A distribution as the core takes it; the arrays live as long as this."""

    def __init__(self, sizes: Workload | int, setting: Setting) -> None:
        self._setting = setting
        self._fixed = sizes if isinstance(sizes, int) else None
        points = sizes.points() if isinstance(sizes, Workload) else ([], [])
        self._bytes = ffi.new("uint64_t[]", points[0])
        self._cumulative = ffi.new("uint32_t[]", points[1])
        self._linear = isinstance(sizes, Workload) and sizes.linear

    def store(self, target: nd_sizes, pattern: nd_flow) -> None:
        """Into a struct of the core."""
        target.bytes, target.cumulative = self._bytes, self._cumulative
        target.count, target.linear = len(self._bytes), self._linear
        if self._fixed is not None:
            pattern.bytes = self._fixed

    def mean_256(self, *, on_wire: bool) -> int:
        """Mean bytes of a message in 1/256, with the headers of its packets or without."""
        wire = self._setting.sizes
        overhead = wire.overhead_bytes if on_wire else 0
        if self._fixed is not None:
            packets = -(-self._fixed // wire.payload_bytes_max)
            return 256 * (self._fixed + packets * overhead)
        sizes = ffi.new("struct nd_sizes *")
        self.store(sizes, ffi.new("struct nd_flow *"))
        return lib.nd_sizes_mean_256(sizes, wire.payload_bytes_max, overhead)

    def draw(self, rng: nd_rng) -> int:
        """One size."""
        if self._fixed is not None:
            return self._fixed
        sizes = ffi.new("struct nd_sizes *")
        self.store(sizes, ffi.new("struct nd_flow *"))
        return lib.nd_sizes_draw(sizes, rng)


def _permutation(traffic: Permutation, setting: Setting) -> Flows:
    flows = _flows(setting.hosts)
    lib.nd_traffic_permutation(
        ffi.from_buffer("struct nd_flow[]", flows),
        setting.hosts,
        _pattern(traffic, setting),
        setting.seed,
    )
    return Flows(flows, _no_triggers())


def _random(traffic: Random, setting: Setting) -> Flows:
    flows = _flows(setting.hosts * traffic.flows_per_host)
    lib.nd_traffic_random(
        ffi.from_buffer("struct nd_flow[]", flows),
        setting.hosts,
        traffic.flows_per_host,
        _pattern(traffic, setting),
        setting.seed,
    )
    return Flows(flows, _no_triggers())


def _incast(traffic: Incast, setting: Setting) -> Flows:
    flows = _flows(traffic.senders)
    pattern = _pattern(traffic, setting)
    pattern.target = traffic.target
    lib.nd_traffic_incast(
        ffi.from_buffer("struct nd_flow[]", flows),
        setting.hosts,
        traffic.senders,
        pattern,
        setting.seed,
    )
    return Flows(flows, _no_triggers())


def _outcast(traffic: Outcast, setting: Setting) -> Flows:
    flows = _flows(traffic.receivers)
    pattern = _pattern(traffic, setting)
    pattern.source = traffic.source
    lib.nd_traffic_outcast(
        ffi.from_buffer("struct nd_flow[]", flows),
        setting.hosts,
        traffic.receivers,
        pattern,
        setting.seed,
    )
    return Flows(flows, _no_triggers())


def _all_to_all(traffic: AllToAll, setting: Setting) -> Flows:
    flows = _flows(setting.hosts * (setting.hosts - 1))
    lib.nd_traffic_all_to_all(
        ffi.from_buffer("struct nd_flow[]", flows), setting.hosts, _pattern(traffic, setting)
    )
    return Flows(flows, _no_triggers())


def _copies(pattern: nd_flow, count: int) -> NDArray[np.void]:
    flows = _flows(count)
    flows[:] = np.frombuffer(memoryview(ffi.buffer(pattern)), record("nd_flow"))[0]
    return flows


def _one(traffic: OneFlow, setting: Setting) -> Flows:
    flows = _copies(_pattern(traffic, setting), 1)
    flows["source"], flows["target"] = traffic.source, traffic.target
    return Flows(flows, _no_triggers())


def _span(span: tuple[int, int] | None, hosts: int) -> tuple[int, int]:
    return (0, hosts) if span is None else (span[0], span[1] - span[0] + 1)


def _open_loop(traffic: OpenLoop, setting: Setting) -> Flows:
    distribution = traffic.sizes
    if isinstance(distribution, Workload) and traffic.size_max is not None:
        distribution = distribution.capped(traffic.size_max)
    sizes = _Sizes(distribution, setting)
    pattern = _pattern(traffic, setting)
    loop = ffi.new("struct nd_traffic_open *")
    sizes.store(loop.sizes, pattern)
    loop.first_source, loop.sources = _span(traffic.sources, setting.hosts)
    loop.first_target, loop.targets = _span(traffic.targets, setting.hosts)
    loop.until_ps, loop.flows_max = traffic.until, traffic.flows_per_host
    if traffic.rate is not None:
        loop.gap_ps = round(_PS_PER_S / traffic.rate)
    elif traffic.load is not None:
        mean = sizes.mean_256(on_wire=traffic.load_counts == "wire")
        loop.gap_ps = lib.nd_traffic_gap(mean, setting.rate_bps, traffic.load)
    _check_open_loop(loop)
    count = lib.nd_traffic_open_loop(ffi.NULL, 0, loop, pattern, setting.seed)
    flows = _flows(count)
    lib.nd_traffic_open_loop(
        ffi.from_buffer("struct nd_flow[]", flows), count, loop, pattern, setting.seed
    )
    return Flows(flows, _no_triggers())


def _check_open_loop(loop: nd_traffic_open) -> None:
    """Refuses what could not be counted in any time."""
    if loop.gap_ps == 0:
        raise UserError(
            "open-loop: less than a picosecond from one message to the next; lower `load` or "
            "`rate`, or give larger `sizes`"
        )
    each = loop.until_ps // loop.gap_ps
    check_count(loop.sources * min(each, loop.flows_max or each))


def _closed_loop(traffic: ClosedLoop, setting: Setting) -> Flows:
    sizes = _Sizes(traffic.sizes, setting)
    pattern = _pattern(traffic, setting)
    loop = ffi.new("struct nd_traffic_closed *")
    sizes.store(loop.sizes, pattern)
    loop.hosts, loop.slots = setting.hosts, traffic.connections
    loop.rounds, loop.think_ps = traffic.rounds, traffic.think
    flows = _flows(setting.hosts * traffic.connections * traffic.rounds)
    triggers = np.zeros(len(flows), record("nd_trigger"))
    lib.nd_traffic_closed_loop(
        ffi.from_buffer("struct nd_flow[]", flows),
        ffi.from_buffer("struct nd_trigger[]", triggers),
        loop,
        pattern,
        setting.seed,
    )
    return Flows(flows, triggers)


class _Partners:
    """Who sends to whom among some hosts."""

    def __init__(self, hosts: list[int], matrix: str, seed: int) -> None:
        self.hosts = hosts
        self._fixed = matrix == "permutation"
        targets = ffi.new("uint32_t[]", len(hosts))
        lib.nd_traffic_derangement(targets, len(hosts), seed)
        self._targets = list(targets)

    def pair(self, index: int, rng: nd_rng) -> tuple[int, int]:
        """Source and target for the host of that index."""
        if self._fixed:
            return self.hosts[index], self.hosts[self._targets[index]]
        other = lib.nd_rig_rng_below(rng, len(self.hosts) - 1)
        return self.hosts[index], self.hosts[other + (other >= index)]


def _shuffled(count: int, rng: nd_rng) -> list[int]:
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        j = lib.nd_rig_rng_below(rng, i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def _scheduler(traffic: Scheduler, setting: Setting) -> Flows:
    """R-CS-1, R-CS-3: short flows among some hosts, long ones among the others."""
    rng = ffi.new("struct nd_rng *", lib.nd_rig_rng_make(setting.seed, 0))
    order = _shuffled(setting.hosts, rng)
    long_count = setting.hosts * traffic.long_hosts // 10**6
    if setting.hosts - long_count < 2 or long_count == 1:
        raise UserError(
            f"scheduler: {long_count} of {setting.hosts} hosts with long flows leave "
            "one host alone; change `long-hosts`"
        )
    short = _Partners(order[long_count:], traffic.matrix, setting.seed)
    pattern = _pattern(traffic, setting)
    flows = _copies(pattern, traffic.flows + long_count)
    sizes = _Sizes(traffic.size, setting)
    at = int(traffic.start)
    gap = round(_PS_PER_S / traffic.arrival_rate)
    for flow in flows[: traffic.flows]:
        at += lib.nd_traffic_exponential(rng, gap)
        if at > TIME_MAX:
            raise UserError(
                f"scheduler: not all {traffic.flows:,} flows start within "
                f"{format_time(TIME_MAX)}, the longest run; lower `flows` or raise `arrival-rate`"
            )
        source = lib.nd_rig_rng_below(rng, len(short.hosts))
        flow["start_ps"], flow["bytes"] = at, sizes.draw(rng)
        flow["source"], flow["target"] = short.pair(source, rng)
    if long_count:
        partners = _Partners(order[:long_count], traffic.matrix, setting.seed + 1)
        background = flows[traffic.flows :]
        endless = traffic.long_size == "endless"
        background["bytes"] = lib.ND_FLOW_ENDLESS if endless else traffic.long_size
        background["background"] = 1
        for i, flow in enumerate(background):
            flow["source"], flow["target"] = partners.pair(i, rng)
    return Flows(flows, _no_triggers())


def _matrix(traffic: Matrix, setting: Setting) -> Flows:
    matrix = load_matrix(traffic.file)
    flows = _copies(_pattern(traffic, setting), len(matrix.connections))
    for flow, line in zip(flows, matrix.connections, strict=True):
        flow["source"], flow["target"], flow["bytes"] = line.source, line.target, line.size
        flow["start_ps"] += line.start_ps
        flow["priority"] = line.priority or traffic.priority
        for name in ("starts_on", "on_sent", "on_received"):
            trigger = getattr(line, name)
            flow[name] = _NONE if trigger == NO_TRIGGER else trigger
        if line.starts_on != NO_TRIGGER:
            flow["start_ps"] = line.start_ps
    triggers = np.array([(needs,) for needs in matrix.triggers], record("nd_trigger"))
    return Flows(flows, triggers)


def _trace(traffic: Trace, setting: Setting) -> Flows:
    columns = ("start_us", "source", "target", "bytes")
    try:
        # Spreadsheets put a byte order mark before the header.
        with traffic.file.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            if not set(columns).issubset(reader.fieldnames or ()):
                raise UserError(f"{traffic.file}: the header must name {', '.join(columns)}")
            rows = [
                (float(row["start_us"]), int(row["source"]), int(row["target"]), int(row["bytes"]))
                for row in reader
            ]
    except OSError as error:
        raise UserError(f"{traffic.file}: cannot read this trace: {error.strerror}") from None
    except (ValueError, TypeError, csv.Error) as error:
        raise UserError(f"{traffic.file}: not a table of numbers: {error}") from None
    for number, row in enumerate(rows, start=2):
        _check_row(row, setting.hosts, f"{traffic.file}:{number}")
    flows = _copies(_pattern(traffic, setting), len(rows))
    for flow, (start, source, target, size) in zip(flows, rows, strict=True):
        flow["start_ps"] += round(start * _PS_PER_US)
        flow["source"], flow["target"], flow["bytes"] = source, target, size
    return Flows(flows, _no_triggers())


def _check_row(row: tuple[float, int, int, int], hosts: int, where: str) -> None:
    start_us, source, target, size = row
    if not 0 <= start_us <= TIME_MAX / _PS_PER_US:
        raise UserError(f"{where}: {start_us} us is no time of a run")
    if not (0 <= source < hosts and 0 <= target < hosts and source != target):
        raise UserError(f"{where}: from {source} to {target}; hosts are two of 0 to {hosts - 1}")
    if not 0 <= size <= SIZE_MAX:
        raise UserError(f"{where}: {size} bytes do not lie within 0 to {SIZE_MAX}")


_BUILDERS: dict[type, Callable[..., Flows]] = {
    Permutation: _permutation,
    Random: _random,
    Incast: _incast,
    Outcast: _outcast,
    AllToAll: _all_to_all,
    OneFlow: _one,
    OpenLoop: _open_loop,
    ClosedLoop: _closed_loop,
    Scheduler: _scheduler,
    Matrix: _matrix,
    Trace: _trace,
}


def build(traffic: Traffic, setting: Setting) -> Flows:
    """The flows of one item of a scenario's traffic."""
    return _BUILDERS[type(traffic)](traffic, setting)
