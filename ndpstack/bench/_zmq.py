"""pyzmq over TCP, blocking and on asyncio."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import zmq
import zmq.asyncio

from ndpstack.bench._loops import HEAD, ask_at_once, run_loop
from ndpstack.bench._turn import Sample, Turn, ask_in_turn

if TYPE_CHECKING:
    from collections.abc import Callable

REPLY_MS = 10_000


class Blocking:
    """REQ and REP sockets."""

    def serve(self, turn: Turn, ready: Callable[[int], None]) -> None:
        """Answers requests."""
        reply = turn.reply
        with zmq.Context() as context, context.socket(zmq.REP) as server:
            ready(server.bind_to_random_port(f"tcp://{turn.kernel}"))
            while True:
                server.recv(copy=False)
                server.send(reply)

    def measure(self, turn: Turn) -> Sample:
        """Requests, one after the other."""
        request = turn.request
        with zmq.Context() as context, context.socket(zmq.REQ) as client:
            client.linger = 0
            client.rcvtimeo = REPLY_MS
            client.connect(f"tcp://{turn.kernel}:{turn.port}")

            def ask() -> None:
                client.send(request, copy=False)
                client.recv()

            return ask_in_turn(turn, ask)


class Awaited:
    """DEALER and ROUTER sockets on an event loop; messages carry a number."""

    def serve(self, turn: Turn, ready: Callable[[int], None]) -> None:
        """Answers requests."""
        run_loop(self._serve(turn, ready))

    async def _serve(self, turn: Turn, ready: Callable[[int], None]) -> None:
        reply = turn.reply
        with zmq.asyncio.Context() as context, context.socket(zmq.ROUTER) as server:
            ready(server.bind_to_random_port(f"tcp://{turn.kernel}"))
            while True:
                client, number, _ = await server.recv_multipart()
                await server.send_multipart([client, number, reply])

    def measure(self, turn: Turn) -> Sample:
        """Requests."""
        return run_loop(self._measure(turn))

    async def _measure(self, turn: Turn) -> Sample:
        loop = asyncio.get_running_loop()
        waiting: dict[bytes, asyncio.Future[bytes]] = {}
        numbers = iter(range(1 << 31))
        request = turn.request
        with zmq.asyncio.Context() as context, context.socket(zmq.DEALER) as client:
            client.linger = 0
            client.connect(f"tcp://{turn.kernel}:{turn.port}")

            async def read() -> None:
                while True:
                    number, data = await client.recv_multipart()
                    waiting.pop(number).set_result(data)

            async def ask() -> None:
                number = HEAD.pack(next(numbers), 0)
                answer = waiting[number] = loop.create_future()
                await client.send_multipart([number, request])
                await answer

            reading = asyncio.create_task(read())
            try:
                return await ask_at_once(turn, ask)
            finally:
                reading.cancel()
