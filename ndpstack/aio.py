"""The sockets for asyncio and uvloop: the same verbs, awaited.

A socket belongs to the loop in which it was opened; a stack may serve any number of loops and
threads at once. Every await may be cancelled: a cancelled request is given up at both ends, a
cancelled receive loses no message.
"""

from __future__ import annotations

import asyncio
import errno
import time
from typing import TYPE_CHECKING, Self

from ndpstack import _homa, _ndp
from ndpstack._address import Peer, check_port, pack
from ndpstack._dispatch import ROOM_RETRY_S
from ndpstack._lease import lease
from ndpstack._loop import driver_of
from ndpstack.errors import Closed, make_error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from typing_extensions import Buffer

    from ndpstack._dispatch import Waitable
    from ndpstack._socket import Address, Socket
    from ndpstack._stack import Stack


class _AsyncSocket:
    """What both kinds of sockets have in common."""

    def __init__(self, socket: Socket) -> None:
        self._base = socket
        self._driver = driver_of(socket.dispatcher)
        self._driver.acquire()

    @property
    def stack(self) -> Stack:
        """The stack that it was opened on."""
        return self._base.stack

    @property
    def closed(self) -> bool:
        """True after close()."""
        return self._base.closed

    async def _wait(self, target: Waitable) -> None:
        self._driver.check_loop()
        await self._driver.wait(target)
        self._base.check_open()

    async def _resolve(self, address: Address) -> tuple[Peer, int]:
        """The address with its host resolved, without blocking the loop."""
        host, port = address
        check_port(port)
        if isinstance(host, Peer):
            return host, port
        peer = self.stack.known_peer(host)
        if peer is None:
            answer, key = self._base.dispatcher.begin_ask(pack(host), 0)
            try:
                await self._wait(answer)
            except BaseException:
                self._base.dispatcher.by_key.pop(key, None)
                raise
            event = self._base.dispatcher.finish_ask(answer, key, host)
            peer = self.stack.keep_peer(host, event.peer)
        return peer, port

    async def _when_room(self, send: Callable[[], int]) -> None:
        """Repeats a command until the core has room for it: backpressure."""
        while (code := send()) < 0:
            if code not in (-errno.EAGAIN, -errno.ENOBUFS):
                raise make_error(-code, "cannot send")
            await asyncio.sleep(ROOM_RETRY_S)
            self._base.check_open()

    def close(self) -> None:
        """Closes the socket; tasks that wait on it get Closed. Idempotent."""
        if not self._base.closed:
            self._base.close()
            self._driver.release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<aio {self._base!r}>"


class Rpc(_homa.Request):
    """A request that a server got: reply to it once."""

    __slots__ = ()

    async def reply(self, data: Buffer) -> None:
        """Sends the reply, waiting for room; nothing happens when the client has given up.

        Args:
            data: Any contiguous buffer; it is copied, and free when the call returns.

        Raises:
            Closed: There was a reply before, or the socket is closed.
            MessageTooLong: The text names the limit.
        """
        message = self.prepare(data)
        while (code := self.try_reply(*message)) < 0:
            if code not in (-errno.EAGAIN, -errno.ENOBUFS):
                raise make_error(-code, "cannot reply", rpc=self.id)
            await asyncio.sleep(ROOM_RETRY_S)


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
        self._socket = _homa.HomaSocket(stack)
        super().__init__(self._socket)

    async def bind(self, port: int) -> None:
        """Serves a port, 1..32767.

        Raises:
            AddressInUse: An application of this host serves it.
        """
        self._socket.bind(port)

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
            data: Any contiguous buffer; it is copied.
            timeout: Seconds until both ends give up.
            priority: 0..7, higher ones are served first.

        Returns:
            The reply, valid as long as anything refers to it.

        Raises:
            NdpError: Timeout, Refused, Reset, Cancelled, MessageTooLong and others.
        """
        until = None if timeout is None else time.monotonic() + timeout
        resolved = await self._resolve(address)
        call, send = self._socket.prepare_call(resolved, data, until, priority)
        try:
            await self._when_room(send)
        except BaseException:
            call.forget()
            raise
        try:
            await self._wait(call)
        except BaseException:
            call.end(errno.ECANCELED, "cancelled here")
            raise
        return call.outcome()

    async def recv(self) -> Rpc:
        """Waits for the next request.

        Raises:
            Closed: The socket is closed, or not bound.
        """
        service = self._socket.service
        while True:
            await self._wait(service)
            taken = service.take()
            if taken is not None:
                return Rpc(self._socket, *taken)

    async def __aiter__(self) -> AsyncIterator[Rpc]:
        """Requests as they come, until the socket is closed."""
        while True:
            try:
                rpc = await self.recv()
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

    async def listen(self) -> None:
        """Lets peers connect to the port that was bound.

        Raises:
            AddressInUse: An application of this host listens there.
        """
        self._socket.listen()

    async def accept(self) -> NdpSocket:
        """Waits for the next connection.

        Raises:
            Closed: The socket is closed, or does not listen.
        """
        listener = self._socket.listener
        while True:
            await self._wait(listener)
            connection = listener.take()
            if connection is not None:
                return self._of(self._socket.accepted(connection))

    @classmethod
    def _of(cls, socket: _ndp.NdpSocket) -> NdpSocket:
        made = cls.__new__(cls)
        made._socket = socket
        _AsyncSocket.__init__(made, socket)
        return made

    async def connect(self, address: Address, *, priority: int = 0) -> None:
        """Opens a connection. Nothing is sent before the first message.

        Raises:
            LimitReached: The core has as many connections as it may.
        """
        resolved = await self._resolve(address)
        connection, opening = self._socket.prepare_connect(resolved, priority)
        try:
            await self._wait(opening)
        except BaseException:
            opening.give_up()
            raise
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
        connection = self._socket.connection
        expires = None if deadline is None else time.monotonic() + deadline
        send = self._socket.prepare_send(data, expires)
        await self._wait(connection.room)
        await self._when_room(lambda: self._socket.try_send(send))

    async def recv(self) -> memoryview:
        """Waits for the next message.

        Raises:
            EOFError: The peer has closed the connection, and all it sent was received.
            Reset: The connection has ended otherwise.
        """
        connection = self._socket.connection
        while True:
            await self._wait(connection)
            event = self._socket.take_message()
            if event is not None:
                return lease(self._socket.dispatcher.app, event)

    async def flush(self) -> None:
        """Waits until the peer's host has acknowledged all that was sent.

        Raises:
            NdpError: A message could not be sent, or the connection has ended.
        """
        await self._wait(self._socket.connection.flushed)
        self._socket.check_sent()

    async def __aiter__(self) -> AsyncIterator[memoryview]:
        """Messages as they come, until the peer closes the connection."""
        while True:
            try:
                message = await self.recv()
            except EOFError:
                return
            yield message
            del message  # A lease ends with its last reader, who is not here.
