"""Homa sockets: requests and replies, blocking."""

from __future__ import annotations

import collections
import errno
import time
from typing import TYPE_CHECKING, Final, Self

from ndpstack import _core
from ndpstack._address import Peer, check_port
from ndpstack._event import FAILED, HOMA, OPENED, RESPONSE, Event
from ndpstack._lease import drop, lease
from ndpstack._listen import listen
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
from ndpstack.errors import Closed, make_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

    from ndpstack._dispatch import Dispatcher, Message, RequestCommand
    from ndpstack._stack import Stack

lib, ffi = _core.lib, _core.ffi

_REQUEST: Final = lib.ND_COMMAND_REQUEST
_REPLY: Final = lib.ND_COMMAND_REPLY

SERVER_PORT_MAX: Final = 0x7FFF
"""Ports above are those of clients."""

GRACE_S: Final = 0.25
"""The core reports a missed deadline itself, with the state; only a dead core needs more."""

CANCEL_PATIENCE_S: Final = 0.05
"""The core takes a request within microseconds; later its id arrives with other events."""

STATES: Final = {
    lib.ND_HOMA_OUTGOING: "request on its way",
    lib.ND_HOMA_INCOMING: "message arriving",
    lib.ND_HOMA_SERVICE: "the server works on it",
    lib.ND_HOMA_REPLYING: "reply on its way",
    lib.ND_HOMA_UNACKED: "reply sent, not acknowledged",
    lib.ND_HOMA_CLOSED: "ended",
}
"""States of an RPC (enum nd_homa_state) in words."""


def describe_failure(event: Event) -> str:
    """How far a failed RPC had come."""
    state = STATES.get(event.detail & 0xFF)
    if state is None:
        return "refused by the core"
    attempts = event.detail >> 8 & 0xFF
    sent, granted = event.message >> 32, event.message & 0xFFFFFFFF
    return (
        f"{state}, {sent} bytes sent, {granted} granted, {event.bytes} received, "
        f"{attempts} resends unanswered"
    )


class Call(Waitable):
    """A request under way: ask it for its result, from any thread, or cancel it."""

    __slots__ = (
        "_dispatcher", "_failure", "_id", "_reply", "_until", "key", "peer", "port", "unread",
    )  # fmt: skip

    _hand_over = lib.nd_app_send

    def __init__(self, dispatcher: Dispatcher, peer: Peer, port: int, until: float | None) -> None:
        self.unread: Event | None = None
        Waitable.__init__(self)
        self._dispatcher = dispatcher
        self._id = 0
        self._until = until
        self._reply: memoryview | None = None
        self._failure: tuple[int, str] | None = None
        self.key = 0
        """What the core's events about it carry; 0: nothing was sent."""
        self.peer: Final = peer
        self.port: Final = port

    @property
    def id(self) -> int:
        """The RPC's id on this host; 0 as long as the core has not taken the request."""
        return self._id

    def is_ready(self) -> bool:
        """True when there is a reply or an error."""
        return self.unread is not None or self._reply is not None or self._failure is not None

    def result(self) -> memoryview:
        """Waits for the reply.

        Raises:
            NdpError: Timeout, Refused, Reset, Cancelled, MessageTooLong and others.
        """
        until = None if self._until is None else self._until + GRACE_S
        try:
            if not self._dispatcher.wait(self, until):
                self.end(errno.ETIMEDOUT, "the core does not answer")
        except BaseException:
            self.cancel()
            raise
        return self.outcome()

    def outcome(self) -> memoryview:
        """The reply, or the error raised, of a call that is ready."""
        if self.unread is not None:
            self._reply = lease(self._dispatcher.app, self.unread, self)
        if self._reply is not None:
            return self._reply
        code, state = self._failure or (errno.EINPROGRESS, "")
        raise make_error(
            code,
            "request failed",
            peer=f"{self.peer.text()}:{self.port}",
            rpc=self._id,
            state=state,
        )

    def cancel(self) -> bool:
        """Gives up; the server is told. False when it had ended already."""
        if not self.end(errno.ECANCELED, "cancelled here"):
            return False
        until = time.monotonic() + CANCEL_PATIENCE_S
        while not self._id and self.key in self._dispatcher.by_key and not self._dispatcher.ended:
            self._dispatcher.pause(until)  # The core is about to say what to cancel.
            if time.monotonic() > until:
                break
        return True

    def end(self, code: int, state: str) -> bool:
        """Ends it here with an error; the core and the server forget it."""
        if self.is_ready():
            return False
        self._failure = (code, state)
        if self._id:
            self._dispatcher.tell(HOMA, lib.ND_COMMAND_CANCEL, identity=self._id)
        elif self.key:
            self._dispatcher.nudge()  # On OPENED, which then comes, the core is told.
        self.wake()
        return True

    def __del__(self) -> None:
        unread = getattr(self, "unread", None)  # An interrupted __init__() leaves none.
        if unread is not None:
            drop(self._dispatcher.app, unread)

    def send(
        self, priority: int, peer: int, port: int, deadline: int, raw: Message, size: int
    ) -> int:
        """Hands the request to the core; 0 or a negative error number."""
        if not self.key:
            self._dispatcher.give_key(self)
        return self._hand_over(
            self._dispatcher.app, HOMA, _REQUEST, priority, peer, port, 0, self.key, deadline, raw,
            size,
        )  # fmt: skip

    def forget(self) -> None:
        """The core never took the request."""
        self._dispatcher.by_key.pop(self.key, None)

    def on_event(self, event: Event, again: bool) -> None:
        """From the dispatcher."""
        kind = event.kind
        self._id = event.id
        if kind == OPENED:
            if self._failure is not None:
                self._dispatcher.tell(HOMA, lib.ND_COMMAND_CANCEL, identity=event.id)
            return
        if self._failure is not None:
            if kind == RESPONSE and not again:
                drop(self._dispatcher.app, event)
        elif kind == RESPONSE:
            self.unread = event
        else:
            self._failure = (-event.error, describe_failure(event))
        self._dispatcher.by_key.pop(self.key, None)
        self.wake()

    def on_end(self) -> None:
        """From the dispatcher: the stack has ended."""
        self.wake()


class Served(Waitable):
    """The dispatcher's end of an RPC that is served here; ready when its client has given up."""

    __slots__ = ("_dispatcher", "failed", "id")

    def __init__(self, dispatcher: Dispatcher, identity: int) -> None:
        Waitable.__init__(self)
        self._dispatcher = dispatcher
        self.id = identity
        self.failed = 0
        dispatcher.by_rpc[identity] = self

    def on_event(self, event: Event, again: bool) -> None:
        """From the dispatcher."""
        del again
        self._dispatcher.by_rpc.pop(self.id, None)
        if event.kind == FAILED:
            self.failed = -event.error
            self.cancel()  # The core may have refused the reply, and the client waits.
            self.wake()

    def is_ready(self) -> bool:
        return self.failed != 0

    def cancel(self) -> None:
        """Ends it without a reply."""
        self._dispatcher.tell(HOMA, lib.ND_COMMAND_CANCEL, identity=self.id)

    def on_end(self) -> None:
        self.failed = errno.EBADF
        self.wake()


class Request:
    """A request that a server got: what blocking and asyncio servers have in common.

    One that is dropped without a reply is cancelled, so that its client does not wait in vain.
    """

    __slots__ = ("_data", "_done", "_event", "_socket", "served", "unread")

    _hand_over = lib.nd_app_send

    def __init__(self, socket: HomaSocket, event: Event, served: Served) -> None:
        self.unread: Event | None = event
        self._socket = socket
        self._event = event
        self.served: Final = served
        self._data: memoryview | None = None
        self._done = False

    @property
    def peer(self) -> Peer:
        """The host that asks."""
        return Peer(self._socket.dispatcher, self._event.peer)

    @property
    def id(self) -> int:
        """The RPC's id on this host."""
        return self._event.id

    @property
    def data(self) -> memoryview:
        """The request's bytes, valid as long as anything refers to them."""
        if self.unread is not None:
            self._data = lease(self._socket.dispatcher.app, self.unread, self)
        if self._data is None:
            raise make_error(errno.ENOENT, "an interrupt cut reading it short", rpc=self.id)
        return self._data

    @property
    def cancelled(self) -> bool:
        """True when the client has given up, or is gone: a reply would go nowhere."""
        return self.served.failed != 0

    @property
    def replied(self) -> bool:
        """True after reply() or cancel()."""
        return self._done

    def prepare(self, data: Buffer) -> tuple[Message, int]:
        """Checks that a reply can be sent; returns it as try_reply() takes it."""
        self._socket.check_open()
        if self._done:
            raise make_error(errno.EBADF, "there was a reply before", rpc=self.id)
        return as_message(data, self._socket.stack.message_bytes_max)

    def try_reply(self, raw: Message, size: int) -> int:
        """Sends the reply if there is room; 0 or a negative error number."""
        if self.served.failed:
            self._done = True
            return 0
        code = self._hand_over(
            self._socket.dispatcher.app, HOMA, _REPLY, 0, 0, 0, self._event.id, 0, 0, raw, size
        )
        self._done = code == 0
        return code

    def cancel(self) -> None:
        """Ends it without a reply; the client gets an error. Nothing happens after a reply."""
        if not self._done:
            self._done = True
            self.served.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.cancel()

    def __del__(self) -> None:
        if self.unread is not None:
            drop(self._socket.dispatcher.app, self.unread)
        self.cancel()


class Rpc(Request):
    """A request that a server got: reply to it once."""

    __slots__ = ()

    def reply(self, data: Buffer, *, timeout: Timeout = UNSET) -> None:
        """Sends the reply, waiting for room; nothing happens when the client has given up.

        Args:
            data: Any contiguous buffer; it is copied, and free when the call returns.
            timeout: Seconds to wait for room.

        Raises:
            Closed: There was a reply before, or the socket is closed.
            MessageTooLong: The text names the limit.
            Timeout: There was no room in time; reply again or cancel.
        """
        message = self.prepare(data)
        self._socket.submit(self.try_reply, message, self._socket.until(timeout))


class HomaSocket(Socket):
    """Requests to other hosts and, once it is bound, the requests of others.

    Any number of threads may use one socket at a time.

    >>> import ndpstack
    >>> with ndpstack.memory_pair() as (a, b):
    ...     with ndpstack.HomaSocket(a) as server, ndpstack.HomaSocket(b) as client:
    ...         server.bind(4000)
    ...         call = client.start((a.address, 4000), b"hello")
    ...         server.recv().reply(b"world")
    ...         bytes(call.result())
    b'world'
    """

    def __init__(self, stack: Stack) -> None:
        super().__init__(stack)
        self._service: Service | None = None

    # ---- clients ----

    def request(
        self,
        address: Address,
        data: Buffer,
        *,
        timeout: Timeout = UNSET,
        priority: int = 0,
    ) -> memoryview:
        """Sends a request and waits for its reply.

        Args:
            address: Host (IP address or Peer) and port.
            data: Any contiguous buffer; it is copied.
            timeout: Seconds until both ends give up; by default the socket's.
            priority: 0..7, higher ones are served first.

        Returns:
            The reply, valid as long as anything refers to it.

        Raises:
            NdpError: Timeout, Refused, Reset, Cancelled, MessageTooLong and others.
        """
        until = self.until(timeout)
        call, request = self.prepare(address, data, until, priority)
        try:
            reply = self.dispatcher.exchange(request, until, call)
            if reply is not None:
                return reply
        except BaseException:
            call.cancel()
            raise
        if not call.key:
            self._begin(call, request, until)
        return call.result()

    def start(
        self,
        address: Address,
        data: Buffer,
        *,
        timeout: Timeout = UNSET,
        priority: int = 0,
    ) -> Call:
        """Sends a request, as request(), and returns without waiting for the reply."""
        until = self.until(timeout)
        call, request = self.prepare(address, data, until, priority)
        self._begin(call, request, until)
        return call

    def prepare(
        self,
        address: Address,
        data: Buffer,
        until: float | None,
        priority: int,
        kind: type[Call] = Call,
    ) -> tuple[Call, RequestCommand]:
        """A call that has not begun, and what begins it."""
        self.check_open()
        peer, port = self.peer_of(address)
        raw, size = as_message(data, self.stack.message_bytes_max)
        request = (check_priority(priority), peer.handle, port, deadline_ns(until), raw, size)
        return kind(self.dispatcher, peer, port, until), request

    def _begin(self, call: Call, request: RequestCommand, until: float | None) -> None:
        """Sends the request, waiting for room."""
        try:
            self.submit(call.send, request, until)
        except BaseException:
            call.forget()
            raise

    # ---- servers ----

    def bind(self, port: int) -> None:
        """Serves a port, 1..32767.

        Raises:
            AddressInUse: An application of this host serves it.
            Closed: The socket is bound already.
        """
        self.check_open()
        if self._service is not None:
            raise make_error(errno.EBADF, "socket is bound already")
        if check_port(port) > SERVER_PORT_MAX:
            raise ValueError(
                f"port {port} is not in 1..{SERVER_PORT_MAX}: those above are clients'"
            )
        service = Service(self.dispatcher, port)
        try:
            listen(self.dispatcher, HOMA, port)
        except BaseException:
            service.forget()
            raise
        self._service = service

    @property
    def service(self) -> Service:
        """The queue of requests of a bound socket."""
        self.check_open()
        if self._service is None:
            raise make_error(errno.ENOTCONN, "socket serves no port", remedy="Bind it first.")
        return self._service

    def recv(self, *, timeout: Timeout = UNSET) -> Rpc:
        """Waits for the next request.

        Raises:
            Timeout: None came in time.
            Closed: The socket is closed, or not bound.
        """
        return Rpc(self, *self.next_of(self.service, timeout, "no request came"))

    def __iter__(self) -> Iterator[Rpc]:
        """Requests as they come, until the socket is closed."""
        while not self._closed:
            try:
                yield self.recv()
            except Closed:
                return

    def fileno(self) -> int:
        """For poll(2): readable when a request may be there. See `settimeout(0)`."""
        return self.poll_descriptor(self.service)

    def _end(self) -> None:
        if self._service is not None:
            self._service.close()

    def __repr__(self) -> str:
        port = self._service.port if self._service else None
        return f"<HomaSocket port={port} on {self.stack.name}{' closed' if self._closed else ''}>"


class Service(Source[tuple[Event, Served]]):
    """Requests that came to a port and wait for the application."""

    def __init__(self, dispatcher: Dispatcher, port: int) -> None:
        super().__init__()
        self._dispatcher = dispatcher
        self._queue: collections.deque[tuple[Event, Served]] = collections.deque()
        self._closed = False
        self.port: Final = port
        if self._dispatcher.by_port.setdefault(port, self) is not self:
            raise make_error(errno.EADDRINUSE, f"cannot serve port {port}")

    def is_ready(self) -> bool:
        """True when there is a request to take, or never will be."""
        return bool(self._queue) or self._closed

    def take(self) -> tuple[Event, Served] | None:
        """The next request whose client has not given up, or None."""
        while self._queue:
            event, served = self._queue.popleft()
            if not served.failed:
                return event, served
            drop(self._dispatcher.app, event)
        return None

    def on_event(self, event: Event, again: bool) -> None:
        """From the dispatcher."""
        if again and event.id in self._dispatcher.by_rpc:
            return
        self._queue.append((event, Served(self._dispatcher, event.id)))
        self.wake()

    def on_end(self) -> None:
        """From the dispatcher: the stack has ended."""
        self.wake()

    def forget(self) -> None:
        """Takes no more requests."""
        self._dispatcher.by_port.pop(self.port, None)

    def close(self) -> None:
        """Stops serving; the clients of what waits get errors."""
        self._closed = True
        self.forget()
        self._dispatcher.tell(HOMA, lib.ND_COMMAND_UNLISTEN, port=self.port)
        while self._queue:
            event, served = self._queue.popleft()
            drop(self._dispatcher.app, event)
            served.cancel()
        self.wake()
