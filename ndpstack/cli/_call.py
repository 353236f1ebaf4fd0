"""`ndpstack call`: one remote call, for a first try and for scripts."""

from __future__ import annotations

import asyncio
import json
import math
import sys
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack._json import refuse_constant
from ndpstack.cli import _connect
from ndpstack.cli._exit import Exit
from ndpstack.cli._numbers import seconds, server_port
from ndpstack.cli._serve import PORT
from ndpstack.cli._service import printable
from ndpstack.errors import NdpError

if TYPE_CHECKING:
    import argparse

    from ndpstack import Stack


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    _connect.add_arguments(parser)
    parser.add_argument("-p", "--port", type=server_port, default=PORT, help=f"by default {PORT}")
    parser.add_argument(
        "-t", "--timeout", type=seconds, default=5.0,
        help="seconds to wait for the value, or for each of a stream; by default 5",
    )  # fmt: skip
    parser.add_argument(
        "--stream", action="store_true", help="print a stream's values as they come"
    )
    parser.add_argument("host", help="IP address of the server")
    parser.add_argument("method")
    parser.add_argument("value", nargs="*", help="arguments: JSON, or else text")


def value_of(text: str) -> object:
    """An argument: JSON if it is any, else the text itself."""
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        return text


def execute(arguments: argparse.Namespace) -> int:
    """Calls, and prints the value as JSON."""
    from ndpstack.rpc import RemoteError

    with _connect.open_stack(arguments, server=False) as stack:
        try:
            asyncio.run(_call(stack, arguments))
        except RemoteError as error:
            said = f"{printable(error.kind)}: {printable(error.text)}"
            print(f"ndpstack: the method raised {said}", file=sys.stderr)
            return Exit.FAILED
        except OverflowError:
            raise UserError(
                "an integer among the arguments has more than 64 bits; in quotes it is text"
            ) from None
        except (NdpError, ValueError) as error:
            raise UserError(str(error)) from error
    return Exit.OK


async def _call(stack: Stack, arguments: argparse.Namespace) -> None:
    from ndpstack.rpc import Client

    values = [value_of(text) for text in arguments.value]
    async with Client(stack, [(arguments.host, arguments.port)]) as client:
        if arguments.stream:
            stream = client.stream(arguments.method, *values, timeout=arguments.timeout)
            async for value in stream:
                print(_text(value), flush=True)
            return
        value = await client.call(arguments.method, *values, timeout=arguments.timeout)
        print(_text(value))


def _text(value: object) -> str:
    try:
        return json.dumps(_plain(value), allow_nan=False)
    except RecursionError:
        raise ValueError("the value is nested too deeply to be printed as JSON") from None


def _plain(value: object) -> object:
    """A value as JSON has it: bytes as hex, and as text what it has no number or type for."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {_key(key): _plain(each) for key, each in value.items()}
    return value if _is_json(value) else str(value)


def _key(key: object) -> object:
    if isinstance(key, bytes):
        return key.hex()
    return key if _is_json(key) else str(key)


def _is_json(value: object) -> bool:
    return isinstance(value, int | str | None) or (
        isinstance(value, float) and math.isfinite(value)
    )
