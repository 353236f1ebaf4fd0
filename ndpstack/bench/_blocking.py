"""Contestants that block: the kernel's sockets, and ours."""

from __future__ import annotations

import socket
import struct
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from ndpstack.bench._turn import Sample, Turn, ask_in_turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from ndpstack import Stack

OUR_PORT = 4000
OTHER_LOOPBACK = "127.0.0.2"
LENGTH = struct.Struct("!I")
UDP_BYTES_MAX = 65507


def open_stack(turn: Turn, *, server: bool) -> Stack:
    """A stack of the default profile at one end of the link."""
    from ndpstack import Stack, StackConfig

    address = turn.server if server else turn.client
    if turn.world == "memory":
        return Stack(StackConfig(name=turn.link, backend="memory", address=address, listen=server))
    return Stack(StackConfig(name=turn.link, address=address))


def free_udp_port(address: str) -> int:
    """One that nobody has just now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
        return port


def open_in_udp(turn: Turn, *, server: bool) -> Stack:
    """One for Homa over UDP sockets of the kernel, which no privilege is needed for.

    Both ends have the turn's port.
    """
    from ndpstack import Stack, StackConfig

    client = OTHER_LOOPBACK if turn.world == "memory" else turn.client
    address = turn.kernel if server else client
    return Stack(
        StackConfig(
            name=f"{address}:{turn.port}",
            backend="udp",
            address=address,
            protocols=("homa",),
            mtu=turn.mtu,
        )
    )


def receive_exactly(connection: socket.socket, size: int) -> memoryview:
    """So many bytes of a stream."""
    buffer = bytearray(size)
    view, have = memoryview(buffer), 0
    while have < size:
        got = connection.recv_into(view[have:])
        if got == 0:
            raise ConnectionError("the other end closed the connection")
        have += got
    return view


class Udp:
    """Datagrams; each request fits into one."""

    def serve(self, turn: Turn, ready: Callable[[int], None]) -> None:
        """Answers datagrams."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
            server.bind((turn.kernel, 0))
            ready(server.getsockname()[1])
            reply = turn.reply
            while True:
                _, client = server.recvfrom(UDP_BYTES_MAX)
                server.sendto(reply, client)

    def measure(self, turn: Turn) -> Sample:
        """Sends one, waits for its answer."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.connect((turn.kernel, turn.port))
            client.settimeout(5)
            request = turn.request

            def ask() -> None:
                client.send(request)
                client.recv(UDP_BYTES_MAX)

            return ask_in_turn(turn, ask)


class Tcp:
    """A connection with TCP_NODELAY, a length before each message."""

    def serve(self, turn: Turn, ready: Callable[[int], None]) -> None:
        """Answers on one connection after the other."""
        with socket.create_server((turn.kernel, 0)) as server:
            ready(server.getsockname()[1])
            while True:
                connection, _ = server.accept()
                threading.Thread(target=self._answer, args=(connection, turn), daemon=True).start()

    def _answer(self, connection: socket.socket, turn: Turn) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reply = LENGTH.pack(turn.reply_bytes) + turn.reply
        try:
            while True:
                receive_exactly(connection, *LENGTH.unpack(receive_exactly(connection, 4)))
                connection.sendall(reply)
        except ConnectionError:
            connection.close()

    def measure(self, turn: Turn) -> Sample:
        """Sends a message, waits for its answer."""
        with socket.create_connection((turn.kernel, turn.port)) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            request = LENGTH.pack(turn.request_bytes) + turn.request

            def ask() -> None:
                client.sendall(request)
                receive_exactly(client, *LENGTH.unpack(receive_exactly(client, 4)))

            return ask_in_turn(turn, ask)


class Homa:
    """A Homa RPC by a blocking socket."""

    def _open(self, turn: Turn, *, server: bool) -> tuple[Stack, str]:
        """A stack, and the server's address."""
        return open_stack(turn, server=server), turn.server

    def serve(self, turn: Turn, ready: Callable[[int], None]) -> None:
        """Answers requests."""
        from ndpstack import HomaSocket

        stack, _ = self._open(turn, server=True)
        with stack, HomaSocket(stack) as server:
            server.bind(OUR_PORT)
            ready(OUR_PORT)
            reply = turn.reply
            for rpc in server:
                rpc.reply(reply)

    def measure(self, turn: Turn) -> Sample:
        """Requests, one after the other."""
        from ndpstack import HomaSocket

        stack, address = self._open(turn, server=False)
        with stack, HomaSocket(stack) as client:
            target = (stack.peer(address), OUR_PORT)
            request = turn.request

            def ask() -> None:
                client.request(target, request, timeout=5)

            return ask_in_turn(turn, ask, stack.port_state().mode)


class HomaInUdp(Homa):
    """The same over UDP sockets."""

    def serve(self, turn: Turn, ready: Callable[[int], None]) -> None:
        """Answers requests, on a UDP port that is free."""
        port = free_udp_port(turn.kernel)
        super().serve(replace(turn, port=port), lambda _: ready(port))

    def _open(self, turn: Turn, *, server: bool) -> tuple[Stack, str]:
        return open_in_udp(turn, server=server), turn.kernel


class Ndp:
    """Messages each way over one NDP connection, by blocking sockets."""

    def serve(self, turn: Turn, ready: Callable[[int], None]) -> None:
        """Answers on the one connection that comes."""
        from ndpstack import NdpSocket

        with open_stack(turn, server=True) as stack, NdpSocket(stack) as server:
            server.bind(OUR_PORT)
            server.listen()
            ready(OUR_PORT)
            reply = turn.reply
            with server.accept() as connection:
                for _ in connection:
                    connection.send(reply)
            threading.Event().wait()

    def measure(self, turn: Turn) -> Sample:
        """Sends a message, waits for its answer."""
        from ndpstack import NdpSocket

        with open_stack(turn, server=False) as stack, NdpSocket(stack) as client:
            client.settimeout(5)
            client.connect((stack.peer(turn.server), turn.port))
            request = turn.request

            def ask() -> None:
                client.send(request)
                client.recv()

            return ask_in_turn(turn, ask, stack.port_state().mode)
