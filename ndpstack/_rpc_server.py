"""Services: methods by name, their tasks, deadlines and errors."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar, overload

from ndpstack import aio
from ndpstack._rpc_deadline import LateError, set_deadline, within
from ndpstack._rpc_metrics import Metrics, count_end
from ndpstack._rpc_streams import Streams
from ndpstack._rpc_types import Arguments, argument_converter, pack
from ndpstack._rpc_wire import (
    CLOSE,
    END,
    ERROR,
    LATE,
    NEXT,
    ONE_WAY,
    STREAM,
    VALUE,
    Codec,
    MsgpackCodec,
    RequestHead,
    pack_name,
    pack_reply,
    unpack_request,
)
from ndpstack.errors import MessageTooLong, NdpError

if TYPE_CHECKING:
    from ndpstack._stack import Stack

logger = logging.getLogger(__name__)

CONCURRENCY_MAX: Final = 1024
"""Calls that a service works on at once; others wait in the core, which stops their senders."""

Handler = Callable[..., object]
F = TypeVar("F", bound=Handler)


@dataclass(frozen=True)
class _Method:
    call: Handler
    streams: bool
    in_thread: bool
    arguments: Arguments | None
    """None when they come as they are annotated."""


@contextlib.asynccontextmanager
async def _ends_with(serving: asyncio.Task[None]) -> AsyncIterator[None]:
    """A block that is cancelled when a task fails, and raises its error; it cancels the task."""
    block, over, failed = asyncio.current_task(), False, False
    assert block is not None

    def fail(_: object) -> None:
        nonlocal failed
        if not over:  # It may have been scheduled when the block ended.
            failed = True
            block.cancel()

    cancelled_before = block.cancelling()
    serving.add_done_callback(fail)
    try:
        yield
    except asyncio.CancelledError:
        if not failed or block.cancelling() > cancelled_before + 1:
            raise
        serving.result()
    finally:
        over = True
        if failed:
            block.uncancel()
        serving.remove_done_callback(fail)
        serving.cancel()
        await asyncio.wait([serving])
        if not serving.cancelled():
            serving.exception()  # What the block raised goes first.


def _text_of(error: Exception) -> str:
    """An error's message as any codec can pack it: file names may be no UTF-8, __str__ may fail."""
    try:
        text = str(error)
    except Exception as second:
        text = f"its message cannot be read: {type(second).__name__}"
    return text.encode(errors="backslashreplace").decode()


class Service:
    """Methods that clients call by name.

    Coroutine functions run as tasks. Plain functions run in the loop, so they should be quick, or
    be registered with `thread=True`. Async generators are streams.

    Args:
        name: For logs and metrics.
        codec: Packs arguments and results; both ends need the same one.
        concurrency_max: Calls worked on at once.
    """

    def __init__(
        self, name: str, *, codec: Codec | None = None, concurrency_max: int = CONCURRENCY_MAX
    ) -> None:
        self.name: Final = name
        self.metrics: Final[dict[str, Metrics]] = {}
        """Counts of each method, by its name."""
        self._codec = codec or MsgpackCodec()
        self._methods: dict[str, _Method] = {}
        self._concurrency_max = concurrency_max

    # ---- methods ----

    @overload
    def method(self, function: F) -> F: ...
    @overload
    def method(self, *, name: str | None = None, thread: bool = False) -> Callable[[F], F]: ...
    def method(
        self, function: F | None = None, *, name: str | None = None, thread: bool = False
    ) -> F | Callable[[F], F]:
        """Registers a function under its own name, or another.

        Its arguments are made as they are annotated, in the way of Client.stub().

        Args:
            function: When used as a plain decorator.
            name: What clients call it.
            thread: Run this plain function in a thread, because it blocks.

        Raises:
            ValueError: There is such a method already, or the name is too long.
            TypeError: It is no function, its name is no text, or no value can be made for an
                argument's annotation.
        """

        def register(handler: F) -> F:
            if not callable(handler):
                kind = type(handler).__name__
                raise TypeError(f"a method is a function, not {kind}: names go into method(name=)")
            self._register(name or handler.__name__, handler, thread)
            return handler

        return register if function is None else register(function)

    def _register(self, name: str, handler: Handler, thread: bool) -> None:
        pack_name(name)
        if name in self._methods:
            raise ValueError(f"service {self.name} has a method {name} already")
        streams = inspect.isasyncgenfunction(handler)
        self._methods[name] = _Method(handler, streams, thread, argument_converter(handler))
        self.metrics[name] = Metrics()

    # ---- serving ----

    async def serve(self, stack: Stack, port: int) -> None:
        """Serves until it is cancelled.

        Raises:
            AddressInUse: The port is served already.
            Closed: The stack was closed.
            StackGone: Its core has ended.
        """
        async with self.serving(stack, port):
            await asyncio.Event().wait()

    @contextlib.asynccontextmanager
    async def serving(self, stack: Stack, port: int) -> AsyncIterator[None]:
        """Serves in the background of a block; calls under way are cancelled at its end.

        What the block raises leaves it as it is. When the service cannot go on, the block is
        cancelled, as by asyncio.timeout(), and the error is raised at its end.

        Raises:
            AddressInUse: The port is served already.
            Closed: The stack was closed.
            StackGone: Its core has ended.
        """
        async with aio.HomaSocket(stack) as socket:
            await socket.bind(port)
            streams = Streams(self.name, self._codec)
            reaping = asyncio.create_task(streams.reap())
            try:
                async with _ends_with(asyncio.create_task(self._accept(socket, streams))):
                    yield
            finally:
                reaping.cancel()
                await streams.leave_all()

    async def _accept(self, socket: aio.HomaSocket, streams: Streams) -> None:
        """Answers calls, each in a task of its own, which end with this one."""
        room = asyncio.Semaphore(self._concurrency_max)
        running: set[asyncio.Task[None]] = set()

        def done(task: asyncio.Task[None]) -> None:
            running.discard(task)
            room.release()

        try:
            while True:
                await room.acquire()
                rpc = await socket.recv()
                task = asyncio.create_task(self._answer(rpc, streams))
                running.add(task)
                task.add_done_callback(done)
                del rpc
        finally:
            for task in running:
                task.cancel()
            if running:
                await asyncio.wait(running)

    async def _answer(self, rpc: aio.Rpc, streams: Streams) -> None:
        """One call from its request to its reply, whatever happens. Cancelled with its client."""
        task = asyncio.current_task()
        assert task is not None
        give_up = _Cancel(asyncio.get_running_loop(), task)
        rpc.add_waiter(give_up)
        try:
            if not rpc.cancelled:
                await self._dispatch(rpc, streams)
        except NdpError as error:
            logger.debug("%s: reply not sent: %s", self.name, error)
        except Exception:
            logger.exception("%s: a call has no reply that could be packed", self.name)
        finally:
            rpc.remove_waiter(give_up)
            rpc.cancel()

    async def _dispatch(self, rpc: aio.Rpc, streams: Streams) -> None:
        try:
            head = unpack_request(rpc.data)
        except ValueError as error:
            await self._fail(rpc, error)
            return
        method = self._methods.get(head.method)
        if method is None:
            await self._go_on(rpc, head, streams)
        elif method.streams:
            await self._begin_stream(rpc, head, method, streams)
        else:
            await self._measured(rpc, head, method)

    # ---- values ----

    async def _measured(self, rpc: aio.Rpc, head: RequestHead, method: _Method) -> None:
        metrics = self.metrics[head.method]
        metrics.active += 1
        metrics.request_bytes += len(rpc.data)
        begin = time.perf_counter()
        try:
            if head.flags & ONE_WAY:
                await rpc.reply(pack_reply(VALUE, b""))
            metrics.reply_bytes += await self._run(rpc, head, method)
        except asyncio.CancelledError:
            metrics.cancelled += 1
            raise
        except Exception as error:
            late = isinstance(error, LateError)
            metrics.cancelled += late
            metrics.errors += not late
            await self._fail(rpc, error)
        finally:
            count_end(metrics, time.perf_counter() - begin)

    async def _run(self, rpc: aio.Rpc, head: RequestHead, method: _Method) -> int:
        """Runs the method and replies; returns the reply's length."""
        if head.flags & STREAM:
            raise TypeError(f"{head.method} is no stream: call() it")
        args, kwargs = self._arguments(head, method)
        left = head.left_ns / 1e9 or None
        set_deadline(left)
        value = await within(left, self._value(method, args, kwargs))
        if head.flags & ONE_WAY:
            return 0
        reply = pack_reply(VALUE, pack(self._codec, value))
        await rpc.reply(reply)
        return len(reply)

    def _arguments(
        self, head: RequestHead, method: _Method
    ) -> tuple[list[object], dict[str, object]]:
        body = self._codec.unpack(head.body)
        if isinstance(body, list | tuple) and len(body) == 2:
            args, kwargs = body
            if isinstance(args, list | tuple) and isinstance(kwargs, dict):
                named = {str(key): value for key, value in kwargs.items()}
                if method.arguments is None:
                    return list(args), named
                return method.arguments.convert(args, named)
        raise ValueError("the request's body is not [arguments, named arguments]")

    @staticmethod
    async def _value(method: _Method, args: list[object], kwargs: dict[str, object]) -> object:
        if method.in_thread:
            return await asyncio.to_thread(method.call, *args, **kwargs)
        value = method.call(*args, **kwargs)
        return await value if isinstance(value, Awaitable) else value

    async def _fail(self, rpc: aio.Rpc, error: Exception) -> None:
        """Tells the client what was raised, by type and message."""
        kind, text = type(error).__name__, _text_of(error)
        if rpc.replied:
            logger.warning("%s: one-way call failed: %s: %s", self.name, kind, text)
            return
        if isinstance(error, LateError):
            await rpc.reply(pack_reply(LATE, b""))
            return
        with contextlib.suppress(MessageTooLong):
            await rpc.reply(pack_reply(ERROR, self._codec.pack([kind, text])))

    # ---- streams ----

    async def _begin_stream(
        self, rpc: aio.Rpc, head: RequestHead, method: _Method, streams: Streams
    ) -> None:
        def call() -> AsyncGenerator[object, None]:
            if not head.flags & STREAM:
                raise TypeError(f"{head.method} streams: read it with stream()")
            args, kwargs = self._arguments(head, method)
            values = method.call(*args, **kwargs)
            assert isinstance(values, AsyncGenerator)
            return values

        try:
            patience = head.left_ns / 1e9 or None
            await streams.begin(rpc, self.metrics[head.method], patience, call)
        except Exception as error:
            await self._fail(rpc, error)

    async def _go_on(self, rpc: aio.Rpc, head: RequestHead, streams: Streams) -> None:
        """What is no method's name: what becomes of a stream."""
        cursor = head.left_ns
        try:
            if head.method == CLOSE:
                await rpc.reply(pack_reply(END, b""))
                await streams.leave(cursor)
            elif head.method == NEXT:
                await streams.go_on(rpc, cursor)
            else:
                raise LookupError(f"service {self.name} has no method {head.method}")
        except Exception as error:
            await self._fail(rpc, error)


class _Cancel:
    """Cancels a call's task when its client gives up, from whatever thread that is found in."""

    __slots__ = ("_loop", "_task", "_thread")

    def __init__(self, loop: asyncio.AbstractEventLoop, task: asyncio.Task[object]) -> None:
        self._loop = loop
        self._task = task
        self._thread = threading.get_ident()

    def __call__(self) -> None:
        try:
            if threading.get_ident() == self._thread:
                self._task.cancel()
            else:
                self._loop.call_soon_threadsafe(self._task.cancel)
        except RuntimeError:  # No fault of the caller's, who hands out events, if it is closed.
            if not self._loop.is_closed():
                raise
