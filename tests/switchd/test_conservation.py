"""Nothing is lost without a reason: what came in is sent, dropped for a reason, or queued."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from memory_host import MemoryHost, frame, mac
from memory_switch import Fabric
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether

from ndpstack.contrib.scapy import NDP, Homa, HomaData

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from switchd.dataplane import SwitchHandle

PROFILES = ("ndp", "homa", "pfabric", "ecn", "droptail", "mixed")
LOOKS = 200

# Refused before they count as accepted.
AT_THE_DOOR = ("dropped_no_buffer", "dropped_oversize", "dropped_disabled")


def mix() -> list[bytes]:
    """A frame of each kind to h2: trimmable, control, by priority, the kernel's, to everybody."""
    udp = UDP(sport=49152, chksum=0)
    ip, trimmable, control = (
        Ether(src=mac(1), dst=mac(2)) / IP(src="10.0.0.1", dst="10.0.0.2", tos=dscp << 2)
        for dscp in (0, 11, 46)
    )
    return [
        bytes(trimmable / udp / NDP(type="DATA", message_bytes=1000) / bytes(1000)),
        bytes(control / udp / NDP(type="PULL", pull=1)),
        bytes(ip / Homa() / HomaData(message_bytes=1000) / bytes(1000)),
        bytes(ip / TCP(sport=1, dport=2) / bytes(1000)),
        frame(1, 2, bytes(1000)),
        frame(1, 255, bytes(1000)),
    ]


def check(switch: SwitchHandle) -> Mapping[str, int]:
    """One look at counters that belong together."""
    reading = switch.read()
    counters = reading.counters["switch"]
    dropped = sum(value for name, value in counters.items() if name.startswith("dropped_"))
    inside = dropped - sum(counters[name] for name in AT_THE_DOOR)
    taken = counters["accepted"] + counters["replicated"]
    assert taken == counters["sent"] + inside + reading.buffers_used, counters
    assert switch.audit() is None
    return counters


@contextmanager
def flood(source: MemoryHost, frames: list[bytes]) -> Iterator[None]:
    """Sends the frames over and over, as fast as the switch takes them."""
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            for data in frames:
                source.send(data)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(20)
        assert not thread.is_alive()


@pytest.mark.parametrize("profile", PROFILES)
def test_conservation_holds_at_any_moment(profile: str, tmp_path: Path) -> None:
    """Rx = tx, trimmed ones too, + every drop reason + queued, while a slow link drops most."""
    slow = f'rate = "10Mbit"\nprofile = "{profile}"'
    if profile != "mixed":  # Whose two queues have limits of their own.
        slow += '\nbuffers = "8pkt"'
    with Fabric(tmp_path, {"h2": slow}) as fabric, flood(fabric.hosts["h1"], mix()):
        switch = fabric.daemon.daemon.manager.live["s"].handle
        for _ in range(LOOKS):
            check(switch)
            fabric.hosts["h2"].receive()
        assert check(switch)["dropped_queue"] > 0
        queues = (port.counters["queue"] for port in switch.read().ports.values())
        trimmed = sum(queue["trimmed_packets"] for queue in queues)
        assert (trimmed > 0) == (profile in ("ndp", "mixed"))
