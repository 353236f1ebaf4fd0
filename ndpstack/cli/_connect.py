"""How commands get on the network: the arguments that name an interface, a link or a service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack.errors import NdpError

if TYPE_CHECKING:
    import argparse

    from ndpstack import Stack

MEMORY_SERVER = "10.0.0.1"
MEMORY_CLIENT = "10.0.0.2"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds them: exactly one says where."""
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("-i", "--interface", metavar="IF", help="open a stack on this interface")
    where.add_argument("-a", "--attach", metavar="SERVICE", help="attach to a host service")
    where.add_argument(
        "-m",
        "--memory",
        metavar="NAME",
        help=f"a link in memory: `serve` is {MEMORY_SERVER}, the other end {MEMORY_CLIENT}",
    )
    parser.add_argument("--backend", choices=["xdp", "packet"], default="xdp")
    parser.add_argument("--address", help="own IP address; by default the interface's")
    parser.add_argument("--netns", help="network namespace of the interface")


def open_stack(arguments: argparse.Namespace, *, server: bool) -> Stack:
    """The stack that the arguments ask for.

    Raises:
        UserError: It cannot be opened.
    """
    from ndpstack import Stack, StackConfig

    try:
        if arguments.attach is not None:
            return Stack.attach(arguments.attach)
        if arguments.memory is not None:
            return Stack(
                StackConfig(
                    name=arguments.memory,
                    backend="memory",
                    address=MEMORY_SERVER if server else MEMORY_CLIENT,
                    listen=server,
                )
            )
        return Stack(
            StackConfig(
                name=arguments.interface,
                backend=arguments.backend,
                address=arguments.address,
                netns=arguments.netns,
            )
        )
    except (NdpError, ValueError) as error:
        raise UserError(str(error)) from error
