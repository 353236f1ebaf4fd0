"""`ndpstack call`: one remote call, for a first try and for scripts."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack.cli import _connect
from ndpstack.cli._exit import Exit
from ndpstack.cli._serve import PORT
from ndpstack.errors import NdpError

if TYPE_CHECKING:
    import argparse

    from ndpstack import Stack


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    _connect.add_arguments(parser)
    parser.add_argument("-p", "--port", type=int, default=PORT, help=f"by default {PORT}")
    parser.add_argument("-t", "--timeout", type=float, default=5.0, help="seconds, by default 5")
    parser.add_argument(
        "--stream", action="store_true", help="print a stream's values as they come"
    )
    parser.add_argument("host", help="IP address of the server")
    parser.add_argument("method")
    parser.add_argument("value", nargs="*", help="arguments: JSON, or else text")


def value_of(text: str) -> object:
    """An argument: JSON if it is any, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def execute(arguments: argparse.Namespace) -> int:
    """Calls, and prints the value as JSON."""
    from ndpstack.rpc import RemoteError

    with _connect.open_stack(arguments, server=False) as stack:
        try:
            asyncio.run(_call(stack, arguments))
        except RemoteError as error:
            print(f"ndpstack: the method raised {error.kind}: {error.text}", file=sys.stderr)
            return Exit.FAILED
        except (NdpError, ValueError) as error:
            raise UserError(str(error)) from error
    return Exit.OK


async def _call(stack: Stack, arguments: argparse.Namespace) -> None:
    from ndpstack.rpc import Client

    values = [value_of(text) for text in arguments.value]
    async with Client(stack, [(arguments.host, arguments.port)]) as client:
        if arguments.stream:
            async for value in client.stream(arguments.method, *values):
                print(_text(value), flush=True)
            return
        value = await client.call(arguments.method, *values, timeout=arguments.timeout)
        print(_text(value))


def _text(value: object) -> str:
    return json.dumps(value, default=lambda raw: bytes(raw).hex())
