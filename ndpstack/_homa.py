"""Homa sockets: requests and replies, blocking."""

from __future__ import annotations

import errno
import time
from typing import TYPE_CHECKING, Final

from ndpstack import _core, _messages
from ndpstack._address import PORT_MAX, Peer, check_port
from ndpstack._event import HOMA, Event
from ndpstack._listen import listen
from ndpstack._served import R, Rpc, Service
from ndpstack._socket import (
    UNSET,
    Address,
    Socket,
    Timeout,
    as_message,
    check_priority,
    is_forgotten,
)
from ndpstack._waitable import Waitable
from ndpstack.errors import Closed, Unreachable, make_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import Buffer

    from ndpstack._dispatch import Dispatcher
    from ndpstack._stack import Stack

lib = _core.lib

SERVER_PORT_MAX: Final = 0x7FFF
"""Ports above are those of clients."""

LEND_BYTES: Final = lib.ND_APP_LEND_BYTES
"""Messages from it on are not copied where that can be."""

GRACE_S: Final = 0.25
"""The core reports a missed deadline itself, with the state; only a dead core needs more."""

CLOSED_HERE: Final = "the socket was closed here"

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


class Call(_messages.Call, Waitable):
    """A request under way: ask it for its result, from any thread, or cancel it."""

    __slots__ = ()

    _dispatcher: Dispatcher

    @property
    def id(self) -> int:
        """The RPC's id on this host; 0 as long as the core has not told how it ended."""
        return self._id

    def is_ready(self) -> bool:
        """True when there is a reply or an error."""
        return self.view is not None or self._failure is not None

    def result(self) -> memoryview:
        """Waits for the reply.

        Raises:
            NdpError: Timeout, Refused, Reset, Cancelled, MessageTooLong and others.
        """
        until = None if self.until is None else (self.until or time.monotonic()) + GRACE_S
        try:
            if not self._dispatcher.wait(self, until):
                self.end(errno.ETIMEDOUT, "the core does not answer")
        except BaseException:
            self.cancel()
            raise
        return self.outcome()

    def outcome(self) -> memoryview:
        """The reply, or the error raised, of a call that is ready."""
        if self.view is not None:
            return self.view
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
        return self.end(errno.ECANCELED, "cancelled here")

    def end(self, code: int, state: str) -> bool:
        """Ends it here with an error; the core and the server forget it."""
        if self.is_ready():
            return False
        self._failure = (code, state)
        if self.key:
            lib.nd_app_cancel(self._dispatcher.app, self.key, self.buffer)
        self.wake()
        return True

    def forget(self) -> None:
        """The core never took the request, if there was one."""
        self._dispatcher.by_call.pop(self.key, None)

    def on_event(self, event: Event, again: bool) -> None:
        """From the dispatcher: it has failed."""
        del again
        self._id = event.id
        if event.error == -errno.ESTALE:
            self.peer.forget()
        if self._failure is None:
            self._failure = (-event.error, describe_failure(event))
        self.wake()  # First: an event that was interrupted finds the call again as long as it can.
        self._dispatcher.by_call.pop(self.key, None)

    def wake(self) -> None:
        """Lets the task go on that awaits it, or all threads that wait."""
        if not self.complete():
            super().wake()

    def on_end(self) -> None:
        """From the dispatcher: the stack has ended."""
        self.wake()


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
        self.identity = id(self)
        self._service: Service[Rpc] | None = None
        self._port = 0
        self._stop_serving: Callable[[], None] | None = None
        self._spare: Call | None = None
        """One that was not needed: its request was answered at once."""

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
            data: Any contiguous buffer. It is copied, but a stack of this process sends `bytes`
                of 32 KiB and more from where they lie, and holds them until then.
            timeout: Seconds until both ends give up; by default the socket's.
            priority: 0..7; this host sends requests with a higher one first, and of those with
                the same one the shortest. On the network Homa chooses priorities itself.

        Returns:
            The reply, valid as long as anything refers to it.

        Raises:
            NdpError: Timeout, Refused, Reset, Cancelled, MessageTooLong and others.
        """
        if self._closed or self.dispatcher.ended is not None:
            self.check_open()
        until = self.until(timeout)
        peer, port = self.peer_of(address, until)
        raw, size = as_message(data, self.dispatcher.message_bytes_max)
        if priority:
            check_priority(priority)
        reply = None
        call, self._spare = self._spare or Call(self.dispatcher), None
        call.owner, call.peer, call.port, call.until = self.identity, peer, port, until
        try:
            if size < LEND_BYTES:  # What crosses in one step is copied.
                reply = self.dispatcher.exchange(
                    call, priority, peer.handle, port, until, raw, size
                )
        except BaseException:
            call.cancel()
            raise
        if reply is not None:
            self._spare = call
            return reply
        if not call.key:
            self._begin(call, (peer, port), data, until, priority)
        elif self._closed:  # It was not among those that close() has ended.
            call.end(errno.EBADF, CLOSED_HERE)
        try:
            return call.result()
        except Unreachable as error:
            if not is_forgotten(address, error):
                raise
        call = Call(self.dispatcher)
        self._begin(call, address, data, until, priority)
        return call.result()

    def start(
        self,
        address: Address,
        data: Buffer,
        *,
        timeout: Timeout = UNSET,
        priority: int = 0,
    ) -> Call:
        """Sends a request, as request(), and returns without waiting for the reply.

        Where the stack has forgotten the host, to make room for others, the call fails with
        Unreachable; the next one that names it by its address looks for it again.
        """
        until = self.until(timeout)
        call = Call(self.dispatcher)
        self._begin(call, address, data, until, priority)
        return call

    def begin(
        self,
        call: Call,
        address: Address,
        data: Buffer,
        until: float | None,
        priority: int,
        later: bool,
    ) -> int:
        """Sends a request if there is room; a negative error number if not.

        Where it is not sent in the end the call is to be forgotten.

        Args:
            call: What gets the reply.
            address: Host and port.
            data: What is sent.
            until: When to give up, or None.
            priority: Of the request, on this host.
            later: It leaves with those of others, not at once.
        """
        peer, port = address
        if type(peer) is not Peer or not 0 < port <= PORT_MAX:
            peer, port = self.peer_of(address, until)
        if priority:
            check_priority(priority)
        identity = self.identity
        # No call stands between these, so whoever closes it later sees the call.
        if self._closed or self.dispatcher.ended is not None:
            self.check_open()
        code = call.ask(identity, peer, port, data, until, priority, later)
        if code == -errno.EMSGSIZE:
            as_message(data, self.dispatcher.message_bytes_max)
        return code

    def _begin(
        self, call: Call, address: Address, data: Buffer, until: float | None, priority: int
    ) -> None:
        """Sends the request, waiting for room."""
        try:
            command = (call, address, data, until, priority, False)
            self.submit(self.begin, command, until)
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
        self._service = self.serve(port, Rpc)

    def serve(self, port: int, make: type[R]) -> Service[R]:
        """Serves a port, with requests as they are made; as bind()."""
        self._check_unbound()
        port = check_port(port)
        if port > SERVER_PORT_MAX:
            raise ValueError(
                f"port {port} is not in 1..{SERVER_PORT_MAX}: those above are clients'"
            )
        service = Service(self, port, make)
        try:
            listen(self.dispatcher, HOMA, port)
        except BaseException:
            service.forget()
            raise
        stop = service.close
        # No call stands between these, so of all that other threads bind one alone is kept.
        if not self._port:
            self._port, self._stop_serving = port, stop
        if self._stop_serving is not stop or self._closed:
            stop()
            self._check_unbound()
        return service

    def _check_unbound(self) -> None:
        self.check_open()
        if self._port:
            raise make_error(errno.EBADF, "socket is bound already")

    @property
    def service(self) -> Service[Rpc]:
        """The queue of requests of a bound socket."""
        return self.bound(self._service)

    def bound(self, service: Service[R] | None) -> Service[R]:
        """The queue of requests, of a socket that is bound."""
        self.check_open()
        if service is None:
            raise make_error(errno.ENOTCONN, "socket serves no port", remedy="Bind it first.")
        return service

    def recv(self, *, timeout: Timeout = UNSET) -> Rpc:
        """Waits for the next request.

        Raises:
            Timeout: None came in time.
            Closed: The socket is closed, or not bound.
        """
        until, service = self.until(timeout), self._service
        if service is not None and self._bell is None and not self._closed:
            rpc = self.dispatcher.take(HOMA, service.port, until, service)
            if rpc is not None:
                return rpc
        return self.next_of(self.service, until, f"no request came to port {self._port}")

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
        if self._stop_serving is not None:
            self._stop_serving()
        for call in list(self.dispatcher.by_call.values()):
            if call.owner == self.identity:
                call.end(errno.EBADF, CLOSED_HERE)

    def __repr__(self) -> str:
        port = self._port or None
        return f"<HomaSocket port={port} on {self.stack.name}{' closed' if self._closed else ''}>"
