"""Requests that a Homa server got, and the queue in which they wait."""

from __future__ import annotations

import collections
import errno
from typing import TYPE_CHECKING, Final, Self, TypeVar
from weakref import ref

from ndpstack import _core, _messages
from ndpstack._address import Peer
from ndpstack._dispatch import BATCHES_MASK
from ndpstack._event import FAILED, HOMA, Event
from ndpstack._socket import UNSET, Source, Timeout, as_message
from ndpstack._waitable import Waitable
from ndpstack.errors import make_error

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ndpstack._dispatch import Dispatcher
    from ndpstack._homa import HomaSocket

lib = _core.lib


class Request(_messages.Request, Waitable):
    """A request that a server got: what blocking and asyncio servers have in common.

    It is ready when its client has given up. One that is dropped without a reply is cancelled, so
    that its client does not wait in vain: the dispatcher only knows it as long as others do.
    """

    __slots__ = ()

    @property
    def peer(self) -> Peer:
        """The host that asks."""
        return Peer(self._socket.dispatcher, self._peer)

    @property
    def cancelled(self) -> bool:
        """True when the client has given up, or is gone: a reply would go nowhere."""
        return self.failed != 0

    @property
    def replied(self) -> bool:
        """True after reply() or cancel()."""
        return self.done

    def is_ready(self) -> bool:
        return self.failed != 0

    def try_reply(self, data: Buffer, later: bool) -> int:
        """Sends the reply if there is room; a negative error number if not.

        Args:
            data: Any contiguous buffer.
            later: It leaves with those of others, not at once.
        """
        socket = self._socket
        socket.check_open()
        if self.done:
            raise make_error(errno.EBADF, "there was a reply before", rpc=self.id)
        as_message(data, socket.dispatcher.message_bytes_max)
        if self.failed:
            self.done = True
            return 0
        return self.answer(data, later)

    def cancel(self) -> None:
        """Ends it without a reply; the client gets an error. Nothing happens after a reply."""
        if not self.done:
            self.done = True
            self.end()

    def on_event(self, event: Event, again: bool) -> None:
        """From the dispatcher."""
        del again
        if event.kind == FAILED:
            self.failed = -event.error
            self.end()
            self.wake()

    def on_end(self) -> None:
        """From the dispatcher: the stack has ended."""
        self.failed = errno.EBADF
        self.wake()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.cancel()


R = TypeVar("R", bound=Request)


class Rpc(Request):
    """A request that a server got: reply to it once."""

    __slots__ = ()

    def reply(self, data: Buffer, *, timeout: Timeout = UNSET) -> None:
        """Sends the reply, waiting for room; nothing happens when the client has given up.

        Args:
            data: As of HomaSocket.request(); it is free when the call returns.
            timeout: Seconds to wait for room.

        Raises:
            Closed: There was a reply before, or the socket is closed.
            MessageTooLong: The text names the limit.
            Timeout: There was no room in time; reply again or cancel.
        """
        if self.answer(data, False) < 0:
            socket = self._socket
            socket.submit(self.try_reply, (data, False), socket.until(timeout))


class Service(_messages.Service[R], Source[R]):
    """Requests that came to a port and wait for the application.

    Args:
        socket: The socket that serves the port.
        port: Which.
        make: What requests are to the application.
    """

    _dispatcher: Dispatcher

    def __init__(self, socket: HomaSocket, port: int, make: type[R]) -> None:
        super().__init__(socket.dispatcher, socket, make, collections.deque())
        self.port: Final = port
        if self._dispatcher.by_port.setdefault(port, self) is not self:
            raise make_error(errno.EADDRINUSE, f"cannot serve port {port}")

    def is_ready(self) -> bool:
        """True when there is a request to take, or never will be."""
        return bool(self._queue) or self._closed

    def accept(self, message: _core.nd_app_message, data: memoryview, batches: int) -> R | None:
        """From the dispatcher: takes the only message of a batch."""
        dispatcher, identity = self._dispatcher, message.id
        rpc = self.made(message.peer, identity, memoryview(bytearray(data)))
        reference = ref(rpc)
        # No call stands between these, so no interrupt can.
        if dispatcher.batches != batches:
            return None
        rpc.done, dispatcher.by_rpc[identity] = False, reference
        dispatcher.batches = batches + 1 & BATCHES_MASK
        return rpc

    def put_back(self, taken: R) -> None:
        """From the dispatcher: an interrupt came before this was returned."""
        self._queue.appendleft(taken)
        self.wake()

    def on_end(self) -> None:
        """From the dispatcher: the stack has ended."""
        self.wake()

    def forget(self) -> None:
        """Takes no more requests."""
        self._dispatcher.by_port.pop(self.port, None)

    def close(self) -> None:
        """Stops serving; the clients of what waits get errors. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self.forget()
        self._dispatcher.tell(HOMA, lib.ND_COMMAND_UNLISTEN, port=self.port)
        self._queue.clear()
        self.wake()
