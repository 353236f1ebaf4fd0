"""Contestants on an event loop: uvloop where it is there, else asyncio's own."""

from __future__ import annotations

import asyncio
import struct
import time
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar, cast

from ndpstack.bench._blocking import OUR_PORT, open_stack
from ndpstack.bench._turn import WARM_UP_SECONDS, Sample, Turn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

T = TypeVar("T")

REPLY_SECONDS = 10.0

HEAD = struct.Struct("!II")
"""Of a message on a stream: a request's number, and the bytes that follow."""


def run_loop(work: Coroutine[object, object, T]) -> T:
    """Runs it on the fastest loop there is."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)
    return uvloop.run(work)


async def ask_at_once(turn: Turn, ask: Callable[[], Awaitable[object]], mode: str = "") -> Sample:
    """Keeps as many requests outstanding as the turn says, and times each."""
    latencies: list[float] = []
    left = 0
    now = time.perf_counter

    async def worker() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            before = now()
            await ask()
            latencies.append((now() - before) * 1e6)

    async def all_of(count: int) -> float:
        nonlocal left
        left = count
        latencies.clear()
        began = now()
        await asyncio.gather(*(worker() for _ in range(turn.outstanding)))
        return now() - began

    warm = now() + WARM_UP_SECONDS
    await all_of(turn.warm_up)
    while now() < warm:
        await all_of(turn.outstanding)
    seconds = await all_of(turn.count)
    return Sample(seconds, latencies, mode)


class Homa:
    """A Homa RPC by an awaited socket."""

    def serve(self, turn: Turn, ready: Callable[[int], None]) -> None:
        """Answers requests."""
        run_loop(self._serve(turn, ready))

    async def _serve(self, turn: Turn, ready: Callable[[int], None]) -> None:
        from ndpstack import aio

        reply = turn.reply
        with open_stack(turn, server=True) as stack:
            async with aio.HomaSocket(stack) as server:
                await server.bind(OUR_PORT)
                ready(OUR_PORT)
                async for rpc in server:
                    await rpc.reply(reply)

    def measure(self, turn: Turn) -> Sample:
        """Requests."""
        return run_loop(self._measure(turn))

    async def _measure(self, turn: Turn) -> Sample:
        from ndpstack import aio

        request = turn.request
        with open_stack(turn, server=False) as stack:
            target = (stack.peer(turn.server), turn.port)
            async with aio.HomaSocket(stack) as client:
                mode = stack.port_state().mode

                async def ask() -> None:
                    await client.request(target, request, timeout=REPLY_SECONDS)

                return await ask_at_once(turn, ask, mode)


class Rpc:
    """A method called by name: `ndpstack.rpc`, arguments packed by msgpack."""

    def serve(self, turn: Turn, ready: Callable[[int], None]) -> None:
        """Serves the method."""
        run_loop(self._serve(turn, ready))

    async def _serve(self, turn: Turn, ready: Callable[[int], None]) -> None:
        from ndpstack.rpc import Service

        service, reply = Service("bench"), turn.reply

        @service.method
        async def echo(_data: bytes) -> bytes:
            return reply

        with open_stack(turn, server=True) as stack:
            async with service.serving(stack, OUR_PORT):
                ready(OUR_PORT)
                await asyncio.Event().wait()

    def measure(self, turn: Turn) -> Sample:
        """Calls it."""
        return run_loop(self._measure(turn))

    async def _measure(self, turn: Turn) -> Sample:
        from ndpstack.rpc import Client

        request = turn.request
        with open_stack(turn, server=False) as stack:
            async with Client(stack, [(turn.server, turn.port)]) as client:
                mode = stack.port_state().mode

                async def ask() -> None:
                    await client.call("echo", request, timeout=REPLY_SECONDS)

                return await ask_at_once(turn, ask, mode)


class _Answering(asyncio.DatagramProtocol):
    """Answers each datagram."""

    def __init__(self, reply: bytes) -> None:
        self._reply = reply
        self._transport: asyncio.DatagramTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: object) -> None:  # noqa: ARG002
        self._transport.sendto(self._reply, cast("tuple[str, int]", addr))


class _Asking(asyncio.DatagramProtocol):
    """Waits for one answer at a time."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[bytes] | None = None

    def datagram_received(self, data: bytes, addr: object) -> None:  # noqa: ARG002
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(data)


class Udp:
    """Datagrams on the loop, one outstanding."""

    def serve(self, turn: Turn, ready: Callable[[int], None]) -> None:
        """Answers datagrams."""
        run_loop(self._serve(turn, ready))

    async def _serve(self, turn: Turn, ready: Callable[[int], None]) -> None:
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: _Answering(turn.reply), (turn.kernel, 0)
        )
        ready(transport.get_extra_info("sockname")[1])
        await asyncio.Event().wait()

    def measure(self, turn: Turn) -> Sample:
        """Sends one, waits for its answer."""
        return run_loop(self._measure(turn))

    async def _measure(self, turn: Turn) -> Sample:
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.create_datagram_endpoint(
            _Asking, remote_addr=(turn.kernel, turn.port)
        )
        request = turn.request

        async def ask() -> None:
            protocol.answer = loop.create_future()
            transport.sendto(request)
            async with asyncio.timeout(REPLY_SECONDS):
                await protocol.answer

        try:
            return await ask_at_once(turn, ask)
        finally:
            transport.close()


class _Messages(asyncio.Protocol):
    """Cuts a stream into messages: a head and so many bytes."""

    def __init__(self, got: Callable[[_Messages, int, memoryview], None]) -> None:
        self._got = got
        self._buffer = bytearray()
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def send(self, number: int, data: bytes) -> None:
        """Sends a message."""
        self._transport.write(HEAD.pack(number, len(data)) + data)

    def close(self) -> None:
        """Closes the connection."""
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        buffer, at = self._buffer, 0
        buffer += data
        while len(buffer) - at >= HEAD.size:
            number, size = HEAD.unpack_from(buffer, at)
            end = at + HEAD.size + size
            if len(buffer) < end:
                break
            with memoryview(buffer) as view, view[at + HEAD.size : end] as body:
                self._got(self, number, body)
            at = end
        del buffer[:at]


class Tcp:
    """One connection on the loop; messages carry a number, replies come in any order."""

    def serve(self, turn: Turn, ready: Callable[[int], None]) -> None:
        """Answers messages."""
        run_loop(self._serve(turn, ready))

    async def _serve(self, turn: Turn, ready: Callable[[int], None]) -> None:
        reply = turn.reply
        server = await asyncio.get_running_loop().create_server(
            lambda: _Messages(lambda link, number, _data: link.send(number, reply)), turn.kernel, 0
        )
        ready(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    def measure(self, turn: Turn) -> Sample:
        """Sends messages, waits for the answers of each."""
        return run_loop(self._measure(turn))

    async def _measure(self, turn: Turn) -> Sample:
        loop = asyncio.get_running_loop()
        waiting: dict[int, asyncio.Future[bytes]] = {}
        numbers = iter(range(1 << 31))

        def got(_link: _Messages, number: int, data: memoryview) -> None:
            with suppress(KeyError):
                waiting.pop(number).set_result(bytes(data))

        _, link = await loop.create_connection(lambda: _Messages(got), turn.kernel, turn.port)
        request = turn.request

        async def ask() -> None:
            number = next(numbers)
            answer = waiting[number] = loop.create_future()
            link.send(number, request)
            await answer

        try:
            return await ask_at_once(turn, ask)
        finally:
            link.close()
