"""What the daemon needs of a data path: switches, their ports, what they count.

The real one is in _real.py; tests use one in memory. All calls may come from any thread. Those
that open ports may take seconds; no call delays packets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from ndpstack._errors import UserError

if TYPE_CHECKING:
    from ndpstack.switch import Address, Depth, Heartbeat, PortConfig
    from switchd.plan import BasePlan, Forwarding

LinkState = Literal["up", "down", "gone", "changed", "stuck"]
Direction = Literal["rx", "tx", "both"]

Counters = Mapping[str, Mapping[str, int]]
"""Group -> name -> value; groups and names are those of the core's tables."""

PORT_GROUPS = ("port", "queue", "phantom", "faults")
"""Counter groups that each port has."""
SWITCH_GROUPS = ("switch", "wire", "fdb")
"""Counter groups that each switch has."""


class DataPlaneError(UserError):
    """The data path cannot do it; the text says why and what to do."""


@dataclass(frozen=True)
class PortReading:
    """A port at a moment."""

    state: LinkState
    """Of the link; the last three mean that it has to be opened again."""
    reason: str
    """Why it is not up, or what is not as asked for."""
    mode: str
    """How its frames come and go: "xdp native copy", "packet" ..."""
    mac: str
    mtu: int
    counters: Counters
    depths: Mapping[str, Depth]
    """What each class of its queue holds."""
    phantom_bytes: int = 0
    """Level of its phantom queue."""


@dataclass(frozen=True)
class SwitchReading:
    """A switch at a moment."""

    counters: Counters
    ports: Mapping[str, PortReading]
    buffers_used: int = 0
    """Packet buffers in use."""


class Tap(Protocol):
    """Mirrored frames of some ports, as pcapng."""

    def header(self) -> bytes:
        """The beginning of a capture file."""

    def read(self, limit: int | None = None) -> bytes:
        """Blocks with frames since the last call, some 100 KB at most; never waits.

        Those that have no room in the limit wait for the next call.
        """

    def dropped(self) -> int:
        """Frames that were lost because they were not read in time."""

    def close(self) -> None:
        """Stops mirroring."""


class SwitchHandle(Protocol):
    """A switch of the data path."""

    @property
    def events_fd(self) -> int:
        """Polls readable after a port's state changed; eight bytes are to be read then."""

    def add_port(self, plan: PortConfig) -> None:
        """Opens a port and adds it, or raises DataPlaneError and leaves all as it was."""

    def remove_port(self, name: str) -> None:
        """Closes a port; what it has queued is dropped and counted."""

    def set_port(self, plan: PortConfig) -> None:
        """Gives a port another plan with the same opening; socket and counters stay."""

    def reopen_port(self, plan: PortConfig) -> None:
        """Closes a port's device and opens the plan's; its place, queue and counters stay.

        When it fails the port stays closed, and this may be called again.
        """

    def set_forwarding(self, forwarding: Forwarding) -> None:
        """Replaces groups, configured addresses and routes."""

    def set_link(self, name: str, *, up: bool) -> None:
        """Takes a port out of forwarding, or back in."""

    def read(self) -> SwitchReading:
        """Counters, depths and states as of now."""

    def addresses(self) -> Sequence[Address]:
        """The forwarding database."""

    def clear_watermarks(self) -> None:
        """The greatest depths are those of now."""

    def audit(self) -> str | None:
        """What breaks conservation, or None."""

    def tap(self, ports: Sequence[str], direction: Direction, snaplen: int) -> Tap:
        """Begins to mirror frames of the ports."""


class DataPlane(Protocol):
    """All switches and the thread that runs them."""

    def add_switch(self, base: BasePlan) -> SwitchHandle:
        """Makes a switch without ports, or raises DataPlaneError."""

    def remove_switch(self, name: str) -> None:
        """Closes a switch and its ports."""

    def heartbeat(self) -> Heartbeat:
        """What the thread has done."""

    def texts(self) -> Mapping[str, Mapping[str, str]]:
        """What each counter means: group -> name -> sentence."""

    def close(self) -> None:
        """Stops the thread and closes all switches."""
