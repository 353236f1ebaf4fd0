"""What is measured, and who takes part."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ndpstack.bench._turn import Contestant


class Entry(NamedTuple):
    """A contestant that is not imported yet."""

    title: str
    place: str
    """Its module and class."""
    needs: str = ""
    """The package that it takes, where that is not ours."""
    module: str = ""
    """How that is imported."""

    def load(self) -> Contestant:
        """The contestant itself."""
        module, name = self.place.split(":")
        made = getattr(import_module(f"ndpstack.bench.{module}"), name)()
        return cast("Contestant", made)

    @property
    def missing(self) -> bool:
        """Its package is not installed."""
        return bool(self.module) and find_spec(self.module) is None


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of measurement."""

    summary: str
    ours: Mapping[str, Entry]
    peers: Mapping[str, Entry]
    request_bytes: int
    reply_bytes: int | None
    """None: as many as the request."""
    count: int
    """Requests of a round."""
    outstanding: int = 1

    def entry(self, name: str) -> Entry:
        """A contestant by name."""
        return self.ours[name] if name in self.ours else self.peers[name]

    def choose(self, against: Sequence[str] | None) -> tuple[list[str], list[str]]:
        """Names of those that take part, and what is to be said of those that cannot.

        Args:
            against: Peers of this kind that were asked for; None: all that are installed.
        """
        wanted = list(self.peers) if against is None else list(against)
        missing = [name for name in wanted if self.peers[name].missing]
        notes = [
            f"{name} is left out: pip install {self.peers[name].needs}, or 'ndpstack[bench]'"
            for name in missing
        ]
        return [*self.ours, *(name for name in wanted if name not in missing)], notes


INCAST_SUMMARY: Final = "Requests of 100 B beside 32 senders of 100 KB to the same host"
INCAST_PEERS: Final = ("tcp",)
_IS_TCP: Final = "its messages are streams of the kernel's TCP, which tcp is"
NOT_BESIDE_INCAST: Final = {
    "udp": "nothing sends again what the switch drops, and most of an incast is dropped",
    "uvloop": _IS_TCP,
    "zmq": _IS_TCP,
    "grpc": _IS_TCP,
}
"""Peers of other kinds, and why they are no peers there."""

_GRPC = Entry("gRPC, grpc.aio", "_grpc:Awaited", "grpcio", "grpc")
_ZMQ = Entry("pyzmq, REQ and REP", "_zmq:Blocking", "pyzmq", "zmq")
_UVLOOP_TCP = Entry("TCP on uvloop", "_loops:Tcp", "uvloop", "uvloop")

KINDS: Final[Mapping[str, Kind]] = {
    "latency": Kind(
        summary="Round trips of small messages, one at a time",
        ours={
            "homa": Entry("Homa, blocking", "_blocking:Homa"),
            "ndp": Entry("NDP, blocking", "_blocking:Ndp"),
            "homa-aio": Entry("Homa, awaited", "_loops:Homa"),
        },
        peers={
            "udp": Entry("UDP, blocking", "_blocking:Udp"),
            "tcp": Entry("TCP, blocking", "_blocking:Tcp"),
            "uvloop": Entry("UDP on uvloop", "_loops:Udp", "uvloop", "uvloop"),
            "zmq": _ZMQ,
            "grpc": _GRPC,
        },
        request_bytes=64,
        reply_bytes=None,
        count=2000,
    ),
    "throughput": Kind(
        summary="Large messages one way, each confirmed by a byte, one at a time",
        ours={
            "homa": Entry("Homa, blocking", "_blocking:Homa"),
            "ndp": Entry("NDP, blocking", "_blocking:Ndp"),
            "homa-udp": Entry("Homa over UDP sockets", "_blocking:HomaInUdp"),
        },
        peers={
            "tcp": Entry("TCP, blocking", "_blocking:Tcp"),
            "uvloop": _UVLOOP_TCP,
            "zmq": _ZMQ,
            "grpc": _GRPC,
        },
        request_bytes=1_000_000,
        reply_bytes=1,
        count=100,
    ),
    "rpc": Kind(
        summary="Requests a second with many outstanding, on an event loop",
        ours={
            "homa-aio": Entry("Homa, awaited", "_loops:Homa"),
            "rpc": Entry("ndpstack.rpc", "_loops:Rpc"),
        },
        peers={
            "uvloop": _UVLOOP_TCP,
            "zmq": Entry("pyzmq on uvloop", "_zmq:Awaited", "pyzmq", "zmq"),
            "grpc": _GRPC,
        },
        request_bytes=100,
        reply_bytes=None,
        count=4000,
        outstanding=32,
    ),
}
