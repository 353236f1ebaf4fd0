"""gRPC on asyncio: one unary method that takes and gives bytes, no protocol buffers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import grpc
import grpc.aio

from ndpstack.bench._loops import ask_at_once

if TYPE_CHECKING:
    from collections.abc import Callable

    from ndpstack.bench._turn import Sample, Turn

METHOD = "/bench/Echo"
OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class Awaited:
    """grpc.aio; on asyncio's own loop, which is the one that it supports."""

    def serve(self, turn: Turn, ready: Callable[[int], None]) -> None:
        """Serves the method."""
        asyncio.run(self._serve(turn, ready))

    async def _serve(self, turn: Turn, ready: Callable[[int], None]) -> None:
        reply = turn.reply

        async def echo(_request: bytes, _context: object) -> bytes:
            return reply

        server = grpc.aio.server(options=OPTIONS)
        handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(echo)
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("bench", {"Echo": handler}),)
        )
        port = server.add_insecure_port(f"{turn.kernel}:0")
        await server.start()
        ready(port)
        await server.wait_for_termination()

    def measure(self, turn: Turn) -> Sample:
        """Calls it."""
        return asyncio.run(self._measure(turn))

    async def _measure(self, turn: Turn) -> Sample:
        request = turn.request
        async with grpc.aio.insecure_channel(
            f"{turn.kernel}:{turn.port}", options=OPTIONS
        ) as channel:
            call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(METHOD)

            async def ask() -> None:
                await call(request, timeout=10)

            return await ask_at_once(turn, ask)
