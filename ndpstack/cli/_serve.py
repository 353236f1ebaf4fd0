"""`ndpstack serve`: a server to try things against."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack.cli import _connect
from ndpstack.cli._exit import Exit
from ndpstack.cli._numbers import server_port
from ndpstack.errors import NdpError

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator

    from ndpstack import Stack
    from ndpstack.rpc import Service

PORT = 4000


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    _connect.add_arguments(parser)
    parser.add_argument("-p", "--port", type=server_port, default=PORT, help=f"by default {PORT}")


def execute(arguments: argparse.Namespace) -> int:
    """Serves until it is told to stop, and says what was called."""
    with _connect.open_stack(arguments, server=True) as stack:
        service = make_service()
        try:
            asyncio.run(_serve(stack, service, arguments))
        except NdpError as error:
            raise UserError(str(error)) from error
        _summarise(service, as_json=arguments.json)
    return Exit.OK


def make_service() -> Service:
    """Methods that show what calls can do."""
    from ndpstack.rpc import Service

    service = Service("try")

    @service.method
    async def echo(value: object) -> object:
        return value

    @service.method
    async def add(*numbers: float) -> float:
        return sum(numbers)

    @service.method
    async def sleep(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    @service.method
    async def clock() -> float:
        return time.time()

    @service.method
    async def count(to: int) -> AsyncIterator[int]:
        for number in range(to):
            yield number

    return service


async def _serve(stack: Stack, service: Service, arguments: argparse.Namespace) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with service.serving(stack, arguments.port):
        if not arguments.json:
            methods = ", ".join(service.metrics)
            print(f"serving {methods} at {stack.address}:{arguments.port}", flush=True)
        await stop.wait()


def _summarise(service: Service, *, as_json: bool) -> None:
    called = {name: each for name, each in service.metrics.items() if each.calls}
    if as_json:
        methods = {name: vars(each) for name, each in called.items()}
        print(json.dumps({"schema_version": 1, "methods": methods}))
        return
    for name, each in called.items():
        print(
            f"{name}: {each.calls} calls, {each.errors} errors, {each.seconds_max * 1e3:.3f} ms max"
        )
