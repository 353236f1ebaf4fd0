"""Mirrors and routes through the facade."""

from __future__ import annotations

import ipaddress
import struct
import time
from typing import TYPE_CHECKING

import pytest
from memory_host import MemoryHost, frame, fresh_opening, mac, until_up

from ndpstack.switch import GroupConfig, PortConfig, Switch, SwitchConfig, SwitchError, queue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ndpstack.switch import Mirror, MirrorFrame


@pytest.fixture
def bed() -> Iterator[tuple[Switch, list[MemoryHost]]]:
    with Switch(SwitchConfig(name="s0", learning=False, routes=16)) as switch:
        hosts = []
        for number in range(3):
            port = PortConfig(
                name=f"p{number}",
                opening=fresh_opening(),
                queue=queue("droptail", limit="64pkt"),
                mac=f"02:00:00:00:aa:{number:02x}",
            )
            switch.add_port(port)
            hosts.append(MemoryHost(port.opening))
        switch.start()
        until_up(switch, "p0", "p1", "p2")
        switch.set_address(mac(1), "p1")
        yield switch, hosts
        assert switch.audit() is None
        for host in hosts:
            host.close()


def collect(mirror: Mirror, count: int) -> list[MirrorFrame]:
    """So many copies, waiting for them."""
    frames: list[MirrorFrame] = []
    deadline = time.monotonic() + 10
    while len(frames) < count:
        frames += mirror.read()
        assert time.monotonic() < deadline, frames
        time.sleep(0.001)
    return frames


def test_a_mirror_tells_what_became_of_each_frame(bed: tuple[Switch, list[MemoryHost]]) -> None:
    switch, hosts = bed
    with switch.mirror(["p0", "p1"], snaplen=64) as mirror:
        hosts[0].send(frame(0, 1, b"a" * 100))
        hosts[1].wait()
        hosts[0].send(frame(0, 9, b"nobody"))
        hosts[0].send(frame(0, 255, b"all"))
        frames = collect(mirror, 5)
    told = [(copy.port, copy.direction, copy.verdict) for copy in frames]
    assert told[0] == ("p0", "rx", "queued")
    assert told[1] == ("p1", "tx", "sent")
    assert told[2] == ("p0", "rx", "dropped: unknown")
    assert ("p0", "rx", "flooded") in told[3:]
    assert ("p1", "tx", "sent") in told[3:]
    assert frames[0].data == frame(0, 1, b"a" * 100)[:64]
    assert frames[0].original_bytes == 114
    assert abs(frames[0].time_ns - time.time_ns()) < 60 * 10**9


def test_a_mirror_that_nobody_reads_loses_copies_and_nothing_else(
    bed: tuple[Switch, list[MemoryHost]],
) -> None:
    switch, hosts = bed
    with switch.mirror(["p0"], "rx", frames=16) as mirror:
        for number in range(100):
            hosts[0].send(frame(0, 1, bytes([number])))
        assert [data[14] for data in hosts[1].drain()] == list(range(100))
        assert mirror.dropped() == 84
        assert len(mirror.read()) == 16


def blocks(data: bytes) -> list[tuple[int, bytes]]:
    """Types and bodies of pcapng blocks."""
    found = []
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert struct.unpack_from("<I", data, at + length - 4)[0] == length
        found.append((kind, data[at + 8 : at + length - 4]))
        at += length
    return found


def test_a_mirror_writes_a_file_that_wireshark_reads(
    bed: tuple[Switch, list[MemoryHost]], tmp_path: Path
) -> None:
    switch, hosts = bed
    path = tmp_path / "m.pcapng"
    with switch.mirror(["p0", "p1"], "rx") as mirror, path.open("wb") as file:
        file.write(mirror.header())
        for number in range(20):
            hosts[0].send(frame(0, 1, bytes([number])))
        hosts[1].drain()
        # What would go beyond the limit waits for the next call.
        assert mirror.write(file, 0) == 0
        assert 0 < mirror.write(file, 500) <= 500
        assert mirror.write(file) > 500
        assert mirror.read_pcapng() == b""
    found = blocks(path.read_bytes())
    assert [kind for kind, _ in found] == [0x0A0D0D0A, 1, 1, *[6] * 20]
    assert b"p0" in found[1][1]
    assert frame(0, 1, bytes([19])) in found[-1][1]
    assert b"queued" in found[-1][1]


def test_a_switch_closes_its_mirrors() -> None:
    with Switch(SwitchConfig(name="s0")) as switch:
        limit = queue("droptail", limit="64pkt")
        switch.add_port(PortConfig(name="p0", opening=fresh_opening(), queue=limit))
        mirror = switch.mirror()
    with pytest.raises(SwitchError, match="the mirror is closed"):
        mirror.read_pcapng()
    mirror.close()


def test_mirrors_are_bounded(bed: tuple[Switch, list[MemoryHost]]) -> None:
    switch, _ = bed
    mirrors = [switch.mirror() for _ in range(8)]
    with pytest.raises(SwitchError, match="all of its 8 mirrors"):
        switch.mirror()
    mirrors.pop().close()
    mirrors.append(switch.mirror())
    for mirror in mirrors:
        mirror.close()
    with pytest.raises(SwitchError, match="14 to 16384 bytes"):
        switch.mirror(snaplen=5)
    with pytest.raises(SwitchError, match="has no port 'p7'"):
        switch.mirror(["p7"])


def test_mirrors_that_are_dropped_are_ended(bed: tuple[Switch, list[MemoryHost]]) -> None:
    """Those that were closed, by themselves or with their switch, have nothing to end."""
    switch, _ = bed
    for _ in range(9):
        with pytest.warns(ResourceWarning, match="unclosed mirror"):
            switch.mirror()
    mirrors = [switch.mirror() for _ in range(8)]
    for mirror in mirrors:
        mirror.close()
    brief = Switch(SwitchConfig(name="s1"))
    limit = queue("droptail", limit="64pkt")
    brief.add_port(PortConfig(name="p0", opening=fresh_opening(), queue=limit))
    last = brief.mirror()
    brief.close()
    del last, brief


def packet(router: str, source: int, target: str, hop_limit: int = 9) -> bytes:
    """An IPv4 packet, sent to a router's address."""
    head = bytes.fromhex((router + mac(source)).replace(":", "")) + b"\x08\x00"
    address = ipaddress.ip_address(target).packed
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 40, 0, 0, hop_limit, 17, 0) + bytes([10, 0, 0, source])
    words = struct.unpack("!10H", ip + address)
    total = sum(words)
    total = (total & 0xFFFF) + (total >> 16)
    ip = ip[:10] + struct.pack("!H", 0xFFFF - total) + ip[12:]
    return (head + ip + address).ljust(60, b"\0")


def test_routes_lead_on_with_another_address(bed: tuple[Switch, list[MemoryHost]]) -> None:
    switch, hosts = bed
    switch.add_group(GroupConfig(name="up", ports=("p1", "p2"), mode="round-robin"))
    switch.add_route("10.9.0.0/16", "up", {"p1": mac(0x31), "p2": mac(0x32)})
    switch.add_route("10.9.1.0/24", "p2", {"p2": mac(0x42)})
    assert switch.read().routes == 2
    for _ in range(2):
        hosts[0].send(packet("02:00:00:00:aa:00", 0, "10.9.2.2"))
    assert hosts[1].wait()[:12] == bytes.fromhex("0200000000310200" + "0000aa01")
    assert hosts[2].wait()[:12] == bytes.fromhex("0200000000320200" + "0000aa02")
    hosts[0].send(packet("02:00:00:00:aa:00", 0, "10.9.1.1"))
    got = hosts[2].wait()
    assert got[:6] == bytes.fromhex("020000000042")
    assert got[22] == 8
    switch.remove_route("10.9.1.0/24")
    hosts[0].send(packet("02:00:00:00:aa:00", 0, "10.1.1.1"))
    hosts[1].drain()
    assert switch.counters()["switch"]["dropped_no_route"] == 1
    with pytest.raises(SwitchError, match="no such route"):
        switch.remove_route("10.9.1.0/24")
    with pytest.raises(SwitchError, match="is no prefix"):
        switch.add_route("10.9.1.1/24", "p1", {})


def test_a_switch_without_room_for_routes_says_so() -> None:
    with Switch(SwitchConfig(name="s0")) as switch:
        switch.add_port(PortConfig(name="p0", opening=fresh_opening(), queue=queue("droptail")))
        with pytest.raises(SwitchError, match="does not route"):
            switch.add_route("10.0.0.0/8", "p0", {})
