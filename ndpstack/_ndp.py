"""NDP sockets: connections that carry messages, blocking."""

from __future__ import annotations

import collections
import errno
import time
from typing import TYPE_CHECKING, Final

from ndpstack import _core
from ndpstack._address import Peer, check_port
from ndpstack._event import ABANDONED, ACCEPTED, CLOSED, FAILED, MESSAGE, NDP, OPENED, SENT, Event
from ndpstack._lease import drop, lease
from ndpstack._listen import listen
from ndpstack._order import Order
from ndpstack._socket import (
    UNSET,
    Address,
    Socket,
    Source,
    Timeout,
    as_message,
    check_priority,
    deadline_ns,
)
from ndpstack._waitable import Waitable
from ndpstack.errors import MessageTooLong, make_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

    from ndpstack._dispatch import Dispatcher, Message
    from ndpstack._stack import Stack

lib, ffi = _core.lib, _core.ffi

_SEND: Final = lib.ND_COMMAND_SEND

UNSENT_MAX: Final = 512
"""Messages of a connection that are not acknowledged yet; send() waits beyond."""

NOTHING: Final = "no message came"

STATES: Final = {
    lib.ND_NDP_NEW: "connected, nothing sent",
    lib.ND_NDP_OPENING: "no sign of the peer yet",
    lib.ND_NDP_OPEN: "open",
    lib.ND_NDP_CLOSING: "closing",
    lib.ND_NDP_TIME_WAIT: "ended in order",
    lib.ND_NDP_RESET_WAIT: "ended by force",
    lib.ND_NDP_ENDED: "ended",
}
"""States of a connection (enum nd_ndp_state) in words."""


class Room(Waitable):
    """Whether a connection takes another message, or has sent all."""

    __slots__ = ("_connection", "limit")

    def __init__(self, connection: Connection, limit: int) -> None:
        super().__init__()
        self._connection = connection
        self.limit = limit

    def is_ready(self) -> bool:
        return self._connection.unsent < self.limit or self._connection.ended is not None


class Connection(Source[Event]):
    """One connection: what the dispatcher knows of it. Ready when there is something to read."""

    def __init__(self, dispatcher: Dispatcher, peer: Peer, port: int) -> None:
        super().__init__()
        self.dispatcher: Final = dispatcher
        self._inbox: collections.deque[Event] = collections.deque()
        self._order: Final = Order()
        self._abandoned = False
        self._last_settled: Event | None = None
        self.ordered = True
        self.peer: Final = peer
        self.port: Final = port
        self.id = 0
        self.unsent = 0
        self.failed: tuple[int, int] | None = None
        self.ended: tuple[int, str] | None = None
        self.room: Final = Room(self, UNSENT_MAX)
        self.flushed: Final = Room(self, 1)

    def is_ready(self) -> bool:
        return bool(self._inbox) or self.ended is not None

    def take(self) -> Event | None:
        """The next message, or None.

        Raises:
            EOFError: There never will be one: the peer has closed the connection.
            Reset: It has ended otherwise.
        """
        try:
            return self._inbox.popleft()
        except IndexError:
            if self.ended is None:
                return None
        if self.ended[0] == 0:
            raise EOFError("the peer has closed the connection")
        raise self.error("connection lost")

    def try_send(self, deadline: int, raw: Message, size: int) -> int:
        """Sends a message if the connection and the core have room; -EAGAIN or -ENOBUFS when not.

        Raises:
            Reset: The connection has ended.
        """
        if self.ended is not None:
            raise self.error("cannot send")
        if self.unsent >= UNSENT_MAX:
            return -errno.EAGAIN
        self.unsent += 1
        code = lib.nd_app_send(
            self.dispatcher.app, NDP, _SEND, 0, 0, 0, self.id, 0, deadline, raw, size
        )
        if code < 0:
            self.unsent -= 1
        return code

    def error(self, what: str) -> Exception:
        """Why the connection has ended, as an error."""
        code, state = self.ended or (errno.ENOTCONN, "")
        return make_error(
            code or errno.ECONNRESET,
            what,
            peer=f"{self.peer.text()}:{self.port}",
            rpc=self.id,
            state=state,
        )

    def abandon(self, linger_ns: int) -> None:
        """The application is done with it: what is queued is still sent, what comes is dropped."""
        self._abandoned = True
        for event in [*self._inbox, *self._order.clear()]:
            drop(self.dispatcher.app, event)
        self._inbox.clear()
        if self.ended is None:
            self.dispatcher.tell(NDP, lib.ND_COMMAND_CLOSE, identity=self.id, deadline=linger_ns)

    def reset(self) -> None:
        """Drops everything and tells the peer."""
        self.dispatcher.tell(NDP, lib.ND_COMMAND_RESET, identity=self.id)

    # ---- from the dispatcher ----

    def opened(self, identity: int) -> None:
        """It has an id from now on."""
        self.id = identity
        self.dispatcher.by_connection[identity] = self

    def on_event(self, event: Event, again: bool) -> None:
        kind = event.kind
        if kind == MESSAGE:
            self._arrived(event, again)
        elif kind == ABANDONED:
            if self.ordered:
                self._in_turn(event.message, None)
        elif kind == CLOSED:
            self.dispatcher.by_connection.pop(self.id, None)
            self._end(-event.error, STATES.get(event.detail, ""))
        elif kind in (SENT, FAILED) and not (again and event == self._last_settled):
            self.unsent -= 1
            self._last_settled = event
            self._settled(event)

    def _arrived(self, event: Event, again: bool) -> None:
        if self._abandoned:
            if not again:
                drop(self.dispatcher.app, event)
            return
        if not self.ordered:
            if not (again and self._inbox and self._inbox[-1].message == event.message):
                self._inbox.append(event)
            self.wake()
        else:
            self._in_turn(event.message, event)

    def _in_turn(self, number: int, event: Event | None) -> None:
        self._inbox.extend(self._order.put(number, event))
        if self._inbox:
            self.wake()

    def _settled(self, event: Event) -> None:
        if event.kind == FAILED and self.failed is None:
            self.failed = (-event.error, event.message)
            if self.ordered and not self._abandoned:
                self.reset()  # The peer must not see a message after a hole.
        if self.unsent < UNSENT_MAX:
            self.room.wake()
        if self.unsent == 0:
            self.flushed.wake()

    def _end(self, code: int, state: str) -> None:
        if self.ended is None:
            self.ended = (code, state)
        self.on_end()

    def on_end(self) -> None:
        self.wake()
        self.room.wake()
        self.flushed.wake()


class Opening(Waitable):
    """A CONNECT under way."""

    __slots__ = ("_connection", "_error", "_given_up", "key")

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection
        self._error = 0
        self._given_up = False
        self.key: Final = connection.dispatcher.new_key(self)

    def is_ready(self) -> bool:
        return self._connection.id != 0 or self._error != 0

    def check(self) -> None:
        """Raises when the core refused."""
        if self._error:
            peer = f"{self._connection.peer.text()}:{self._connection.port}"
            raise make_error(self._error, "cannot connect", peer=peer)

    def give_up(self) -> None:
        """Nobody waits any more: what is opened is closed at once."""
        self._given_up = True
        if self._connection.id:
            self._connection.abandon(0)

    def on_event(self, event: Event, again: bool) -> None:
        """From the dispatcher."""
        del again
        self._connection.dispatcher.by_key.pop(self.key, None)
        if event.kind == OPENED:
            self._connection.opened(event.id)
            if self._given_up:
                self._connection.abandon(0)
        elif event.error:
            self._error = -event.error
        self.wake()

    def on_end(self) -> None:
        self.wake()


class Listener(Source[Connection]):
    """Connections that peers opened and nobody has accepted yet."""

    def __init__(self, dispatcher: Dispatcher, port: int) -> None:
        super().__init__()
        self._dispatcher = dispatcher
        self._queue: collections.deque[Connection] = collections.deque()
        self._closed = False
        self.port: Final = port

    def is_ready(self) -> bool:
        return bool(self._queue) or self._closed

    def take(self) -> Connection | None:
        """The next connection, or None."""
        try:
            return self._queue.popleft()
        except IndexError:
            return None

    def on_event(self, event: Event, again: bool) -> None:
        if event.kind != ACCEPTED:
            return
        if again and event.id in self._dispatcher.by_connection:
            return
        connection = Connection(self._dispatcher, Peer(self._dispatcher, event.peer), event.port)
        connection.opened(event.id)
        if self._closed:
            connection.reset()
        else:
            self._queue.append(connection)
        self.wake()

    def on_end(self) -> None:
        self.wake()

    def close(self) -> None:
        """Listens no more; connections that nobody accepted are reset."""
        self._closed = True
        self._dispatcher.tell(NDP, lib.ND_COMMAND_UNLISTEN, port=self.port)
        self._dispatcher.settle()  # Perhaps nobody looks for events after this.
        while self._queue:
            connection = self._queue.popleft()
            connection.reset()
            connection.abandon(0)
        self.wake()


class NdpSocket(Socket):
    """Messages between two hosts, over NDP.

    A message arrives whole or not at all, in the order of sending (`ordered=True`) or as it
    completes. Any number of threads may use one socket at a time.

    Args:
        stack: The stack to use.
        ordered: Receive messages in the order in which they were sent. A message that cannot be
            sent then ends the connection; without order it is only missing, also to an ordered
            reader, who is told that it will not come and goes on with the next.

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
        listener = Listener(self.dispatcher, self._port)
        self._key = listen(self.dispatcher, NDP, self._port, listener, backlog)
        self._listener = listener

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
        return self.accepted(self.next_of(self.listener, timeout, "no connection came"))

    def accepted(self, connection: Connection) -> NdpSocket:
        """A socket for a connection that was taken from the listener."""
        socket = NdpSocket(self.stack, ordered=self._ordered)
        connection.ordered = self._ordered
        socket._connection = connection
        return socket

    def connect(self, address: Address, *, priority: int = 0) -> None:
        """Opens a connection. Nothing is sent before the first message.

        So it does not fail when there is no such peer; sending and receiving do.

        Args:
            address: Host (IP address or Peer) and port.
            priority: 0..7, connections with a higher one are served first.

        Raises:
            LimitReached: The core has as many connections as it may.
        """
        connection, opening = self.prepare_connect(address, priority)
        try:
            self.dispatcher.wait_for_core(opening)
        except BaseException:
            opening.give_up()
            raise
        self.finish_connect(connection, opening)

    def prepare_connect(self, address: Address, priority: int) -> tuple[Connection, Opening]:
        """Asks the core for a connection; and what to wait for."""
        self._check_unused()
        peer, port = self.peer_of(address)
        check_priority(priority)
        connection = Connection(self.dispatcher, peer, port)
        connection.ordered = self._ordered
        opening = Opening(connection)
        code = lib.nd_app_send(
            self.dispatcher.app, NDP, lib.ND_COMMAND_CONNECT, priority, peer.handle, port, 0,
            opening.key, 0, b"", 0,
        )  # fmt: skip
        if code < 0:
            self.dispatcher.by_key.pop(opening.key, None)
            raise make_error(-code, "cannot connect")
        return connection, opening

    def finish_connect(self, connection: Connection, opening: Opening) -> None:
        """Takes the connection over once the core has answered."""
        opening.check()
        self._connection = connection

    def _check_unused(self) -> None:
        self.check_open()
        if self._connection is not None or self._listener is not None:
            raise make_error(errno.EBADF, "socket is in use already")

    # ---- messages ----

    @property
    def connection(self) -> Connection:
        """The connection of a connected socket."""
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
        until = self.until(timeout)
        self.submit(self.connection.try_send, self.prepare_send(data, deadline), until)

    def prepare_send(self, data: Buffer, deadline: float | None) -> tuple[int, Message, int]:
        """A message as a connection takes it.

        Args:
            data: Its bytes.
            deadline: Seconds from now, or None.
        """
        expires = None if deadline is None else time.monotonic() + deadline
        return deadline_ns(expires), *as_message(data, self.stack.message_bytes_max)

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
        return lease(self.dispatcher.app, self.next_of(self.connection, timeout, NOTHING))

    def recv_into(self, buffer: Buffer, *, timeout: Timeout = UNSET) -> int:
        """Waits for the next message and copies it into a writable buffer.

        Returns:
            The message's length.

        Raises:
            MessageTooLong: It does not fit; it is lost.
            NdpError: As recv().
        """
        event = self.next_of(self.connection, timeout, NOTHING)
        target = memoryview(buffer).cast("B")
        try:
            if event.bytes > len(target):
                raise MessageTooLong(
                    errno.EMSGSIZE,
                    f"message of {event.bytes} bytes, the buffer takes {len(target)}",
                    remedy="Use recv(), which takes any length.",
                )
            ffi.memmove(target, ffi.cast("uint8_t *", event.payload), event.bytes)
        finally:
            drop(self.dispatcher.app, event)
        return event.bytes

    def flush(self, *, timeout: Timeout = UNSET) -> None:
        """Waits until the peer's host has acknowledged all that was sent.

        Raises:
            Timeout: Not all was in time.
            NdpError: A message could not be sent, or the connection has ended.
        """
        until = self.until(timeout)
        connection = self.connection
        self.wait_for(connection.flushed, until, f"{connection.unsent} messages not acknowledged")
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
                message = self.recv()
            except EOFError:
                return
            yield message

    # ---- the rest ----

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
            self._linger_ns = deadline_ns(time.monotonic() + linger)
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
