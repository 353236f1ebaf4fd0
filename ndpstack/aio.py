"""The sockets for asyncio and uvloop: the same verbs, awaited.

A socket belongs to the loop in which it was opened; a stack may serve any number of loops and
threads at once. Every await may be cancelled: a cancelled request is given up at both ends, a
cancelled receive loses no message.
"""

from __future__ import annotations

import asyncio
import errno
import time
import warnings
from typing import TYPE_CHECKING, Self, TypeVar

from ndpstack import _core, _homa, _ndp, _served
from ndpstack._address import Peer, pack
from ndpstack._ask import Question
from ndpstack._dispatch import ROOM_RETRY_S, patience_s
from ndpstack._loop import driver_of
from ndpstack._messages import new_future
from ndpstack._single import Single
from ndpstack._socket import is_forgotten, until_of
from ndpstack.errors import Closed, MessageTooLong, Unreachable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from typing_extensions import Buffer

    from ndpstack._loop import LoopDriver
    from ndpstack._socket import Address, Socket, Source
    from ndpstack._stack import Stack
    from ndpstack._waitable import Waitable

lib = _core.lib

T = TypeVar("T")


class _AsyncSocket(Single):
    """What both kinds of sockets have in common."""

    def __init__(self, socket: Socket) -> None:
        self._driver = driver_of(socket.dispatcher)
        try:
            self._driver.acquire()
        except BaseException:
            socket.close()
            raise
        self._base = socket

    @property
    def stack(self) -> Stack:
        """The stack that it was opened on."""
        return self._base.stack

    @property
    def closed(self) -> bool:
        """True after close()."""
        return self._base.closed

    async def _wait(self, target: Waitable) -> None:
        await self._driver.wait(target)
        self._base.check_open()

    async def _next_of(self, source: Source[T]) -> T:
        """Waits until something has come, and takes it."""
        while (taken := source.take()) is None:
            await self._wait(source)
        return taken

    async def _resolve(self, host: str, until: float | None) -> Peer:
        """The host, resolved without blocking the loop.

        Raises:
            Timeout: No way to it was found in time.
        """
        peer = self.stack.known_peer(host)
        if peer is not None:
            return peer
        question = Question(self._base.dispatcher, pack(host), 0, host)
        try:
            async with asyncio.timeout(patience_s(until)):
                await self._wait(question.answer)
        except TimeoutError:
            raise question.late() from None
        finally:
            question.forget()
        return self.stack.keep_peer(host, question.finish().peer)

    async def _make_room(self, code: int) -> None:
        await _make_room(self._base, code)

    def close(self) -> None:
        """Closes the socket; tasks that wait on it get Closed. Idempotent."""
        if not self._base.closed:
            self._base.close()
            self._driver.release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        base = getattr(self, "_base", None)
        if base is not None and not base.closed:
            text = f"unclosed {self!r}"
            base.close()
            self._driver.release_soon()
            warnings.warn(text, ResourceWarning, source=self, stacklevel=2)

    def __repr__(self) -> str:
        return f"<aio {self._base!r}>"


async def _make_room(socket: Socket, code: int) -> None:
    """After a command failed: waits a moment if that was for want of room."""
    socket.check_room(code)
    await asyncio.sleep(ROOM_RETRY_S)
    socket.check_open()


class Rpc(_served.Request):
    """A request that a server got: reply to it once."""

    __slots__ = ()

    _socket: _LoopSocket

    async def reply(self, data: Buffer) -> None:
        """Sends the reply, waiting for room; nothing happens when the client has given up.

        Args:
            data: As of ndpstack.HomaSocket.request(); it is free when the call returns.

        Raises:
            Closed: There was a reply before, or the socket is closed.
            MessageTooLong: The text names the limit.
        """
        if self.answer(data, True) < 0:
            while (code := self.try_reply(data, True)) < 0:
                await _make_room(self._socket, code)
        self._socket.driver.answer()


class _LoopSocket(_homa.HomaSocket):
    """What is below a socket of a loop, whose requests find the loop here."""

    driver: LoopDriver


class HomaSocket(_AsyncSocket):
    """Requests to other hosts and, once it is bound, the requests of others.

    >>> import asyncio, ndpstack
    >>> from ndpstack.aio import HomaSocket
    >>> async def main() -> bytes:
    ...     with ndpstack.memory_pair() as (a, b):
    ...         async with HomaSocket(a) as server, HomaSocket(b) as client:
    ...             await server.bind(4000)
    ...             request = asyncio.create_task(client.request((a.address, 4000), b"hello"))
    ...             rpc = await server.recv()
    ...             await rpc.reply(b"world")
    ...             return bytes(await request)
    >>> asyncio.run(main())
    b'world'
    """

    def __init__(self, stack: Stack) -> None:
        self._socket = _LoopSocket(stack)
        self._service: _served.Service[Rpc] | None = None
        super().__init__(self._socket)
        self._socket.driver = self._driver

    async def bind(self, port: int) -> None:
        """Serves a port, 1..32767.

        Raises:
            AddressInUse: An application of this host serves it.
        """
        self._service = self._socket.serve(port, Rpc)

    async def request(
        self,
        address: Address,
        data: Buffer,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 (both ends give up, not the waiting alone)
        priority: int = 0,
    ) -> memoryview:
        """Sends a request and waits for its reply. Cancelling gives it up at both ends.

        Args:
            address: Host (IP address or Peer) and port.
            data: As of ndpstack.HomaSocket.request().
            timeout: Seconds until both ends give up.
            priority: 0..7; this host sends requests with a higher one first, and of those with
                the same one the shortest. On the network Homa chooses priorities itself.

        Returns:
            The reply, valid as long as anything refers to it.

        Raises:
            NdpError: Timeout, Refused, Reset, Cancelled, MessageTooLong and others.
        """
        socket, driver = self._socket, self._driver
        until = None if timeout is None else until_of(timeout)
        peer, port = address
        if type(peer) is not Peer:
            peer = await self._resolve(peer, until)
        future = new_future(driver.loop)
        call = _homa.Call(socket.dispatcher, future, driver.loop)
        identity = socket.identity
        try:
            # No call stands between these, so whoever closes it later sees the call.
            closed = socket._closed
            if closed or call.ask(identity, peer, port, data, until, priority, True) < 0:
                command = (call, (peer, port), data, until, priority, True)
                while (code := socket.begin(*command)) < 0:
                    await self._make_room(code)
        except BaseException:
            call.forget()
            raise
        try:
            driver.answer()
            await future
        except BaseException:
            call.end(errno.ECANCELED, "cancelled here")
            raise
        reply = call.view
        if reply is None or socket._closed or socket.dispatcher.ended is not None:
            return await self._outcome(call, address, data, until, priority)
        return reply

    async def _outcome(
        self,
        call: _homa.Call,
        address: Address,
        data: Buffer,
        until: float | None,
        priority: int,
    ) -> memoryview:
        """What became of a request, which is sent again where the core forgot its host."""
        self._socket.check_open()
        try:
            return call.outcome()
        except Unreachable as error:
            if not is_forgotten(address, error):
                raise
        host, port = address
        peer = host if isinstance(host, Peer) else await self._resolve(host, until)
        left = None if until is None else max(until - time.monotonic(), 0)
        return await self.request((peer, port), data, timeout=left, priority=priority)

    async def recv(self) -> Rpc:
        """Waits for the next request.

        Raises:
            Closed: The socket is closed, or not bound.
        """
        service = self._service
        if service is None or self._socket._closed or self._socket.dispatcher.ended is not None:
            service = self._socket.bound(service)
        rpc = service.take()
        return await self._next_request(service) if rpc is None else rpc

    async def _next_request(self, service: _served.Service[Rpc]) -> Rpc:
        """What comes to a service where nothing is now."""
        while True:
            await self._driver.wait(service)
            self._base.check_open()
            rpc = service.take()
            if rpc is not None:
                return rpc

    async def __aiter__(self) -> AsyncIterator[Rpc]:
        """Requests as they come, until the socket is closed."""
        while True:
            service = self._service
            rpc = None if service is None or self._socket._closed else service.take()
            if rpc is None:
                try:
                    rpc = await self._next_request(self._socket.bound(service))
                except Closed:
                    return
            yield rpc
            del rpc  # Held here, it would not be cancelled when its handler drops it.


class NdpSocket(_AsyncSocket):
    """Messages between two hosts, over NDP.

    Args:
        stack: The stack to use.
        ordered: Receive messages in the order in which they were sent; see ndpstack.NdpSocket.
    """

    def __init__(self, stack: Stack, *, ordered: bool = True) -> None:
        self._socket = _ndp.NdpSocket(stack, ordered=ordered)
        super().__init__(self._socket)

    async def bind(self, port: int) -> None:
        """Chooses the port to listen on, 1..65535."""
        self._socket.bind(port)

    async def listen(self, backlog: int = 0) -> None:
        """Lets peers connect to the port that was bound.

        Args:
            backlog: Most connections that peers may have here at once; see ndpstack.NdpSocket.

        Raises:
            AddressInUse: An application of this host listens there.
            LimitReached: The core has no room for so many.
        """
        self._socket.listen(backlog)

    @property
    def peer(self) -> Peer:
        """The host at the other end."""
        return self._socket.peer

    async def accept(self) -> NdpSocket:
        """Waits for the next connection.

        Raises:
            Closed: The socket is closed, or does not listen.
        """
        connection = await self._next_of(self._socket.listener)
        return self._of(self._socket.accepted(connection))

    @classmethod
    def _of(cls, socket: _ndp.NdpSocket) -> NdpSocket:
        made = cls.__new__(cls)
        made._socket = socket
        _AsyncSocket.__init__(made, socket)
        socket.connection.sends_later = True
        return made

    async def connect(
        self,
        address: Address,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 (as of request())
        priority: int = 0,
    ) -> None:
        """Opens a connection. Nothing is sent before the first message.

        Args:
            address: Host (IP address or Peer) and port.
            timeout: Seconds for a way to the host to be found.
            priority: 0..7, connections with a higher one are served first.

        Raises:
            LimitReached: The core has as many connections as it may.
            Unreachable: There is no way to the host.
            Timeout: None was found in time.
            Closed: The socket is closed, or in use already.
        """
        until = self._socket.until(timeout)
        try:
            await self._connect(address, until, priority)
        except Unreachable as error:
            if not is_forgotten(address, error):
                raise
        else:
            return
        await self._connect(address, until, priority)

    async def _connect(self, address: Address, until: float | None, priority: int) -> None:
        host, port = address
        if not isinstance(host, Peer):
            host = await self._resolve(host, until)
        connection, opening = self._socket.prepare_connect(host, port, priority)
        try:
            await self._wait(opening)
        except BaseException:
            opening.give_up()
            raise
        connection.sends_later = True
        self._socket.finish_connect(connection, opening)

    async def send(self, data: Buffer, *, deadline: float | None = None) -> None:
        """Queues a message, waiting for room. It is sent in the background: see flush().

        Args:
            data: Any contiguous buffer; it is copied, and free when the call returns.
            deadline: Seconds from now after which the message is given up if it has not arrived.

        Raises:
            MessageTooLong: The text names the limit.
            Reset: The connection has ended.
        """
        message = self._socket.prepare_send(data, deadline)
        while (code := self._socket.connection.try_send(*message)) < 0:
            await self._make_room(code)
        self._driver.flush_soon()

    async def _make_room(self, code: int) -> None:
        room = self._socket.connection.room
        if room.is_ready():
            await super()._make_room(code)
        else:
            await self._wait(room)

    async def recv(self) -> memoryview:
        """Waits for the next message.

        Raises:
            EOFError: The peer has closed the connection, and all it sent was received.
            Reset: The connection has ended otherwise.
        """
        return await self._next_of(self._socket.connection)

    async def recv_into(self, buffer: Buffer) -> int:
        """Waits for the next message and copies it into a writable buffer.

        Returns:
            The message's length.

        Raises:
            MessageTooLong: It does not fit; it is lost.
            TypeError: The buffer is not writable; the message is the next that is received.
            NdpError: As recv().
        """
        target, connection = memoryview(buffer).cast("B"), self._socket.connection
        message = await self.recv()
        try:
            return _ndp.copy_into(target, message)
        except MessageTooLong:
            raise
        except BaseException:
            connection.put_back(message)
            raise

    async def flush(self) -> None:
        """Waits until the peer's host has acknowledged all that was sent.

        Raises:
            NdpError: A message could not be sent, or the connection has ended.
        """
        await self._wait(self._socket.connection.flushed)
        self._socket.check_sent()

    def reset(self) -> None:
        """Ends the connection by force: what was not acknowledged is lost, the peer is told."""
        self._socket.connection.reset()
        self.close()

    def close(self, linger: float | None = None) -> None:
        """Closes the socket; what was sent is delivered in the background.

        Args:
            linger: Seconds after which the rest is given up; None: as long as the peer is alive.
        """
        if not self.closed:
            self._socket.close(linger)
            self._driver.release()

    async def __aiter__(self) -> AsyncIterator[memoryview]:
        """Messages as they come, until the peer closes the connection."""
        while True:
            try:
                yield await self.recv()  # Not by a variable, which would hold it while it is read.
            except EOFError:
                return
