"""`ndpstack ping`: round trips to a host, through both ends' whole stack."""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack.cli import _connect
from ndpstack.cli._exit import Exit
from ndpstack.cli._numbers import count, pause, seconds, server_port, size
from ndpstack.errors import NdpError, Refused

if TYPE_CHECKING:
    import argparse

    from ndpstack import HomaSocket, Peer

PORT = 9
"""Nobody serves it: the host's core itself refuses, which takes a round trip."""

PORT_HELP = f"Homa port; by default {PORT}, which nobody serves: the host's core answers itself"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    _connect.add_arguments(parser)
    parser.add_argument("-c", "--count", type=count, default=5, help="requests, by default 5")
    parser.add_argument("--interval", type=pause, default=0.2, help="seconds between two")
    parser.add_argument("-s", "--size", type=size, default=64, help="bytes of a request")
    parser.add_argument(
        "-t", "--timeout", type=seconds, default=1.0, help="seconds to wait for each"
    )
    parser.add_argument("-p", "--port", type=server_port, default=PORT, help=PORT_HELP)
    parser.add_argument("host", help="IP address")


def execute(arguments: argparse.Namespace) -> int:
    """Pings; fails when nothing came back."""
    from ndpstack import HomaSocket

    times: list[float] = []
    with _connect.open_stack(arguments, server=False) as stack, HomaSocket(stack) as socket:
        try:
            peer = stack.peer(arguments.host)
        except (NdpError, ValueError) as error:
            raise UserError(str(error)) from error
        if arguments.size > stack.message_bytes_max:
            raise UserError(
                f"--size {arguments.size}: messages have at most {stack.message_bytes_max} bytes"
            )
        for number in range(arguments.count):
            if number:
                time.sleep(arguments.interval)
            took = _once(socket, peer, arguments)
            if took is not None:
                times.append(took)
            if not arguments.json:
                _print_one(arguments, number, took)
    _summarise(arguments, times)
    return Exit.OK if times else Exit.FAILED


def _once(socket: HomaSocket, peer: Peer, arguments: argparse.Namespace) -> float | None:
    """Seconds of one round trip, or None when there was none; stderr says why."""
    begin = time.perf_counter()
    try:
        socket.request((peer, arguments.port), bytes(arguments.size), timeout=arguments.timeout)
    except Refused:
        pass
    except NdpError as error:
        print(f"ndpstack: {error}", file=sys.stderr)
        return None
    return time.perf_counter() - begin


def _print_one(arguments: argparse.Namespace, number: int, took: float | None) -> None:
    if took is not None:
        micros = took * 1e6
        print(f"{arguments.size} bytes to {arguments.host}: number {number + 1}, {micros:.1f} us")


def _summarise(arguments: argparse.Namespace, times: list[float]) -> None:
    summary = {
        "schema_version": 1,
        "host": arguments.host,
        "sent": arguments.count,
        "answered": len(times),
        "min_us": min(times) * 1e6 if times else None,
        "median_us": statistics.median(times) * 1e6 if times else None,
        "max_us": max(times) * 1e6 if times else None,
    }
    if arguments.json:
        print(json.dumps(summary))
    elif times:
        print(
            f"{len(times)} of {arguments.count} answered; min {min(times) * 1e6:.1f} us, "
            f"median {statistics.median(times) * 1e6:.1f} us, max {max(times) * 1e6:.1f} us"
        )
    else:
        print(f"0 of {arguments.count} answered")
