"""A service's streams at one port: what clients have begun to read and not finished."""

from __future__ import annotations

import asyncio
import contextlib
import math
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ndpstack._rpc_deadline import LateError, set_deadline, within
from ndpstack._rpc_metrics import Metrics, count_end
from ndpstack._rpc_types import pack
from ndpstack._rpc_wire import END, PART, Codec, pack_reply

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from ndpstack import aio

    Values = AsyncGenerator[object, None]

STREAMS_MAX: Final = 1024
"""Streams that clients have begun and not finished."""

STREAM_IDLE_S: Final = 30.0
"""A stream that nobody reads for so long is closed."""


@dataclass
class _Stream:
    metrics: Metrics
    patience: float | None
    """Seconds that its client waits for each value."""
    call: Callable[[], Values]
    values: Values | None = None
    idle_since: float = math.inf
    """When its client got the last value; not as long as it waits for one."""
    seconds: float = 0.0


class Streams:
    """Streams by their cursors, which nobody but the client that began one can guess.

    Args:
        name: The service's.
        codec: Packs values.
    """

    def __init__(self, name: str, codec: Codec) -> None:
        self._name = name
        self._codec = codec
        self._open: dict[int, _Stream] = {}

    async def begin(
        self, rpc: aio.Rpc, metrics: Metrics, patience: float | None, call: Callable[[], Values]
    ) -> None:
        """Calls a method and replies with its first value."""
        cursor, stream = secrets.randbits(63), _Stream(metrics, patience, call)
        self._open[cursor] = stream
        metrics.active += 1
        await self._send_next(rpc, cursor, stream)

    async def go_on(self, rpc: aio.Rpc, cursor: int) -> None:
        """Replies with a stream's next value."""
        stream = self._open.get(cursor)
        if stream is None:
            raise LookupError("the stream has ended, or was not read for too long")
        if stream.idle_since == math.inf:
            raise RuntimeError("an earlier request waits for the stream's next value")
        await self._send_next(rpc, cursor, stream)

    async def _send_next(self, rpc: aio.Rpc, cursor: int, stream: _Stream) -> None:
        """Replies with the next value. Whatever keeps it from the client ends the stream."""
        stream.idle_since, begin = math.inf, time.perf_counter()
        stream.metrics.request_bytes += len(rpc.data)
        try:
            part = await self._next_of(stream)
            if cursor not in self._open:
                raise LookupError("the stream was closed meanwhile")
            reply = pack_reply(END, b"") if part is None else pack_reply(PART, part, cursor)
            await rpc.reply(reply)
        except BaseException as error:
            stream.seconds += time.perf_counter() - begin
            await self._end(cursor, stream, error)
            raise
        stream.seconds += time.perf_counter() - begin
        stream.metrics.reply_bytes += len(reply)
        stream.idle_since = time.monotonic()
        if part is None:
            await self._end(cursor, stream)
        elif rpc.cancelled:
            await self.leave(cursor)

    async def _next_of(self, stream: _Stream) -> bytes | None:
        """A stream's next value, packed; None at its end."""
        if stream.values is None:
            if len(self._open) > STREAMS_MAX:
                raise RuntimeError(f"service {self._name} has {STREAMS_MAX} streams, the limit")
            stream.values = stream.call()
        set_deadline(stream.patience)
        try:
            value = await within(stream.patience, anext(stream.values))
        except StopAsyncIteration:
            return None
        return pack(self._codec, value)

    async def leave(self, cursor: int) -> None:
        """Ends a stream that its client does not read to its end."""
        if (stream := self._open.get(cursor)) is not None:
            await self._end(cursor, stream, asyncio.CancelledError())

    async def leave_all(self) -> None:
        """Ends all streams."""
        for cursor in list(self._open):
            await self.leave(cursor)

    async def _end(self, cursor: int, stream: _Stream, error: BaseException | None = None) -> None:
        """Forgets a stream, once, and lets its method end."""
        if self._open.pop(cursor, None) is not None:
            given_up = isinstance(error, asyncio.CancelledError | LateError)
            stream.metrics.cancelled += given_up
            stream.metrics.errors += error is not None and not given_up
            count_end(stream.metrics, stream.seconds)
        if stream.values is not None:
            with contextlib.suppress(Exception):  # Such as that it runs: it is closed after that.
                await stream.values.aclose()

    async def reap(self) -> None:
        """Ends streams that nobody reads any more, for ever."""
        while True:
            await asyncio.sleep(STREAM_IDLE_S / 4)
            before = time.monotonic() - STREAM_IDLE_S
            for cursor in [c for c, s in self._open.items() if s.idle_since < before]:
                await self.leave(cursor)
