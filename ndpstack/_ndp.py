"""NDP sockets: connections that carry messages, blocking."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from ndpstack import _core
from ndpstack._address import Peer, check_port
from ndpstack._connection import Connection, Listener, Opening
from ndpstack._event import NDP
from ndpstack._listen import listen
from ndpstack._socket import (
    NEVER,
    UNSET,
    Address,
    Socket,
    Timeout,
    as_message,
    check_priority,
    deadline_ns,
    is_forgotten,
    until_of,
)
from ndpstack.errors import MessageTooLong, Unreachable, make_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

    from ndpstack._dispatch import Message
    from ndpstack._stack import Stack

lib, ffi = _core.lib, _core.ffi


def copy_into(target: memoryview, message: memoryview) -> int:
    """Copies a message to the beginning of a buffer; its length.

    Raises:
        MessageTooLong: It does not fit.
        TypeError: The buffer is not writable.
    """
    size = len(message)
    if size > len(target):
        raise MessageTooLong(
            errno.EMSGSIZE,
            f"message of {size} bytes, the buffer takes {len(target)}",
            remedy="Use recv(), which takes any length.",
        )
    target[:size] = message
    return size


class NdpSocket(Socket):
    """Messages between two hosts, over NDP.

    A message arrives whole or not at all, in the order of sending (`ordered=True`) or as it
    completes. Any number of threads may use one socket at a time.

    >>> import ndpstack
    >>> with ndpstack.memory_pair() as (a, b):
    ...     with ndpstack.NdpSocket(a) as listener, ndpstack.NdpSocket(b) as client:
    ...         listener.bind(4000)
    ...         listener.listen()
    ...         client.connect((a.address, 4000))
    ...         client.send(b"hello")
    ...         with listener.accept() as server:
    ...             bytes(server.recv())
    b'hello'

    Args:
        stack: The stack to use.
        ordered: Receive messages in the order in which they were sent. A message that cannot be
            sent then ends the connection; without order it is only missing, also to an ordered
            reader, who is told that it will not come and goes on with the next.
    """

    def __init__(self, stack: Stack, *, ordered: bool = True) -> None:
        super().__init__(stack)
        self._ordered = ordered
        self._port = 0
        self._listener: Listener | None = None
        self._connection: Connection | None = None
        self._key = 0

    # ---- opening ----

    def bind(self, port: int) -> None:
        """Chooses the port to listen on, 1..65535."""
        self.check_open()
        self._port = check_port(port)

    def listen(self, backlog: int = 0) -> None:
        """Lets peers connect to the port that was bound.

        Args:
            backlog: Most connections that peers may have here at once, accepted or not; room for
                them is kept. First messages of others wait at their senders. 0: 128.

        Raises:
            AddressInUse: An application of this host listens there.
            LimitReached: The core has no room for so many.
            Closed: The socket is not bound, or in use already.
            ValueError: The backlog is negative.
        """
        if backlog < 0:
            raise ValueError(f"backlog {backlog} is negative")
        self._check_unused()
        if not self._port:
            raise make_error(errno.ENOTCONN, "no port to listen on", remedy="Bind one first.")
        listener = Listener(self.dispatcher, self._port, ordered=self._ordered)
        key = listen(self.dispatcher, NDP, self._port, listener, backlog)
        # No call stands between these, so of all that other threads begin one alone is kept.
        if self._connection is None and self._listener is None:
            self._listener, self._key = listener, key
        if self._listener is not listener or self._closed:
            listener.close()
            self.dispatcher.by_key.pop(key, None)
            self._check_unused()

    @property
    def listener(self) -> Listener:
        """The queue of connections of a listening socket."""
        self.check_open()
        if self._listener is None:
            raise make_error(errno.ENOTCONN, "socket does not listen", remedy="Call listen().")
        return self._listener

    def accept(self, *, timeout: Timeout = UNSET) -> NdpSocket:
        """Waits for the next connection.

        A peer's connection exists with its first message: there is no handshake to wait for.

        Raises:
            Timeout: None came in time.
            Closed: The socket is closed, or does not listen.
        """
        until = self.until(timeout)
        return self.accepted(self.next_of(self.listener, until, "no connection came"))

    def accepted(self, connection: Connection) -> NdpSocket:
        """A socket for a connection that was taken from the listener."""
        socket = NdpSocket(self.stack, ordered=self._ordered)
        socket._connection = connection
        return socket

    def connect(self, address: Address, *, timeout: Timeout = UNSET, priority: int = 0) -> None:
        """Opens a connection. Nothing is sent before the first message.

        So it does not fail when there is no such peer; sending and receiving do.

        Args:
            address: Host (IP address or Peer) and port.
            timeout: Seconds for a way to the host to be found; by default the socket's.
            priority: 0..7, connections with a higher one are served first.

        Raises:
            LimitReached: The core has as many connections as it may.
            Unreachable: There is no way to the host.
            Timeout: None was found in time.
            Closed: The socket is closed, or in use already.
        """
        until = self.until(timeout)
        try:
            self._connect(*self.peer_of(address, until), priority)
        except Unreachable as error:
            if not is_forgotten(address, error):
                raise
        else:
            return
        self._connect(*self.peer_of(address, until), priority)

    def _connect(self, peer: Peer, port: int, priority: int) -> None:
        connection, opening = self.prepare_connect(peer, port, priority)
        try:
            self.dispatcher.wait_for_core(opening)
        except BaseException:
            opening.give_up()
            raise
        self.finish_connect(connection, opening)

    def prepare_connect(self, peer: Peer, port: int, priority: int) -> tuple[Connection, Opening]:
        """Asks the core for a connection; and what to wait for."""
        self._check_unused()
        port, priority = check_port(port), check_priority(priority)
        connection = Connection(self.dispatcher, peer, port, ordered=self._ordered)
        opening = Opening(connection)
        try:
            code = lib.nd_app_send(
                self.dispatcher.app, NDP, lib.ND_COMMAND_CONNECT, priority, peer.handle, port, 0,
                opening.key, 0, b"", 0,
            )  # fmt: skip
        except BaseException:  # An interrupt, perhaps after it was sent.
            opening.give_up()
            raise
        if code < 0:
            self.dispatcher.by_key.pop(opening.key, None)
            raise make_error(-code, "cannot connect")
        return connection, opening

    def finish_connect(self, connection: Connection, opening: Opening) -> None:
        """Takes the connection over once the core has answered."""
        opening.check()
        # No call stands between these, so of all that other threads begin one alone is kept.
        if self._connection is None and self._listener is None:
            self._connection = connection
        if self._connection is not connection or self._closed:
            connection.abandon(0)
            self._check_unused()

    def _check_unused(self) -> None:
        self.check_open()
        if self._connection is not None or self._listener is not None:
            raise make_error(errno.EBADF, "socket is in use already")

    # ---- messages ----

    @property
    def connection(self) -> Connection:
        """The connection of a connected socket."""
        if self._closed or self.dispatcher.ended is not None:
            self.check_open()
        if self._connection is None:
            raise make_error(errno.ENOTCONN, "socket is not connected")
        return self._connection

    @property
    def peer(self) -> Peer:
        """The host at the other end."""
        return self.connection.peer

    def send(
        self, data: Buffer, *, timeout: Timeout = UNSET, deadline: float | None = None
    ) -> None:
        """Queues a message, waiting for room. It is sent in the background: see flush().

        Args:
            data: Any contiguous buffer; it is copied, and free when the call returns.
            timeout: Seconds to wait for room; by default the socket's.
            deadline: Seconds from now after which the message is given up if it has not arrived.

        Raises:
            Timeout: There was no room in time; nothing was sent.
            MessageTooLong: The text names the limit.
            Reset: The connection has ended.
        """
        until, connection = self.until(timeout), self.connection
        message = self.prepare_send(data, deadline)
        if connection.try_send(*message) < 0:
            self.submit(connection.try_send, message, until)

    def prepare_send(self, data: Buffer, deadline: float | None) -> tuple[int, Message, int]:
        """A message as a connection takes it.

        Args:
            data: Its bytes.
            deadline: Seconds from now, or None.
        """
        raw, size = as_message(data, self.dispatcher.message_bytes_max)
        if deadline is None:
            return NEVER, raw, size
        return deadline_ns(until_of(deadline, "deadline")), raw, size

    def make_room(self, code: int, until: float | None) -> None:
        room = self.connection.room
        if room.is_ready():
            super().make_room(code, until)
        else:
            self.wait_for(room, until, "no room to send")

    def recv(self, *, timeout: Timeout = UNSET) -> memoryview:
        """Waits for the next message.

        Returns:
            Its bytes, valid as long as anything refers to them; `with` ends a lease early.

        Raises:
            Timeout: None came in time.
            EOFError: The peer has closed the connection, and all it sent was received.
            Reset: The connection has ended otherwise.
        """
        until, connection = self.until(timeout), self._connection
        if connection is not None and self._bell is None and not self._closed:
            message = self.dispatcher.take(NDP, connection.id, until, connection)
            if message is not None:
                return message
        return self.next_of(self.connection, until, "no message came")

    def recv_into(self, buffer: Buffer, *, timeout: Timeout = UNSET) -> int:
        """Waits for the next message and copies it into a writable buffer.

        Returns:
            The message's length.

        Raises:
            MessageTooLong: It does not fit; it is lost.
            TypeError: The buffer is not writable; the message is the next that is received.
            NdpError: As recv().
        """
        target, connection = memoryview(buffer).cast("B"), self.connection
        message = self.recv(timeout=timeout)
        try:
            return copy_into(target, message)
        except MessageTooLong:
            raise
        except BaseException:
            connection.put_back(message)
            raise

    def flush(self, *, timeout: Timeout = UNSET) -> None:
        """Waits until the peer's host has acknowledged all that was sent.

        Raises:
            Timeout: Not all was in time.
            NdpError: A message could not be sent, or the connection has ended.
        """
        until = self.until(timeout)
        connection = self.connection
        self.wait_for(connection.flushed, until, "not all is acknowledged")
        self.check_sent()

    def check_sent(self) -> None:
        """Raises the error of the first message that could not be sent, once."""
        connection = self.connection
        if connection.failed is not None:
            code, number = connection.failed
            connection.failed = None
            raise make_error(
                code, f"message {number} was not sent", peer=connection.peer.text(),
                rpc=connection.id,
            )  # fmt: skip
        if connection.ended is not None and connection.unsent:
            raise connection.error("messages lost")

    def __iter__(self) -> Iterator[memoryview]:
        """Messages as they come, until the peer closes the connection."""
        while True:
            try:
                yield self.recv()  # Not by a variable, which would hold it while it is read.
            except EOFError:
                return

    # ---- the rest ----

    def where(self) -> tuple[str | None, int | None, str]:
        """For errors: the peer that it talks to, the connection's id, and its state."""
        connection = self._connection
        if connection is None:
            return None, None, f"listening on port {self._port}" if self._listener else ""
        return (
            f"{connection.peer.text()}:{connection.port}",
            connection.id,
            f"{connection.unsent} messages not acknowledged",
        )

    def fileno(self) -> int:
        """For poll(2): readable when a message or connection may be there; see settimeout(0)."""
        return self.poll_descriptor(self._listener or self.connection)

    def reset(self) -> None:
        """Ends the connection by force: what was not acknowledged is lost, the peer is told."""
        self.connection.reset()
        self.close()

    def close(self, linger: float | None = None) -> None:
        """Closes the socket; what was sent is delivered in the background.

        Args:
            linger: Seconds after which the rest is given up; None: as long as the peer is alive.
        """
        if self._connection is not None and linger is not None and not self._closed:
            self._linger_ns = deadline_ns(until_of(linger, "linger"))
        super().close()

    _linger_ns = 0

    def _end(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self.dispatcher.by_key.pop(self._key, None)
        if self._connection is not None:
            self._connection.abandon(self._linger_ns)

    def __repr__(self) -> str:
        if self._listener is not None:
            what = f"listening on {self._port}"
        elif self._connection is not None:
            what = f"{self._connection.peer.handle}:{self._connection.port}"
        else:
            what = "unconnected"
        return f"<NdpSocket {what} on {self.stack.name}{' closed' if self._closed else ''}>"
