"""Clients: calls by name to one of several servers, streams, and typed stubs."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import errno
import inspect
import re
import time
from typing import TYPE_CHECKING, Final, Self, TypeVar, cast

from ndpstack import aio
from ndpstack._rpc_types import Convert, pack, result_converter
from ndpstack._rpc_wire import (
    CLOSE,
    END,
    ERROR,
    LATE,
    NEXT,
    ONE_WAY,
    PART,
    STREAM,
    Codec,
    MsgpackCodec,
    RemoteError,
    ReplyHead,
    pack_request,
    unpack_reply,
)
from ndpstack.errors import NdpError, Refused, Reset, Timeout, Unreachable, make_error

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

    from ndpstack._socket import Address
    from ndpstack._stack import Stack

T = TypeVar("T")

SET_ASIDE_S: Final = 1.0
"""A server that refused or was late is not asked for so long, as long as there are others."""

SET_ASIDE_S_MAX: Final = 60.0
"""One whose host is silent is set aside twice as long each time, up to this."""

TELLING_S: Final = 0.001
"""A call that was given less time tells nothing about its server."""

SILENT_RESENDS: Final = 3
"""A host that lets as many go unanswered is silent; fewer may have been lost."""

_UNANSWERED: Final = re.compile(r"(\d+) resends unanswered")

CLOSE_S: Final = 1.0
"""A server is given so long to take the end of a stream that was left; it ends idle ones itself."""


@dataclasses.dataclass
class _Server:
    address: Address
    outstanding: int = 0
    """Calls under way and streams that are open."""
    aside_until: float = 0.0
    known_at: float = 0.0
    """When it was heard, or found to be late, for the last time."""
    silence_s: float = 0.0
    """How long it was set aside for its host's silence since there was a sign of life."""

    def text(self) -> str:
        """As errors name a peer."""
        host, port = self.address
        return f"{host if isinstance(host, str) else host.text()}:{port}"

    def hear(self) -> None:
        """It has answered."""
        self.known_at, self.silence_s = time.monotonic(), 0.0

    def refuse(self) -> None:
        """It does not serve now."""
        self.aside_until = time.monotonic() + SET_ASIDE_S

    def miss(self, since: float, *, silent: bool) -> None:
        """A request from then on has timed out. One that answers others meanwhile is only slow.

        Args:
            since: When it began, as of time.monotonic().
            silent: The host has not answered either; others may just have a method that is slow.
        """
        if since < self.known_at:
            return
        self.known_at = time.monotonic()
        longer = min(max(SET_ASIDE_S, 2 * self.silence_s), SET_ASIDE_S_MAX)
        self.silence_s = longer if silent else 0.0
        self.aside_until = self.known_at + (self.silence_s or SET_ASIDE_S)


def _is_silent(error: Timeout) -> bool:
    """There was no way to the server's host, or it did not answer what Homa asked it."""
    unanswered = _UNANSWERED.search(error.state)
    return error.rpc is None or (unanswered is not None and int(unanswered[1]) >= SILENT_RESENDS)


class Client:
    """Calls methods of a service, on the server with the fewest calls and streams of ours.

    A server that refuses is set aside for a second and the call goes to another one: it has not
    run there. A call that may have run is never repeated. A server that lets a call time out and
    answers no other meanwhile is set aside for a second, too, be it that it hangs or that the
    method is slow; one whose host is silent, for twice as long each time, up to a minute.

    Args:
        stack: The stack to use; the client belongs to the loop that runs.
        servers: Addresses of servers that are all alike.
        codec: As the service's.
    """

    def __init__(
        self, stack: Stack, servers: Sequence[Address], *, codec: Codec | None = None
    ) -> None:
        if not servers:
            raise ValueError("a client needs at least one server")
        self._socket = aio.HomaSocket(stack)
        self._servers = [_Server(address) for address in servers]
        self._codec = codec or MsgpackCodec()
        self._streams: dict[int, _Server] = {}
        """Cursors of those that have not ended."""
        self._closing: set[asyncio.Task[None]] = set()

    async def call(
        self,
        name: str,
        /,
        *args: object,
        timeout: float | None = None,  # noqa: ASYNC109 (it travels to the server)
        **kwargs: object,
    ) -> object:
        """Calls a method and waits for its value.

        Args:
            name: The method.
            *args: Its arguments.
            timeout: Seconds until both ends give up, as sockets take them. A method's own argument
                of that name is given by position.
            **kwargs: Its named arguments.

        Raises:
            TypeError: The name is no text.
            ValueError: The timeout is negative, or no number.
            RemoteError: The method raised; kind and text are those of the error there.
            NdpError: Timeout, Refused, Reset and others.
        """
        return self._value(*await self._ask(name, args, kwargs, 0, timeout))

    async def notify(
        self,
        name: str,
        /,
        *args: object,
        timeout: float | None = None,  # noqa: ASYNC109 (it travels to the server)
        **kwargs: object,
    ) -> None:
        """Calls a method one-way: returns when a server has taken the call, not when it has run.

        Args:
            name: The method.
            *args: Its arguments.
            timeout: Seconds until this gives up, and the server the method.
            **kwargs: Its named arguments.

        Raises:
            TypeError: The name is no text.
            ValueError: The timeout is negative, or no number.
            NdpError: Timeout, Refused, Reset and others.
        """
        self._value(*await self._ask(name, args, kwargs, ONE_WAY, timeout))

    def stream(
        self, name: str, /, *args: object, timeout: float | None = None, **kwargs: object
    ) -> AsyncGenerator[object, None]:
        """Calls a method that streams; its values come as they are made, no faster than read.

        Args:
            name: The method.
            *args: Its arguments.
            timeout: Seconds until both ends give up, for each value anew: from when it is asked
                for until it is here. How long the reader takes between values does not count.
            **kwargs: Its named arguments.

        Raises:
            TypeError: The name is no text.
            ValueError: The timeout is negative, or no number.
            RemoteError: The method raised, before or between values.
            NdpError: Timeout, Refused, Reset and others.
        """
        return self._stream(name, args, kwargs, timeout)

    async def _stream(
        self,
        name: str,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        timeout: float | None,  # noqa: ASYNC109 (it travels to the server)
        convert: Convert | None = None,
    ) -> AsyncGenerator[object, None]:
        head, server = await self._ask(name, args, kwargs, STREAM, timeout)
        cursor = head.cursor
        if head.status == PART:
            self._streams[cursor] = server
            server.outstanding += 1
        try:
            while head.status != END:
                value = self._value(head, server)
                yield value if convert is None else convert(value)
                request = pack_request(NEXT, STREAM, cursor, b"")
                head = await self._request(server, request, timeout)
        finally:
            if head.status == PART:
                self._leave(cursor)
            else:
                self._forget(cursor)

    def _forget(self, cursor: int) -> _Server | None:
        """The server of a stream that is no more, if that is news."""
        server = self._streams.pop(cursor, None)
        if server is not None:
            server.outstanding -= 1
        return server

    def _leave(self, cursor: int) -> None:
        """Has the server end a stream; whoever left it neither waits nor learns how that went."""
        server = self._forget(cursor)
        if server is not None and not self._socket.closed:
            task = asyncio.create_task(self._close_stream(cursor, server))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def _close_stream(self, cursor: int, server: _Server) -> None:
        request = pack_request(CLOSE, STREAM, cursor, b"")
        with contextlib.suppress(NdpError, ValueError):
            await self._request(server, request, CLOSE_S)

    async def _ask(
        self,
        name: str,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        flags: int,
        timeout: float | None,  # noqa: ASYNC109 (it travels to the server)
    ) -> tuple[ReplyHead, _Server]:
        until = self._socket._base.until(timeout)
        body = pack(self._codec, [args, kwargs])
        refusal: Exception | None = None
        for server in self._by_preference():
            left = None if until is None else max(0.0, until - time.monotonic())
            # A stream's is for each value.
            limit = timeout if flags & STREAM and left is not None else left
            left_ns = 0 if limit is None else max(1, int(limit * 1e9))
            request = pack_request(name, flags, left_ns, body)
            # The one that was asked last goes behind its equals.
            self._servers.remove(server)
            self._servers.append(server)
            server.outstanding += 1
            try:
                return await self._request(server, request, left), server
            except (Refused, Unreachable) as error:
                refusal = error
            finally:
                server.outstanding -= 1
        assert refusal is not None
        raise refusal

    async def _request(
        self,
        server: _Server,
        request: bytes,
        timeout: float | None,  # noqa: ASYNC109 (it travels to the server)
    ) -> ReplyHead:
        """Asks one server, and remembers whether it is there.

        That a call is late is one thing, whichever end notices it first.
        """
        tells = timeout is None or timeout >= TELLING_S
        began = time.monotonic()
        try:
            reply = await self._socket.request(server.address, request, timeout=timeout)
        except (Refused, Unreachable, Reset):
            server.refuse()
            raise
        except Timeout as error:
            if tells:
                server.miss(began, silent=_is_silent(error))
            raise
        head = unpack_reply(reply)
        if head.status != LATE:
            server.hear()
        elif tells:
            server.miss(began, silent=False)
        return head

    def _by_preference(self) -> list[_Server]:
        now = time.monotonic()
        return sorted(self._servers, key=lambda s: (s.aside_until > now, s.outstanding))

    def _value(self, head: ReplyHead, server: _Server) -> object:
        if head.status == LATE:
            late = "the method took longer than the call's timeout"
            raise make_error(errno.ETIMEDOUT, late, peer=server.text())
        if head.status == ERROR:
            body = self._codec.unpack(head.body)
            kind, text = body if isinstance(body, list | tuple) and len(body) == 2 else ("", body)
            raise RemoteError(str(kind), str(text), peer=server.text())
        return self._codec.unpack(head.body) if len(head.body) else None

    def stub(self, interface: type[T], *, timeout: float | None = None) -> T:
        """An object with the methods of a class whose annotations describe the service.

        Results are made as they are annotated: dataclasses of dictionaries, tuples and named tuples
        of lists, members of enums of their values, bytearrays of bytes, wherever they are in lists,
        tuples, dictionaries and fields, and also where they may be None. Numbers, text and bytes
        are not looked at, nor is `object`. Other classes are the codec's matter: a value that is
        none of that class is an error, as is one that does not fit.

        Args:
            interface: A class of coroutine methods, whose bodies are never run.
            timeout: Seconds of each call, and of each value of a stream.

        Raises:
            TypeError: No value can be made for an annotation, which the text names.
        """
        return cast("T", Stub(self, interface, timeout))

    def close(self) -> None:
        """Closes the client; calls under way get Closed. Idempotent."""
        for task in self._closing:
            task.cancel()
        self._socket.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *error: object) -> None:
        try:
            if kind is None or issubclass(kind, Exception):
                await self._leave_all()
        finally:
            self.close()

    async def _leave_all(self) -> None:
        """Has servers end the streams that are open, for CLOSE_S at most."""
        for cursor in list(self._streams):
            self._leave(cursor)
        if self._closing:
            await asyncio.wait(self._closing)


class Stub:
    """Methods of an interface as calls of a client."""

    def __init__(self, client: Client, interface: type[object], timeout: float | None) -> None:
        self._client = client
        self._timeout = timeout
        for name, function in inspect.getmembers(interface, inspect.isfunction):
            if not name.startswith("_"):
                setattr(self, name, self._bind(name, function))

    def _bind(
        self, name: str, function: Callable[..., object]
    ) -> Callable[..., Awaitable[object] | AsyncGenerator[object, None]]:
        signature, convert = inspect.signature(function), result_converter(function)
        client, timeout = self._client, self._timeout

        def stream(*args: object, **kwargs: object) -> AsyncGenerator[object, None]:
            bound = signature.bind(self, *args, **kwargs)
            return client._stream(name, bound.args[1:], bound.kwargs, timeout, convert)

        async def call(*args: object, **kwargs: object) -> object:
            bound = signature.bind(self, *args, **kwargs)
            value = client._value(
                *await client._ask(name, bound.args[1:], bound.kwargs, 0, timeout)
            )
            return value if convert is None else convert(value)

        return stream if inspect.isasyncgenfunction(function) else call
