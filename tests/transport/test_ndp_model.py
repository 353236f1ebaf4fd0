"""NDP's engine against a model: hypothesis picks messages, faults and the order of everything.

R-NTP-01, R-NTP-02, R-NTP-04, R-NTP-05, R-NTP-06, R-NTP-10, R-NTP-14, R-NTP-19, R-NFR-01, R-NFR-02,
R-NFR-03, R-RTS-01, R-RTS-03, R-NRT-05, R-NSB-04, T1, T8
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine_network import Network
from engine_rig import Endpoint, Packet, pattern, received
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from ndpstack._core import ffi, lib

if TYPE_CHECKING:
    from ndpstack._core import nd_event, nd_ndp_usage, nd_packet

HOSTS = (1, 2, 3)
PORTS = range(1, 13)
"""Each connection has a service of its own, which tells both ends' names for it apart."""
MSS = 1000
RX_BYTES = 1 << 17
MS = 1_000_000
SIZES = st.one_of(
    st.sampled_from([0, 1, MSS - 1, MSS, MSS + 1, 4 * MSS, 5 * MSS]), st.integers(0, 30 * MSS)
)


@dataclass
class Message:
    """What the model knows of one message."""

    payload: bytes
    ended: str | None = None
    """What the sender was told, once."""
    arrived: str | None = None
    """What its receiver was told, once: that it is here, or that it never will be."""
    cancelled: bool = False


@dataclass
class Side:
    """One end of a connection."""

    host: int
    handle: int | None = None
    sent: dict[int, Message] = field(default_factory=dict)
    trains: int = 0
    """Times that it began to send with nothing left to send: each has a first window."""
    wanted: int = 0
    """Packets that its messages take, as far as they were not cancelled."""
    closing: bool = False
    reset: bool = False
    closed: str | None = None
    """How it ended, once."""


@dataclass
class Connection:
    """Both ends: the one that connected first."""

    ends: tuple[Side, Side]


@dataclass
class Credit:
    """What the network has seen of one direction of a connection."""

    pulls: int = 0
    """Highest pull counter that has reached the sender."""
    arrivals: int = 0
    """DATA that has reached the receiver, cut or not, counted each time."""
    sent: int = 0
    """New packets sent."""
    resent: int = 0
    """Packets sent again: one that was lost gives back the credit that it took."""
    paths: dict[int, int] = field(default_factory=dict)
    """The path that each packet took last; forgotten with the list of paths."""


class NdpMachine(RuleBasedStateMachine):
    """Three hosts that send each other messages through a network that does its worst."""

    @initialize(
        seed=st.integers(0, 1000),
        window=st.integers(1, 8),
        paths=st.integers(1, 4),
        carry=st.booleans(),
    )
    def boot(self, seed: int, window: int, paths: int, carry: bool) -> None:
        """Hosts with small limits, so that they are reached."""
        config = ffi.new("struct nd_ndp_config *", lib.nd_ndp_config_default(10**10, MSS + 68))
        config.initial_window, config.window_packets = window, 64
        config.paths = paths
        config.ack_carries_pull = config.nack_carries_pull = carry
        config.connections_max, config.time_wait_max = 48, 48
        config.listen_backlog = 1
        config.peers_max = config.path_sets_max = 8
        config.sending_max = 24
        config.messages_max, config.connection_messages_max = 64, 16
        config.receive_messages_max, config.control_max = 64, 64
        self.config = config
        ops = lib.nd_rig_transport_find(b"ndp")
        self.network = Network(
            [
                Endpoint(ops, config, handle, seed=seed + handle, rx_bytes=RX_BYTES)
                for handle in HOSTS
            ]
        )
        self.network.on_send = self.check_credit
        self.network.on_arrive = self.note_arrival
        self.connections: dict[int, Connection] = {}
        self.by_handle: dict[tuple[int, int], tuple[int, int]] = {}
        self.credits: dict[tuple[int, int, bool], Credit] = {}
        self.ports: dict[tuple[int, int], int] = {}
        self.unread: list[tuple[int, int, int]] = []
        self.paths = {(host, peer): set(range(paths)) for host in HOSTS for peer in HOSTS}
        for host in HOSTS:
            for port in PORTS:
                assert self.submit(host, lib.ND_COMMAND_LISTEN, port=port, backlog=1)[0] == 0

    def submit(
        self,
        host: int,
        kind: int,
        *,
        peer: int = 0,
        port: int = 0,
        ident: int = 0,
        message: int = 0,
        payload: bytes | None = None,
        backlog: int = 0,
    ) -> tuple[int, int, int]:
        """The engine's answer, and the id and message number that it gave."""
        endpoint = self.network.endpoints[host]
        command = endpoint.command(
            kind, peer=peer, port=port, ident=ident, message=message, payload=payload
        )
        if backlog:
            command.bytes = backlog
        return endpoint.submit(command, self.network.now), command.id, command.message

    # ---- what applications do ----

    @precondition(lambda self: len(self.connections) < len(PORTS))
    @rule(client=st.sampled_from(HOSTS), other=st.integers(1, 2), size=SIZES)
    def connect(self, client: int, other: int, size: int) -> None:
        """One host opens a connection and sends at once."""
        port = PORTS[len(self.connections)]
        server = (client - 1 + other) % 3 + 1
        result, handle, _ = self.submit(client, lib.ND_COMMAND_CONNECT, peer=server, port=port)
        assert result == 0
        self.connections[port] = Connection((Side(client, handle), Side(server)))
        self.by_handle[client, handle] = (port, 0)
        self.send_on(port, 0, size)

    def open_ends(self) -> list[tuple[int, int]]:
        """Ends that may send."""
        return [
            (port, end)
            for port, connection in self.connections.items()
            for end, side in enumerate(connection.ends)
            if side.handle is not None and not side.closing and side.closed is None
        ]

    @precondition(lambda self: self.open_ends())
    @rule(data=st.data(), size=SIZES)
    def send_message(self, data: st.DataObject, size: int) -> None:
        """One more message, in either direction."""
        self.send_on(*data.draw(st.sampled_from(self.open_ends())), size)

    def send_on(self, port: int, end: int, size: int) -> None:
        """Either the engine takes it, or it says why not."""
        side = self.connections[port].ends[end]
        assert side.handle is not None
        payload = pattern(port * 64 + end * 32 + len(side.sent), size)
        result, _, number = self.submit(
            side.host, lib.ND_COMMAND_SEND, ident=side.handle, payload=payload
        )
        if result == 0:
            assert number not in side.sent
            side.sent[number] = Message(payload)
            if self.sent_by(port, end) >= side.wanted:
                side.trains += 1
            side.wanted += max(1, -(-size // MSS))

    def sent_by(self, port: int, end: int) -> int:
        """New packets of one end so far."""
        client = self.connections[port].ends[0].host
        return sum(
            credit.sent
            for (host, wire, reply), credit in self.credits.items()
            if host == client and self.ports.get((host, wire)) == port and reply == bool(end)
        )

    @precondition(lambda self: self.open_ends())
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        """One end has said all that it will."""
        self.end(*data.draw(st.sampled_from(self.open_ends())), lib.ND_COMMAND_CLOSE)

    @precondition(lambda self: self.open_ends())
    @rule(data=st.data())
    def reset(self, data: st.DataObject) -> None:
        """One end has had enough."""
        self.end(*data.draw(st.sampled_from(self.open_ends())), lib.ND_COMMAND_RESET)

    def end(self, port: int, end: int, kind: int) -> None:
        """Closes or resets."""
        side = self.connections[port].ends[end]
        assert side.handle is not None
        if self.submit(side.host, kind, ident=side.handle)[0] == 0:
            side.closing = True
            side.reset |= kind == lib.ND_COMMAND_RESET

    @precondition(lambda self: self.open_ends())
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        """A sender changes its mind about a message."""
        port, end = data.draw(st.sampled_from(self.open_ends()))
        side = self.connections[port].ends[end]
        assert side.handle is not None
        for number, message in side.sent.items():
            if message.ended is None:
                self.submit(side.host, lib.ND_COMMAND_CANCEL, ident=side.handle, message=number)
                message.cancelled = True
                side.wanted = 0
                return

    @rule()
    def read(self) -> None:
        """Slow readers catch up."""
        for host, ident, message in self.unread:
            result, *_ = self.submit(host, lib.ND_COMMAND_RELEASE, ident=ident, message=message)
            assert result == 0
        self.unread.clear()

    @rule(
        host=st.sampled_from(HOSTS),
        other=st.integers(1, 2),
        paths=st.lists(st.integers(0, 9), min_size=1, max_size=6),
    )
    def route(self, host: int, other: int, paths: list[int]) -> None:
        """The control plane has another list of paths from one host to another."""
        peer = (host - 1 + other) % 3 + 1
        ids = b"".join(path.to_bytes(2, sys.byteorder) for path in paths)
        assert self.submit(host, lib.ND_COMMAND_PATHS, peer=peer, payload=ids)[0] == 0
        self.paths[host, peer] = set(paths)
        for credit in self.credits.values():
            credit.paths.clear()

    @rule()
    def look(self) -> None:
        """Applications look at their events."""
        for host, endpoint in self.network.endpoints.items():
            for event in endpoint.events():
                self.take(host, event)

    def take(self, host: int, event: nd_event) -> None:
        """One event against the model."""
        if event.kind == lib.ND_EVENT_ACCEPTED:
            side = self.connections[event.port].ends[1]
            assert side.host == host
            assert event.peer == self.connections[event.port].ends[0].host
            assert side.handle is None, "a connection is accepted once"
            side.handle = event.id
            self.by_handle[host, event.id] = (event.port, 1)
            return
        port, end = self.by_handle[host, event.id]
        side, other = (self.connections[port].ends[i] for i in (end, 1 - end))
        if event.kind == lib.ND_EVENT_MESSAGE:
            message = other.sent[event.message]
            assert message.arrived is None, "a receiver is told once"
            assert received(event) == message.payload
            message.arrived = "whole"
            self.unread.append((host, event.id, event.message))
        elif event.kind == lib.ND_EVENT_ABANDONED:
            message = other.sent[event.message]
            assert message.cancelled, "only what its sender gave up is given up"
            assert message.arrived is None, "a receiver is told once"
            message.arrived = "given up"
        elif event.kind == lib.ND_EVENT_CLOSED:
            assert side.closed is None, "a connection ends once"
            side.closed = "in order" if event.error == 0 else "by force"
        else:
            message = side.sent[event.message]
            assert message.ended is None, "a sender is told once"
            message.ended = "sent" if event.kind == lib.ND_EVENT_SENT else "failed"

    # ---- what the network does ----

    @rule(host=st.sampled_from(HOSTS), limit=st.integers(1, 20))
    def transmit(self, host: int, limit: int) -> None:
        """A NIC has room."""
        self.network.send(host, limit)

    @precondition(lambda self: self.network.flight)
    @rule(data=st.data(), count=st.integers(1, 12))
    def deliver(self, data: st.DataObject, count: int) -> None:
        """Packets arrive, in any order."""
        for _ in range(min(count, len(self.network.flight))):
            self.network.deliver(self.pick(data))

    @precondition(lambda self: self.network.flight)
    @rule(data=st.data(), last_hop=st.booleans())
    def trim(self, data: st.DataObject, last_hop: bool) -> None:
        """A switch cuts a packet's payload."""
        self.network.trim(self.pick(data), last_hop=last_hop)

    @precondition(lambda self: self.network.flight)
    @rule(data=st.data())
    def bounce(self, data: st.DataObject) -> None:
        """A switch returns a header to its sender."""
        self.network.bounce(self.pick(data))

    @precondition(lambda self: self.network.flight)
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        """A packet is lost."""
        self.network.lose(self.pick(data))

    @precondition(lambda self: self.network.flight)
    @rule(data=st.data())
    def duplicate(self, data: st.DataObject) -> None:
        """A packet is doubled."""
        self.network.duplicate(self.pick(data))

    def pick(self, data: st.DataObject) -> int:
        """One of the packets on their way."""
        return data.draw(st.integers(0, len(self.network.flight) - 1))

    @rule(duration=st.sampled_from([1_000, 100_000, MS, 10 * MS, 300 * MS]))
    def wait(self, duration: int) -> None:
        """Time goes by."""
        self.network.pass_time(duration)

    # ---- what must hold ----

    def credit(self, packet: nd_packet) -> Credit:
        """Of the direction that DATA goes in, or that feedback is about."""
        reply = bool(packet.flags & lib.ND_NDP_FLAG_REPLY)
        client = packet.target if reply else packet.source
        about = reply if packet.type == lib.ND_NDP_DATA else not reply
        return self.credits.setdefault((client, packet.ndp.connection, about), Credit())

    def carries_pull(self, packet: nd_packet) -> bool:
        """Whether its pull counter counts."""
        return packet.type == lib.ND_NDP_PULL or (
            packet.type in (lib.ND_NDP_ACK, lib.ND_NDP_NACK)
            and bool(packet.flags & lib.ND_NDP_FLAG_PULL)
        )

    def check_credit(self, sent: Packet) -> None:
        """New packets only in the first window or when pulled, pulls only for what arrived."""
        packet = sent.unpack()
        credit = self.credit(packet)
        if packet.type == lib.ND_NDP_DATA:
            self.check_path(packet, credit)
            self.check_data(packet, credit)
        elif self.carries_pull(packet):
            assert packet.ndp.pull <= credit.arrivals

    def check_path(self, packet: nd_packet, credit: Credit) -> None:
        """One of the list, and what is sent again takes another than before."""
        paths = self.paths[packet.source, packet.target]
        assert packet.path in paths
        if packet.marks & lib.ND_MARK_TRIMMED:
            return
        sequence = packet.ndp.sequence
        assert credit.paths.get(sequence) != packet.path or len(paths) == 1
        credit.paths[sequence] = packet.path

    def check_data(self, packet: nd_packet, credit: Credit) -> None:
        """A first window for each train, then one packet a pull; FIN and solicits beside them."""
        reply = bool(packet.flags & lib.ND_NDP_FLAG_REPLY)
        client = packet.target if reply else packet.source
        if packet.flags & lib.ND_NDP_FLAG_SYN and not reply:
            self.ports[client, packet.ndp.connection] = packet.ndp.service
        if packet.ndp.sequence < credit.sent:
            credit.resent += 1
            return
        credit.sent = packet.ndp.sequence + 1
        side = self.connections[self.ports[client, packet.ndp.connection]].ends[reply]
        solicits = self.network.endpoints[packet.source].counter("solicits_sent")
        window = side.trains * self.config.initial_window
        fin = bool(packet.flags & lib.ND_NDP_FLAG_FIN)
        assert credit.sent <= window + credit.pulls + credit.resent + solicits + fin

    def note_arrival(self, arriving: Packet) -> None:
        """What reaches the other end."""
        packet = arriving.unpack()
        if packet.marks & lib.ND_MARK_BOUNCED:
            return
        credit = self.credit(packet)
        if packet.type == lib.ND_NDP_DATA:
            credit.arrivals += 1
        elif self.carries_pull(packet):
            credit.pulls = max(credit.pulls, packet.ndp.pull)

    def usage(self, endpoint: Endpoint) -> nd_ndp_usage:
        """What an endpoint holds."""
        usage = ffi.new("struct nd_ndp_usage *")
        lib.nd_ndp_usage(endpoint.engine(), usage)
        return usage

    @invariant()
    def engines_are_sound(self) -> None:
        """Every engine's own audit, and its limits."""
        for endpoint in self.network.endpoints.values():
            assert endpoint.audit() is None
            assert endpoint.rx_used() <= RX_BYTES

    def quiet(self) -> bool:
        """Nothing is left anywhere, time-wait included."""
        for endpoint in self.network.endpoints.values():
            usage = self.usage(endpoint)
            if usage.connections or usage.remembered or usage.messages:
                return False
        return True

    def serve(self) -> None:
        """Applications do their work at once, and close when they have sent everything."""
        self.look()
        self.read()
        for port, end in self.open_ends():
            self.end(port, end, lib.ND_COMMAND_CLOSE)

    def teardown(self) -> None:
        """Faults off: everything that is outstanding ends, and nothing is left."""
        if not hasattr(self, "network"):
            return
        assert self.network.settle(self.quiet, self.serve, limit=20_000)
        for port, connection in self.connections.items():
            self.check_ended(port, *connection.ends)
            self.check_ended(port, *connection.ends[::-1])
        for endpoint in self.network.endpoints.values():
            assert endpoint.audit() is None
            assert endpoint.rx_used() == 0

    def check_ended(self, port: int, side: Side, other: Side) -> None:
        """Every message of one end was delivered whole, or its sender knows that it may not be."""
        for number, message in side.sent.items():
            assert message.ended is not None, f"{port}/{number}: the sender was told nothing"
            if message.ended == "sent" and not other.reset:
                assert message.arrived == "whole", f"{port}/{number}: sent, and never delivered"
        assert side.handle is None or side.closed is not None, f"{port}: never closed"


TestNdp = NdpMachine.TestCase
