"""NDP connections as the dispatcher knows them, open, opening and waiting to be accepted."""

from __future__ import annotations

import collections
import contextlib
import errno
from typing import TYPE_CHECKING, Final

from ndpstack import _core
from ndpstack._address import Peer
from ndpstack._dispatch import BATCHES_MASK
from ndpstack._event import ABANDONED, ACCEPTED, CLOSED, FAILED, MESSAGE, NDP, OPENED, SENT, Event
from ndpstack._lease import drop, lease
from ndpstack._order import Order
from ndpstack._socket import Source
from ndpstack._waitable import Waitable
from ndpstack.errors import make_error

if TYPE_CHECKING:
    from ndpstack._dispatch import Dispatcher, Message

lib = _core.lib

_send: Final = lib.nd_app_send_message
"""Looked up once: an attribute of `lib` takes as long as a function call."""

UNSENT_MAX: Final = 512
"""Messages of a connection that are not acknowledged yet; send() waits beyond."""

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


class Arrived:
    """Owns a message that was taken from its connection until it has been read."""

    __slots__ = ("_dispatcher", "unread", "view")

    def __init__(self, dispatcher: Dispatcher) -> None:
        self.unread: Event | None = None
        self.view: memoryview | None = None
        self._dispatcher = dispatcher

    def __del__(self) -> None:
        unread = getattr(self, "unread", None)  # An interrupted __init__() leaves none.
        if unread is not None:
            drop(self._dispatcher.app, unread)


class Connection(Source[memoryview]):
    """One connection: what the dispatcher knows of it. Ready when there is something to read."""

    def __init__(self, dispatcher: Dispatcher, peer: Peer, port: int, *, ordered: bool) -> None:
        super().__init__()
        self.dispatcher: Final = dispatcher
        self._inbox: collections.deque[Event] = collections.deque()
        self._put_back: list[memoryview] = []
        """Messages that interrupts kept from being returned."""
        self._order: Final = Order()
        self._abandoned = False
        self._last_settled: Event | None = None
        self.ordered: Final = ordered
        self.sends_later = False
        """Messages leave with those of others, not at once."""
        self.peer: Final = peer
        self.port: Final = port
        self.id = 0
        self.unsent = 0
        self.failed: tuple[int, int] | None = None
        self.ended: tuple[int, str] | None = None
        self.room: Final = Room(self, UNSENT_MAX)
        self.flushed: Final = Room(self, 1)

    def is_ready(self) -> bool:
        return bool(self._inbox or self._put_back) or self.ended is not None

    def take(self) -> memoryview | None:
        """The next message, or None.

        Raises:
            EOFError: There never will be one: the peer has closed the connection.
            Reset: It has ended otherwise.
        """
        inbox, arrived = self._inbox, Arrived(self.dispatcher)
        # No call stands between these, so no interrupt can.
        if self._put_back:
            view = self._put_back[0]
            del self._put_back[0]
            return view
        if inbox:
            try:
                arrived.unread = event = inbox[0]
                del inbox[0]
                return lease(self.dispatcher, event, arrived)
            except BaseException:
                self._keep(arrived)
                raise
        if self.ended is None:
            return None
        if self.ended[0] == 0:
            raise EOFError("the peer has closed the connection")
        raise self.error("connection lost")

    def _keep(self, arrived: Arrived) -> None:
        """An interrupt came before a message was returned."""
        if arrived.view is not None:
            self.put_back(arrived.view)
        elif arrived.unread is not None:
            event, arrived.unread = arrived.unread, None
            self._inbox.appendleft(event)

    def put_back(self, taken: memoryview) -> None:
        """An interrupt came before this was returned: it is the next that is received."""
        self._put_back += (taken,)
        self.wake()

    def accept(
        self, message: _core.nd_app_message, data: memoryview, batches: int
    ) -> memoryview | None:
        """From the dispatcher: takes the only message of a batch, if it is the next."""
        number, sent, dispatcher = message.message, message.sent, self.dispatcher
        order = self._order
        if self.ordered and not order.is_next(number):
            return None
        copy = memoryview(bytearray(data))
        # No call stands between these, so no interrupt can.
        if dispatcher.batches != batches:
            return None
        self.unsent -= sent
        order.next = number + 1
        dispatcher.batches = batches + 1 & BATCHES_MASK
        if self.room.waiters or self.flushed.waiters:
            self._settle_with(copy)
        return copy

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
        code = _send(self.dispatcher.app, self.id, deadline, raw, size, self.sends_later)
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
        """The application is done with it: what is queued is still sent, what comes is dropped.

        Whoever waits for it looks again.
        """
        self._abandoned = True
        if self.ended is None:
            self.dispatcher.run_alone(self._drop_all)
        else:  # Nothing is added any more, and no event will come to do it later.
            self._drop_all()
        if self.ended is None:
            self.dispatcher.tell(NDP, lib.ND_COMMAND_CLOSE, identity=self.id, deadline=linger_ns)
            self.ended = (errno.EBADF, "closed here")
        self.on_end()

    def _drop_all(self) -> None:
        """Gives back what nobody will read; while no other thread adds to it."""
        self._put_back.clear()
        self._order.empty_into(self._inbox)
        with contextlib.suppress(IndexError):
            while self._inbox:
                drop(self.dispatcher.app, self._inbox.popleft())

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
            self._arrived(event)
        elif kind == ABANDONED:
            if self.ordered:
                self._in_turn(event.message, None)
        elif kind == CLOSED:
            self.dispatcher.by_connection.pop(self.id, None)
            self._end(-event.error, STATES.get(event.detail, ""))
        elif kind in (SENT, FAILED) and not (again and event == self._last_settled):
            self.unsent -= 1
            self._last_settled = event
            if kind == FAILED:
                self._lost(event)
            self._settled()
        if self._abandoned:  # Perhaps since, by another thread, or here where some came already.
            self._drop_all()

    def _arrived(self, event: Event) -> None:
        if self._abandoned:
            self.dispatcher.drop_current()
            return
        if self.ordered:
            self._in_turn(event.message, event)
            return
        # No call stands between these, so no interrupt can.
        if not self.dispatcher.owned:
            self._inbox += (event,)
            self.dispatcher.owned = True
        self.wake()

    def _in_turn(self, number: int, event: Event | None) -> None:
        order = self._order
        # No call stands between these, so no interrupt can.
        if not self.dispatcher.owned and number >= order.next:
            order.early[number], self.dispatcher.owned = event, True
        order.pass_on(self._inbox)
        if self._inbox:
            self.wake()

    def _lost(self, event: Event) -> None:
        if self.failed is None:
            self.failed = (-event.error, event.message)
            if self.ordered and not self._abandoned:
                self.reset()  # The peer must not see a message after a hole.

    def _settled(self) -> None:
        if self.room.waiters and self.unsent < UNSENT_MAX:
            self.room.wake()
        if self.flushed.waiters and self.unsent == 0:
            self.flushed.wake()

    def _settle_with(self, taken: memoryview) -> None:
        """The same while a message is on its way to its reader."""
        try:
            self._settled()
        except BaseException:
            self.put_back(taken)
            raise

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
        self.key = 0
        connection.dispatcher.give_key(self)

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
            if self._error == errno.ESTALE:
                self._connection.peer.forget()
        self.wake()

    def on_end(self) -> None:
        self.wake()


class Listener(Source[Connection]):
    """Connections that peers opened and nobody has accepted yet."""

    def __init__(self, dispatcher: Dispatcher, port: int, *, ordered: bool) -> None:
        super().__init__()
        self._dispatcher = dispatcher
        self._ordered = ordered
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
        peer = Peer(self._dispatcher, event.peer)
        connection = Connection(self._dispatcher, peer, event.port, ordered=self._ordered)
        # No call stands between these, so no interrupt can.
        connection.id, self._dispatcher.by_connection[event.id] = event.id, connection
        self._queue += (connection,)
        if self._closed:
            self.refuse()
        self.wake()

    def on_end(self) -> None:
        self.wake()

    def close(self) -> None:
        """Listens no more; connections that nobody accepted are reset. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._dispatcher.tell(NDP, lib.ND_COMMAND_UNLISTEN, port=self.port)
        self._dispatcher.settle()  # Perhaps nobody looks for events after this.
        self.refuse()
        self.wake()

    def refuse(self) -> None:
        """Resets the connections that nobody accepted."""
        while self._queue:
            connection = self._queue.popleft()
            connection.reset()
            connection.abandon(0)
