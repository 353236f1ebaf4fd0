"""Messages over the kernel's TCP: one connection for each pair of hosts, opened beforehand."""

from __future__ import annotations

import errno
import select
import selectors
import socket
import struct
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pyroute2 import IPRoute

from ndpstack._errors import UserError
from ndpstack._netns import call_inside
from ndpstack.agent._carrier import Content

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ndpstack.agent._carrier import Applications, Carrier
    from ndpstack.testbed import Lab

PORT = 7000
CONNECT_SECONDS = 10.0
CONGESTION = b"cubic"
"""Linux's own default, whatever this machine is set to."""

MESSAGE_BYTES_MAX = 1 << 24
RECEIVE_BYTES = 1 << 18

SHAPER_BURST_BYTES = 3200
"""Two packets, as much as a NIC takes at once."""

SHAPER_LIMIT_BYTES = 1_500_000
"""What waits in a host for its own link: a thousand packets, as Linux has it."""

_HEADER = struct.Struct("<II")
"""Flow, and length of the message that follows; the top bit of the length is set on a reply."""
_REPLY = 1 << 31


@dataclass
class _Stream:
    """One end of a connection."""

    socket: socket.socket
    is_source: bool
    out: deque[tuple[memoryview, int]] = field(default_factory=deque)
    """What is to be written, each with the flow whose message ends with it, or -1."""
    head: bytearray = field(default_factory=bytearray)
    message: bytearray = field(default_factory=bytearray)
    missing: int = 0
    flow: int = -1
    reply: bool = False
    watched: bool = False
    """Whether it waits for room to write."""


class KernelTcp:
    """A carrier over TCP between the namespaces of a lab."""

    answers = False
    message_bytes_max = MESSAGE_BYTES_MAX

    def __init__(self, lab: Lab, flows: NDArray[np.void], engines: int, rate_bps: int) -> None:
        """Opens a connection for each pair of source and target.

        Args:
            lab: Where the hosts are; they are numbered as in its plan.
            flows: What will be sent.
            engines: How many it stands for.
            rate_bps: Of a host's link.
        """
        self.carriers: list[Carrier] = [self] * engines
        self._pair_of = list(zip(flows["source"].tolist(), flows["target"].tolist(), strict=True))
        self._selector = selectors.EpollSelector()
        self._sources: dict[tuple[int, int], _Stream] = {}
        self._sockets: list[socket.socket] = []
        self._lab = lab
        self._ended: list[int] = []
        self._errors: list[tuple[int, int]] = []
        sizes = [int(size) for size in flows["bytes"] if size < MESSAGE_BYTES_MAX]
        self._content = Content(max([*sizes, int(flows["reply_bytes"].max(initial=0)), 1 << 20]))
        try:
            for host in range(len(lab.plan.hosts)):
                self._shape(host, rate_bps)
            self._connect(set(self._pair_of))
        except BaseException:
            self.close()
            raise

    def _connect(self, pairs: set[tuple[int, int]]) -> None:
        listeners = {target: self._listen(target) for target in sorted({b for _, b in pairs})}
        for source, target in sorted(pairs):
            ours = self._dial(source, target)
            theirs, _ = listeners[target].accept()
            self._sockets.append(theirs)
            self._sources[source, target] = self._watch(ours, is_source=True)
            self._watch(theirs, is_source=False)

    def _name(self, host: int) -> str:
        return self._lab.plan.hosts[host].name

    def _address(self, host: int) -> str:
        return str(self._lab.plan.address(self._name(host)).ipv4)

    def _shape(self, host: int, rate_bps: int) -> None:
        """A veth is as fast as the machine: its queue gets the rate of the link it stands for."""
        own = self._lab.plan.address(self._name(host)).interface

        def shape() -> None:
            with IPRoute() as ipr:
                index = ipr.link_lookup(ifname=own)[0]
                ipr.tc(
                    "replace", "tbf", index, 0x10000,
                    rate=rate_bps // 8, burst=SHAPER_BURST_BYTES, limit=SHAPER_LIMIT_BYTES,
                )  # fmt: skip

        call_inside(self._lab.namespace(self._name(host)), shape)

    def _listen(self, host: int) -> socket.socket:
        def make() -> socket.socket:
            return socket.create_server((self._address(host), PORT), backlog=1024)

        made = call_inside(self._lab.namespace(self._name(host)), make)
        made.settimeout(CONNECT_SECONDS)
        self._sockets.append(made)
        return made

    def _dial(self, source: int, target: int) -> socket.socket:
        def make() -> socket.socket:
            return socket.create_connection((self._address(target), PORT), CONNECT_SECONDS)

        try:
            made = call_inside(self._lab.namespace(self._name(source)), make)
        except OSError as error:
            raise UserError(
                f"kernel TCP from host {source} to host {target} does not connect: {error}; "
                "are the switches running?"
            ) from None
        self._sockets.append(made)
        return made

    def _watch(self, made: socket.socket, *, is_source: bool) -> _Stream:
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CONGESTION)
        stream = _Stream(made, is_source)
        self._selector.register(made, selectors.EVENT_READ, stream)
        return stream

    def open(self, flow: int) -> None:
        """Connections are there already."""

    def send(self, flow: int, size: int) -> None:
        """Queues a message on the connection of its pair."""
        self._put(self._sources[self._pair_of[flow]], flow, size, 0)

    def reply(self, flow: int, size: int, answer: object) -> None:
        """Queues the reply on the connection that the request came by."""
        assert isinstance(answer, _Stream)
        self._put(answer, flow, size, _REPLY)

    def _put(self, stream: _Stream, flow: int, size: int, kind: int) -> None:
        message = self._content.make(flow, size)
        header = _HEADER.pack(flow, len(message) | kind)
        stream.out.append((memoryview(header + message), -1 if kind else flow))
        self._write(stream)

    def finish(self, flow: int) -> None:
        """Connections stay open for the flows that follow."""

    def serve(self, applications: Applications, timeout_s: float) -> None:
        """Reads and writes what can be."""
        wait = 0.0 if self._ended or self._errors else timeout_s
        # A selector of its own would round the time up to milliseconds.
        select.select([self._selector], [], [], wait)
        for key, events in self._selector.select(0):
            if events & selectors.EVENT_WRITE:
                self._write(key.data)
            if events & selectors.EVENT_READ:
                self._read(key.data, applications)
        ended, self._ended = self._ended, []
        for flow in ended:
            applications.ended(flow)
        errors, self._errors = self._errors, []
        for flow, code in errors:
            applications.failed(flow, code)

    def _write(self, stream: _Stream) -> None:
        while stream.out:
            chunk, flow = stream.out[0]
            try:
                sent = stream.socket.send(chunk)
            except BlockingIOError:
                self._want_room(stream, wanted=True)
                return
            except OSError as error:
                self._break(stream, error)
                return
            if sent < len(chunk):
                stream.out[0] = (chunk[sent:], flow)
                continue
            stream.out.popleft()
            if flow >= 0:
                self._ended.append(flow)
        self._want_room(stream, wanted=False)

    def _want_room(self, stream: _Stream, *, wanted: bool) -> None:
        if wanted != stream.watched:
            stream.watched = wanted
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if wanted else 0)
            self._selector.modify(stream.socket, events, stream)

    def _break(self, stream: _Stream, error: OSError) -> None:
        """The connection is gone, and with it all that was to go over it."""
        self._selector.unregister(stream.socket)
        code = -(error.errno or errno.EPIPE)
        self._errors += [(flow, code) for _, flow in stream.out if flow >= 0]
        stream.out.clear()

    def _read(self, stream: _Stream, applications: Applications) -> None:
        try:
            data = memoryview(stream.socket.recv(RECEIVE_BYTES))
        except BlockingIOError:
            return
        except OSError as error:
            self._break(stream, error)
            return
        if not data:
            self._break(stream, ConnectionResetError(errno.ECONNRESET, "closed by the peer"))
            return
        while data:
            data = self._take(stream, data, applications)

    def _take(self, stream: _Stream, data: memoryview, applications: Applications) -> memoryview:
        """Uses up the beginning of what was read, and returns the rest."""
        if not stream.missing:
            need = _HEADER.size - len(stream.head)
            stream.head += data[:need]
            if len(stream.head) < _HEADER.size:
                return data[need:]
            stream.flow, length = _HEADER.unpack(stream.head)
            stream.reply, stream.missing = bool(length & _REPLY), length & ~_REPLY
            stream.head.clear()
            return data[need:]
        part = data[: stream.missing]
        stream.message += part
        stream.missing -= len(part)
        if not stream.missing:
            self._complete(stream, applications)
        return data[len(part) :]

    def _complete(self, stream: _Stream, applications: Applications) -> None:
        message, stream.message = stream.message, bytearray()
        if not self._content.is_whole(memoryview(message)):
            applications.failed(stream.flow, -errno.EBADMSG)
        elif stream.reply:
            applications.replied(stream.flow)
        else:
            applications.arrived(stream.flow, len(message), stream)

    def counters(self) -> Mapping[str, tuple[list[str], NDArray[np.uint64]]]:
        """What the kernel counts in each host's namespace."""
        rows = []
        for host in range(len(self._lab.plan.hosts)):
            text = call_inside(self._lab.namespace(self._name(host)), _read_snmp)
            rows.append([text.get(name, 0) for name in _COUNTERS])
        return {"kernel-tcp": (list(_COUNTERS), np.array(rows, np.uint64))}

    def audit(self) -> None:
        """The kernel's state is the kernel's."""

    def conditions(self) -> Mapping[str, str]:
        """The congestion control in use."""
        name = CONGESTION.decode()
        return {"kernel TCP": f"{name}, one connection a pair, opened beforehand, TCP_NODELAY"}

    def close(self) -> None:
        """Closes all connections."""
        self._selector.close()
        for made in self._sockets:
            made.close()
        self._sockets.clear()


_COUNTERS = ("OutSegs", "RetransSegs", "TCPTimeouts", "TCPFastRetrans", "TCPLossProbes")


def _read_snmp() -> dict[str, int]:
    """TCP's counters of this thread's network namespace."""
    found: dict[str, int] = {}
    for name in ("snmp", "netstat"):
        lines = Path(f"/proc/thread-self/net/{name}").read_text().splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            numbers = map(int, values.split()[1:])
            found.update(zip(names.split()[1:], numbers, strict=True))
    return found
