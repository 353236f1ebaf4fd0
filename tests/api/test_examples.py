"""The example programs print what the how-to pages say."""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING, Literal

import pytest
from example import EXAMPLES, PAGES, PROTOCOLS, printed, shown

import ndpstack

if TYPE_CHECKING:
    from pathlib import Path

by_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)


def test_every_example_has_a_page() -> None:
    assert {path.name for path in EXAMPLES} == set(PAGES) == set(PROTOCOLS)


def test_no_example_hides_a_module_of_python() -> None:
    """As one would, from other programs and type checkers that are run beside it."""
    assert not {path.stem for path in EXAMPLES} & sys.stdlib_module_names


@by_example
def test_examples_print_what_their_page_says(path: Path) -> None:
    """T9: as they are, over memory."""
    assert printed(path) == shown(path)


@by_example
def test_examples_over_udp(path: Path) -> None:
    """T9: over UDP sockets, on a port that nobody has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.2", 0))
        port = probe.getsockname()[1]
    configs = [
        {
            "name": f"{address}:{port}",
            "backend": "udp",
            "address": address,
            "protocols": [PROTOCOLS[path.name]],
        }
        for address in ("127.0.0.2", "127.0.0.3")
    ]
    assert printed(path, configs) == shown(path)


@pytest.mark.parametrize(("port", "protocol"), [(4797, "homa"), (4798, "ndp")])
def test_either_protocol_may_have_the_others_port(
    port: int, protocol: Literal["ndp", "homa"]
) -> None:
    config = ndpstack.StackConfig(
        name=f"127.0.0.2:{port}", backend="udp", address="127.0.0.2", protocols=(protocol,)
    )
    with ndpstack.Stack(config) as stack:
        assert stack.port_state().mode == "udp"


def test_a_udp_port_carries_one_protocol() -> None:
    """Homa's packets would leave for another port than the peer's socket has, and be lost."""
    config = ndpstack.StackConfig(name="127.0.0.2:4797", backend="udp", address="127.0.0.2")
    with pytest.raises(ValueError, match=r"udp carries one protocol on a port: give protocols="):
        ndpstack.Stack(config)


def test_over_udp_the_kernel_checks_what_homa_would() -> None:
    """Homa's own checksum is 0: not filled in."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.3", 0))
        port = server.getsockname()[1]
        server.settimeout(30)
        config = ndpstack.StackConfig(
            name=f"127.0.0.2:{port}", backend="udp", address="127.0.0.2", protocols=("homa",)
        )
        with ndpstack.Stack(config) as stack, ndpstack.HomaSocket(stack) as client:
            call = client.start(("127.0.0.3", 4000), b"unchecked")
            packet = server.recv(2048)
            call.cancel()
    assert packet.endswith(b"unchecked")
    assert packet[16:18] == bytes(2)
