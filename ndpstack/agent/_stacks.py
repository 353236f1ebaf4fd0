"""Messages over ndpstack's own hosts: a stack for each, all in this process."""

from __future__ import annotations

import errno
import os
import select
from array import array
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from ndpstack._core import ffi, lib
from ndpstack._errors import UserError
from ndpstack._reason import reason_of
from ndpstack.agent._carrier import NEVER, Content
from ndpstack.agent._speakers import PROTOCOLS, SPEAKERS
from ndpstack.sim._plan import SERVICE
from ndpstack.sim._simulation import counter_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from ndpstack._core import CData, nd_app, nd_event, nd_ndp_config, nd_stack_config
    from ndpstack.agent._carrier import Applications, Carrier
    from ndpstack.agent._told import Told
    from ndpstack.agent._world import HostPort
    from ndpstack.sim._plan import Plan

EVENTS_AT_ONCE = 64
RESOLVE_SECONDS = 5.0
SEND_BYTES = 16 << 20
RECEIVE_BYTES = 32 << 20
COUNTERS_MAX = 256
MESSAGE_BYTES_MAX = 4 << 20
"""Longer flows go as several messages, so that a host's buffers hold more than one."""

_GROUPS = {"ndp": lib.ND_STACK_GROUP_NDP, "homa": lib.ND_STACK_GROUP_HOMA}
_LATER = (-errno.EAGAIN, -errno.ENOBUFS)


class _Host:
    """One stack. What it has no room for yet waits in line."""

    def __init__(self, config: nd_stack_config, name: str) -> None:
        error = ffi.new("struct nd_error *")
        self.app: nd_app = ffi.new("struct nd_app *")
        if lib.nd_app_open(self.app, config, error) < 0:
            raise UserError(f"host {name}: {reason_of(error)}")
        self.descriptor = lib.nd_app_descriptor(self.app)
        if self.descriptor < 0:
            lib.nd_app_end(self.app)
            raise UserError(f"host {name}: {os.strerror(-self.descriptor)}")
        self.closed = False
        self.events = ffi.new("struct nd_event[]", EVENTS_AT_ONCE)
        self._line: deque[Callable[[], int]] = deque()

    def do(self, command: Callable[[], int]) -> None:
        """Hands a command over, now or when there is room, but in order.

        Raises:
            OSError: It was refused.
        """
        if self._line:
            self._line.append(command)
            return
        code = command()
        if code in _LATER:
            self._line.append(command)
        elif code < 0:
            raise OSError(-code, os.strerror(-code))

    def answer(self, command: Callable[[], int]) -> None:
        """Hands a reply over before everything in line.

        What is in line may wait for memory that only replies set free, here and elsewhere.
        """
        code = command()
        if code in _LATER:
            self._line.appendleft(command)
        elif code < 0:
            raise OSError(-code, os.strerror(-code))

    @property
    def waits(self) -> bool:
        """Whether something is in line."""
        return bool(self._line)

    def catch_up(self) -> None:
        """Hands over what waited, as far as there is room."""
        while self._line:
            code = self._line[0]()
            if code in _LATER:
                return
            self._line.popleft()

    def close(self) -> None:
        """Stops the stack."""
        if not self.closed:
            self.closed = True
            os.close(self.descriptor)
            lib.nd_app_end(self.app)


def _patient(simulated: CData) -> nd_ndp_config:
    """The settings for real hosts, which are not always scheduled in time.

    A connection is remembered for as long as its peer may try: one that heard of the end of its
    last message too late would be told of a reset.
    """
    config = ffi.new("struct nd_ndp_config *")
    ffi.memmove(config, simulated, ffi.sizeof("struct nd_ndp_config"))
    config.time_wait_ns = config.reset_wait_ns
    return config


class Stacks:
    """All hosts, and a carrier for each engine of a plan.

    Args:
        plan: Engines, their settings and the flows.
        ports: How each host is connected.
        rate_bps: Of a host's link, where no switch tells it.
        told: What switchd tells hosts.
    """

    def __init__(self, plan: Plan, ports: list[HostPort], rate_bps: int, told: Told) -> None:
        self._plan = plan
        self.pairs = list(
            zip(
                plan.traffic.flows["source"].tolist(),
                plan.traffic.flows["target"].tolist(),
                strict=True,
            )
        )
        self.priorities = plan.traffic.flows["priority"].tolist()
        self.hosts: list[_Host] = []
        self.handles: dict[tuple[int, int], int] = {}
        self.content = Content(max(MESSAGE_BYTES_MAX, _largest_reply(plan)))
        self._poll = select.epoll()
        self._told = told
        self._ports = ports
        try:
            for host in range(len(ports)):
                settings = told.settings(host)
                self._open(host, settings.link_rate_bps if settings else rate_bps)
            self._introduce()
            self._poll.register(told.descriptor, select.EPOLLIN)
            speakers = {
                name: SPEAKERS[name](self, min(made.sizes.message_bytes_max, MESSAGE_BYTES_MAX))
                for name, made in plan.engines.items()
            }
            self.carriers: list[Carrier] = [*speakers.values()]
            self._speakers = {PROTOCOLS[name]: made for name, made in speakers.items()}
            for name in plan.engines:
                self._listen(PROTOCOLS[name])
        except BaseException:
            self.close()
            raise

    def _open(self, host: int, rate_bps: int) -> None:
        port = self._ports[host]
        config = ffi.new("struct nd_stack_config *")
        keep = port.store(config.ports[0])
        config.port_count = 1
        ffi.memmove(config.address_v4, port.address, len(port.address))
        config.link_bps = rate_bps
        config.profile = lib.ND_STACK_ADAPTIVE if self._may_spin() else lib.ND_STACK_THROUGHPUT
        config.seed = self._plan.scenario.seed * 1_000_003 + host + 1
        config.channel.send_bytes, config.channel.receive_bytes = SEND_BYTES, RECEIVE_BYTES
        engines = self._plan.host_configs(host)
        config.no_ndp, config.no_homa = "ndp" not in engines, "homa" not in engines
        ndp = _patient(engines["ndp"]) if "ndp" in engines else ffi.NULL
        config.ndp_config = ndp
        config.homa_config = engines.get("homa", ffi.NULL)
        made = _Host(config, port.host)
        del keep, ndp
        self.hosts.append(made)
        self._poll.register(made.descriptor, select.EPOLLIN)

    def _may_spin(self) -> bool:
        """Spinning helps only while every busy thread has a CPU: hosts, switches, and this one."""
        return len(os.sched_getaffinity(0)) >= len(self._ports) + 2

    def _introduce(self) -> None:
        """Tells each host the way to those that it talks to, and gets their handles."""
        for source, target in sorted(set(self.pairs) | {(b, a) for a, b in self.pairs}):
            peer, app = self._ports[target], self.hosts[source].app
            code = lib.nd_app_set_peer(app, peer.address, 0, peer.mac)
            if code < 0:
                raise UserError(f"host {source}: peer {target}: {os.strerror(-code)}")
            lib.nd_app_send(
                app, lib.ND_PROTO_OTHER, lib.ND_STACK_COMMAND_PEER, 0, 0, 0, 0, 0,
                NEVER, peer.address, len(peer.address),
            )  # fmt: skip
            self.handles[source, target] = self._answer(source).peer

    def _listen(self, protocol: int) -> None:
        for host in sorted({target for _, target in self.pairs}):
            lib.nd_app_tell(
                self.hosts[host].app, protocol, lib.ND_COMMAND_LISTEN, SERVICE, 0, 0, 0,
                NEVER,
            )  # fmt: skip
            self._answer(host)

    def _take_settings(self, host: int) -> None:
        """Gives NDP the paths that lead from a host to its peers; of others it keeps its own."""
        settings = self._told.settings(host)
        if settings is None or "ndp" not in self._plan.engines:
            return
        for (source, target), handle in self.handles.items():
            if source == host:
                paths = settings.paths_to(self._ports[target].ipv4)
                ids = array("H", (path.id for path in paths))
                if ids:
                    self._say_paths(self.hosts[source], handle, ids.tobytes())

    @staticmethod
    def _say_paths(host: _Host, handle: int, data: bytes) -> None:
        host.do(
            lambda: lib.nd_app_send(
                host.app, lib.ND_PROTO_NDP, lib.ND_COMMAND_PATHS, 0, handle, 0, 0, 0, NEVER,
                data, len(data),
            )
        )  # fmt: skip

    def _answer(self, host: int) -> nd_event:
        """The event that answers the only command on its way."""
        made = self.hosts[host]
        count = lib.nd_app_events(made.app, made.events, 1, round(RESOLVE_SECONDS * 1e9))
        if count != 1 or made.events[0].kind != lib.ND_EVENT_OPENED:
            raise UserError(f"host {self._ports[host].host}: its stack does not answer")
        return made.events[0]

    def serve(self, applications: Applications, timeout_s: float) -> None:
        """Waits for events of any host, no longer than timeout_s, and tells of all of them."""
        if all(lib.nd_app_arm(host.app) and not host.waits for host in self.hosts):
            # epoll itself would round the time up to milliseconds.
            select.select([self._poll], [], [], timeout_s)
        for number in self._told.changes():
            self._take_settings(number)
        for number, host in enumerate(self.hosts):
            self._take(number, host, applications)
            host.catch_up()

    def _take(self, number: int, host: _Host, applications: Applications) -> None:
        while True:
            count = lib.nd_app_events(host.app, host.events, EVENTS_AT_ONCE, 0)
            if count < 0 and count != -errno.EINTR:
                raise UserError(f"host {number}: its stack is gone: {os.strerror(-count)}")
            for i in range(max(count, 0)):
                event = host.events[i]
                self._speakers[event.protocol].take(number, event, applications)
            if count < EVENTS_AT_ONCE:
                return

    def message(self, host: int, event: nd_event) -> tuple[int, bool]:
        """The flow of a message that arrived and whether it is whole; gives it back."""
        view = memoryview(ffi.buffer(event.payload, event.bytes))
        flow, whole = self.content.flow_of(view), self.content.is_whole(view)
        lib.nd_app_release(self.hosts[host].app, event.protocol, event.id, event.message)
        return flow, whole

    def counters(self) -> Mapping[str, tuple[list[str], NDArray[np.uint64]]]:
        """Of each engine, and of all else that a host counts."""
        groups = {name: _GROUPS[name] for name in self._plan.engines}
        groups["core"], groups["port"] = lib.ND_STACK_GROUP_CORE, lib.ND_STACK_GROUP_PORT
        return {name: self._group(group) for name, group in groups.items()}

    def _group(self, group: int) -> tuple[list[str], NDArray[np.uint64]]:
        table = ffi.new("struct nd_counters_table *[]", 1)
        values = ffi.new("uint64_t[]", COUNTERS_MAX)
        names: list[str] = []
        rows = []
        for host in self.hosts:
            count = lib.nd_app_counters(host.app, group, 0, table, values, COUNTERS_MAX)
            names = counter_names(table[0])
            rows.append(list(values[0:count]))
        return names, np.array(rows, np.uint64)

    def conditions(self) -> Mapping[str, str]:
        """How the hosts are connected."""
        error, mode = ffi.new("struct nd_error *"), ffi.new("char[]", 64)
        state = ffi.new("uint32_t *")
        modes = set()
        for host in self.hosts:
            lib.nd_app_port_state(host.app, 0, state, mode, error)
            note = reason_of(error)
            modes.add(ffi.string(mode).decode() + (f" ({note})" if note else ""))
        profile = "adaptive" if self._may_spin() else "at once asleep: fewer CPUs than busy threads"
        return {"host ports": ", ".join(sorted(modes)), "polling of hosts": profile}

    def audit(self) -> str | None:
        """What is wrong inside the engines of any host, or None."""
        for number, host in enumerate(self.hosts):
            wrong = lib.nd_app_audit(host.app)
            if wrong:
                return f"host {number}: {ffi.string(wrong).decode()}"
        return None

    def close(self) -> None:
        """Stops all stacks."""
        for host in self.hosts:
            host.close()
        self._poll.close()


def _largest_reply(plan: Plan) -> int:
    return int(plan.traffic.flows["reply_bytes"].max(initial=0))
