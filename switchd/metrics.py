"""Prometheus metrics: the data path's counters, read when they are asked for."""

from __future__ import annotations

import logging
from dataclasses import dataclass, fields
from threading import Thread
from typing import TYPE_CHECKING

from ndpstack import __version__
from ndpstack._errors import UserError
from switchd.config import parse_endpoint
from switchd.dataplane import PORT_GROUPS, SWITCH_GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from prometheus_client.core import Metric

    from switchd._controller import Controller
    from switchd._http import HttpServer
    from switchd.control import Server
    from switchd.dataplane import Counters

log = logging.getLogger("switchd.metrics")

PREFIX = "ndpstack"


@dataclass(frozen=True)
class Gauge:
    """A metric that is no counter of the core."""

    name: str
    help: str
    labels: tuple[str, ...]
    counter: bool = False


GAUGES = {
    gauge.name: gauge
    for gauge in (
        Gauge("build_info", "Version that runs; always 1.", ("version",)),
        Gauge("switch_buffers_used", "Packet buffers in use.", ("switch",)),
        Gauge("switch_buffers", "Packet buffers that there are.", ("switch",)),
        Gauge("port_up", "1 when the port forwards, 0 when it does not.", ("switch", "port")),
        Gauge("port_rate_bps", "Rate of the link, 0 for not paced.", ("switch", "port")),
        Gauge(
            "port_reopened_total",
            "Times that the port's device was opened again.",
            ("switch", "port"),
            counter=True,
        ),
        Gauge("queue_depth_packets", "Packets queued.", ("switch", "port", "queue")),
        Gauge("queue_depth_bytes", "Bytes queued.", ("switch", "port", "queue")),
        Gauge(
            "queue_watermark_bytes",
            "Most bytes queued since watermarks were cleared.",
            ("switch", "port", "queue"),
        ),
        Gauge("phantom_level_bytes", "Level of the phantom queue.", ("switch", "port")),
        Gauge(
            "path_up", "1 when hosts are told the path, 0 when some are not: it is down.", ("path",)
        ),
        Gauge("worker_rounds_total", "Rounds of the data path.", (), counter=True),
        Gauge("worker_busy_rounds_total", "Rounds that moved frames.", (), counter=True),
        Gauge("worker_frames_total", "Frames moved by the data path.", (), counter=True),
        Gauge("worker_sleep_seconds_total", "Time spent blocked.", (), counter=True),
        Gauge(
            "worker_gap_seconds_max",
            "Longest time between two rounds that was not slept: what preemption cost.",
            (),
        ),
        Gauge("control_clients", "Clients connected to a control socket.", ("socket",)),
    )
}
"""What is exported beside the core's counters."""


def counter_name(group: str, name: str) -> str:
    """The metric of a counter."""
    return f"{PREFIX}_{group}_{name}_total"


def metric_names(texts: Mapping[str, Mapping[str, str]], server: object) -> dict[str, str]:
    """Every metric with its help: for the documentation, and for tests of the dashboard."""
    names = {f"{PREFIX}_{gauge.name}": gauge.help for gauge in GAUGES.values()}
    for group in (*SWITCH_GROUPS, *PORT_GROUPS):
        for name, text in texts.get(group, {}).items():
            names[counter_name(group, name)] = text
    for item in fields(server):  # type: ignore[arg-type]
        names[counter_name("control", item.name)] = item.metadata["help"]
    return names


class Collector:
    """Reads the counters for prometheus_client."""

    def __init__(self, controller: Controller, servers: Mapping[str, Server]) -> None:
        self._controller, self._servers = controller, servers

    def collect(self) -> Iterator[Metric]:
        """Everything, as of now."""
        samples = _Samples(self._controller.manager.plane.texts())
        self._switches(samples)
        self._worker(samples)
        self._control(samples)
        self._paths(samples)
        samples.gauge("build_info", (__version__,), 1)
        yield from samples.families()

    def _switches(self, samples: _Samples) -> None:
        manager = self._controller.manager
        for name, live in list(manager.live.items()):
            reading = live.handle.read()
            samples.counters(SWITCH_GROUPS, reading.counters, {"switch": name})
            samples.gauge("switch_buffers_used", (name,), reading.buffers_used)
            samples.gauge("switch_buffers", (name,), live.plan.base.packets)
            for port, of_port in reading.ports.items():
                labels = {"switch": name, "port": port}
                samples.counters(PORT_GROUPS, of_port.counters, labels)
                samples.gauge("phantom_level_bytes", (name, port), of_port.phantom_bytes)
                for queue, depth in of_port.depths.items():
                    where = (name, port, queue)
                    samples.gauge("queue_depth_packets", where, depth.packets)
                    samples.gauge("queue_depth_bytes", where, depth.bytes)
                    samples.gauge("queue_watermark_bytes", where, depth.bytes_max)
        for name, _, state in manager.ports():
            here = (name, state.plan.name)
            samples.gauge("port_up", here, int(state.forwards))
            samples.gauge("port_rate_bps", here, state.plan.rate_bps)
            samples.gauge("port_reopened_total", here, state.reopened)

    def _worker(self, samples: _Samples) -> None:
        beat = self._controller.manager.plane.heartbeat()
        samples.gauge("worker_rounds_total", (), beat.rounds)
        samples.gauge("worker_busy_rounds_total", (), beat.busy_rounds)
        samples.gauge("worker_frames_total", (), beat.frames)
        samples.gauge("worker_sleep_seconds_total", (), beat.sleep_ns / 1e9)
        samples.gauge("worker_gap_seconds_max", (), beat.gap_ns_max / 1e9)

    def _control(self, samples: _Samples) -> None:
        for name, server in self._servers.items():
            samples.gauge("control_clients", (name,), len(server.sessions))
            for item in fields(server.counters):
                value = getattr(server.counters, item.name)
                help_text = item.metadata["help"]
                samples.counter("control", item.name, help_text, {"socket": name}, value)

    def _paths(self, samples: _Samples) -> None:
        forwards = self._controller.manager.forwards
        up: dict[int, bool] = {}
        for path in self._controller.config.path:
            up[path.id] = up.get(path.id, True) and all(forwards(port) for port in path.via)
        for number, whole in up.items():
            samples.gauge("path_up", (str(number),), int(whole))


class _Samples:
    """Metric families that grow sample by sample."""

    def __init__(self, texts: Mapping[str, Mapping[str, str]]) -> None:
        self._texts = texts
        self._families: dict[str, Metric] = {}

    def counters(
        self, groups: Iterable[str], counters: Counters, labels: Mapping[str, str]
    ) -> None:
        for group in groups:
            for name, value in counters.get(group, {}).items():
                help_text = self._texts.get(group, {}).get(name, "")
                self.counter(group, name, help_text, labels, value)

    def counter(
        self, group: str, name: str, help_text: str, labels: Mapping[str, str], value: float
    ) -> None:
        from prometheus_client.core import CounterMetricFamily

        full = counter_name(group, name)
        family = self._families.get(full)
        if family is None:
            family = CounterMetricFamily(full, help_text)
            self._families[full] = family
        family.add_sample(full, dict(labels), value)

    def gauge(self, name: str, labels: Sequence[str], value: float) -> None:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        spec = GAUGES[name]
        full = f"{PREFIX}_{name}"
        family = self._families.get(full)
        if family is None:
            made = CounterMetricFamily if spec.counter else GaugeMetricFamily
            family = self._families[full] = made(full, spec.help)
        family.add_sample(full, dict(zip(spec.labels, labels, strict=True)), value)

    def families(self) -> Iterable[Metric]:
        return self._families.values()


class Exporter:
    """The HTTP server that Prometheus asks."""

    def __init__(self, controller: Controller, control: Server, hosts: Server) -> None:
        self.collector = Collector(controller, {"control": control, "hosts": hosts})
        self._server: HttpServer | None = None
        self._thread: Thread | None = None

    def listen(self, address: str) -> int:
        """Listens on ADDRESS:PORT, unless that is empty; the port's number.

        Raises:
            UserError: The address cannot be used, or prometheus-client is not installed.
        """
        if not address:
            return 0
        try:
            from prometheus_client import CollectorRegistry, make_wsgi_app
        except ImportError:
            raise UserError(
                "metrics need prometheus-client: pip install 'ndpstack[switch]', "
                'or set daemon.metrics = ""'
            ) from None
        from switchd._http import HttpServer  # With what it imports, after the switches run.

        host, port = parse_endpoint(address)
        registry = CollectorRegistry()
        registry.register(self.collector)
        try:
            self._server = HttpServer(host, port, make_wsgi_app(registry))
        except OSError as error:
            raise UserError(
                f'daemon.metrics: {address}: {error.strerror}; choose another one, or none: ""'
            ) from error
        self._thread = Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()
        return self._server.server_port

    def close(self) -> None:
        """Stops listening."""
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
