"""Homa's engine against a model: hypothesis picks requests, faults and the order of everything.

R-H31-1, R-H31-2, R-H32-1, R-H32-2, R-H33-1, R-H33-3, R-H35-1, R-H37-1, R-H37-4, T1, HM#4
"""

from __future__ import annotations

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
    from ndpstack._core import nd_event, nd_homa_usage, nd_packet

HOSTS = (1, 2, 3)
PORT = 7
RESEND_ALL = 2**32 - 1
RX_BYTES = 1 << 18
MS = 1_000_000
SIZE_MAX = 60_000
SIZES = st.one_of(
    st.sampled_from([0, 1, 99, 1385, 1386, 1387, 2772, 9700]), st.integers(0, SIZE_MAX)
)
RpcKey = tuple[int, int]
"""Client and the RPC's id on the wire, which is even."""


@dataclass
class Rpc:
    """What the model knows of one RPC."""

    server: int
    request: bytes
    ended: str | None = None
    """What the client was told, once."""
    handle: int | None = None
    """The server's name for it, from the moment it executes."""
    reply: bytes | None = None
    reply_ended: str | None = None
    """What the server was told, once."""
    refused: bool = False


@dataclass
class Message:
    """What the network has seen of one message."""

    granted: int = 0
    """Highest GRANT that has reached its sender."""
    arrived: bytearray = field(default_factory=lambda: bytearray(SIZE_MAX))
    """1 for each byte that has reached its receiver."""


class HomaMachine(RuleBasedStateMachine):
    """Three hosts that send each other requests through a network that does its worst."""

    @initialize(
        seed=st.integers(0, 1000),
        overcommit=st.integers(0, 3),
        window=st.sampled_from([0, 1386, 5000]),
    )
    def boot(self, seed: int, overcommit: int, window: int) -> None:
        """Hosts with small limits, so that they are reached."""
        config = ffi.new("struct nd_homa_config *", lib.nd_homa_config_default(10**10, 1500))
        config.rtt_bytes, config.grant_fifo_bytes = 9700, 9700
        config.max_incoming_bytes = 3 * 9700
        config.overcommit = overcommit
        config.window_bytes = window
        config.rpcs_max, config.server_rpcs_max, config.peer_rpcs_max = 64, 48, 48
        config.peers_max, config.gaps_max, config.done_max = 8, 256, 4096
        ops = lib.nd_rig_transport_find(b"homa")
        self.config = config
        self.network = Network(
            [
                Endpoint(ops, config, handle, seed=seed + handle, rx_bytes=RX_BYTES)
                for handle in HOSTS
            ]
        )
        self.network.on_send = self.check_credit
        self.network.on_arrive = self.note_arrival
        self.rpcs: dict[RpcKey, Rpc] = {}
        self.messages: dict[tuple[RpcKey, int], Message] = {}
        self.executed: dict[tuple[int, int], RpcKey] = {}
        self.unread: list[tuple[int, int]] = []
        for handle in HOSTS:
            self.submit(handle, lib.ND_COMMAND_LISTEN, port=PORT)

    def submit(
        self,
        host: int,
        kind: int,
        *,
        peer: int = 0,
        port: int = 0,
        ident: int = 0,
        payload: bytes | None = None,
    ) -> tuple[int, int]:
        """The engine's answer and the id that it gave."""
        endpoint = self.network.endpoints[host]
        command = endpoint.command(kind, peer=peer, port=port, ident=ident, payload=payload)
        return endpoint.submit(command, self.network.now), command.id

    # ---- what applications do ----

    @rule(client=st.sampled_from(HOSTS), other=st.integers(1, 2), size=SIZES)
    def request(self, client: int, other: int, size: int) -> None:
        """One host asks another."""
        server = (client - 1 + other) % 3 + 1
        payload = pattern(len(self.rpcs), size)
        result, ident = self.submit(
            client, lib.ND_COMMAND_REQUEST, peer=server, port=PORT, payload=payload
        )
        if result == 0:
            assert ident % 2 == 0
            assert (client, ident) not in self.rpcs, "ids are never used twice"
            self.rpcs[client, ident] = Rpc(server, payload)

    def waiting(self) -> list[RpcKey]:
        """RPCs whose server works on them."""
        return [
            key
            for key, rpc in self.rpcs.items()
            if rpc.handle is not None
            and rpc.reply is None
            and rpc.reply_ended is None
            and not rpc.refused
        ]

    @precondition(lambda self: self.waiting())
    @rule(data=st.data(), size=SIZES)
    def answer(self, data: st.DataObject, size: int) -> None:
        """A server answers one of the requests that it has."""
        self.reply(data.draw(st.sampled_from(self.waiting())), size)

    def reply(self, key: RpcKey, size: int) -> None:
        """The reply, unless the client has given up meanwhile."""
        rpc = self.rpcs[key]
        assert rpc.handle is not None
        payload = pattern(key[1] + 1, size)
        result, _ = self.submit(rpc.server, lib.ND_COMMAND_REPLY, ident=rpc.handle, payload=payload)
        if result == 0:
            rpc.reply = payload
        else:
            # The client gave up; the event that says so is still to be looked at.
            rpc.refused = True

    def outstanding(self) -> list[RpcKey]:
        """RPCs whose client waits."""
        return [key for key, rpc in self.rpcs.items() if rpc.ended is None]

    @precondition(lambda self: self.outstanding())
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        """A client changes its mind."""
        client, ident = data.draw(st.sampled_from(self.outstanding()))
        self.submit(client, lib.ND_COMMAND_CANCEL, ident=ident)

    @rule()
    def read(self) -> None:
        """Slow readers catch up."""
        for host, ident in self.unread:
            result, _ = self.submit(host, lib.ND_COMMAND_RELEASE, ident=ident)
            assert result == 0
        self.unread.clear()

    @rule()
    def look(self) -> None:
        """Applications look at their events."""
        for host, endpoint in self.network.endpoints.items():
            for event in endpoint.events():
                self.take(host, event)

    def take(self, host: int, event: nd_event) -> None:
        """One event against the model."""
        if event.kind == lib.ND_EVENT_REQUEST:
            self.take_request(host, event)
        elif event.id % 2 == 0:
            self.take_end(host, event)
        else:
            rpc = self.rpcs[self.executed[host, event.id]]
            assert rpc.reply_ended is None, "a server is told once"
            assert event.kind == lib.ND_EVENT_FAILED or rpc.reply is not None
            rpc.reply_ended = "sent" if event.kind == lib.ND_EVENT_SENT else "failed"

    def take_request(self, host: int, event: nd_event) -> None:
        """A server executes."""
        key = (event.peer, event.message & ~1)
        rpc = self.rpcs[key]
        assert rpc.server == host
        assert rpc.handle is None, "a handler runs once"
        assert received(event) == rpc.request
        rpc.handle = event.id
        self.executed[host, event.id] = key
        self.hold(host, event)

    def take_end(self, host: int, event: nd_event) -> None:
        """A client is told how its RPC ended."""
        rpc = self.rpcs[host, event.id]
        assert rpc.ended is None, "a client is told once"
        if event.kind == lib.ND_EVENT_RESPONSE:
            assert received(event) == rpc.reply
            rpc.ended = "response"
            self.hold(host, event)
        else:
            assert event.kind == lib.ND_EVENT_FAILED
            assert event.error < 0
            rpc.ended = "failed"

    def hold(self, host: int, event: nd_event) -> None:
        """The application has the message until it reads; an empty one takes no memory."""
        if event.payload:
            self.unread.append((host, event.id))

    # ---- what the network does ----

    @rule(host=st.sampled_from(HOSTS), limit=st.integers(1, 20))
    def send(self, host: int, limit: int) -> None:
        """A NIC has room."""
        self.network.send(host, limit)

    @precondition(lambda self: self.network.flight)
    @rule(data=st.data(), count=st.integers(1, 12))
    def deliver(self, data: st.DataObject, count: int) -> None:
        """Packets arrive, in any order."""
        for _ in range(min(count, len(self.network.flight))):
            self.network.deliver(self.pick(data))

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

    @rule(duration=st.sampled_from([1_000, 100_000, MS, 10 * MS]))
    def wait(self, duration: int) -> None:
        """Time goes by."""
        self.network.pass_time(duration)

    # ---- what must hold ----

    def message(self, packet: nd_packet) -> Message:
        """The message that a packet is about: its sender's DATA, its receiver's GRANT."""
        ident = packet.homa.sender_id
        client = packet.source if ident % 2 == 0 else packet.target
        is_data = packet.type == lib.ND_HOMA_DATA
        sender = packet.source if is_data else packet.target
        return self.messages.setdefault(((client, ident & ~1), sender), Message())

    def check_credit(self, sent: Packet) -> None:
        """DATA stays below what is unscheduled or granted, grants within a window of arrivals."""
        packet = sent.unpack()
        header = packet.homa
        if packet.type == lib.ND_HOMA_DATA:
            unscheduled = min(self.config.rtt_bytes, header.message_bytes)
            end = header.offset + packet.payload_bytes
            assert end <= max(unscheduled, self.message(packet).granted)
        else:
            window = self.config.window_bytes or self.config.rtt_bytes
            arrived = self.message(packet).arrived.count(1)
            assert self.granted_by(packet) <= max(arrived + window, self.config.rtt_bytes)

    def granted_by(self, packet: nd_packet) -> int:
        """Bytes that a control packet lets its receiver send; a RESEND asks for granted ones."""
        header = packet.homa
        if packet.type == lib.ND_HOMA_GRANT:
            return header.offset
        if packet.type == lib.ND_HOMA_RESEND and header.length != RESEND_ALL:
            return header.offset + header.length
        return 0

    def note_arrival(self, arriving: Packet) -> None:
        """What reaches the other end."""
        packet = arriving.unpack()
        message = self.message(packet)
        message.granted = max(message.granted, self.granted_by(packet))
        if packet.type == lib.ND_HOMA_DATA:
            end = packet.homa.offset + packet.payload_bytes
            message.arrived[packet.homa.offset : end] = bytes([1]) * packet.payload_bytes

    def usage(self, endpoint: Endpoint) -> nd_homa_usage:
        """What an endpoint holds."""
        usage = ffi.new("struct nd_homa_usage *")
        lib.nd_homa_usage(endpoint.engine(), usage)
        return usage

    @invariant()
    def engines_are_sound(self) -> None:
        """Every engine's own audit, and its limits."""
        for endpoint in self.network.endpoints.values():
            assert endpoint.audit() is None
            usage = self.usage(endpoint)
            assert usage.active <= usage.degree
            assert endpoint.rx_used() <= RX_BYTES

    def quiet(self) -> bool:
        """Nothing is left anywhere."""
        for endpoint in self.network.endpoints.values():
            usage = self.usage(endpoint)
            if usage.client_rpcs or usage.server_rpcs or usage.closed_rpcs:
                return False
        return not self.outstanding()

    def serve(self) -> None:
        """Applications do their work at once."""
        self.look()
        for key in self.waiting():
            self.reply(key, 2000)
        self.read()

    def teardown(self) -> None:
        """Faults off: everything that is outstanding ends, and nothing is left."""
        if not hasattr(self, "network"):
            return
        assert self.network.settle(self.quiet, self.serve, limit=20_000)
        for key, rpc in self.rpcs.items():
            assert rpc.ended is not None, f"{key}: the client was told nothing"
            assert rpc.ended == "failed" or rpc.reply is not None
        for endpoint in self.network.endpoints.values():
            assert endpoint.audit() is None
            assert endpoint.rx_used() == 0


TestHoma = HomaMachine.TestCase
