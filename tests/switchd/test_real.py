"""The daemon over the data path in C, with memory ports: what reloads cost, what is shown."""

from __future__ import annotations

import ipaddress
import struct
import threading
import time
from typing import TYPE_CHECKING, Self, cast

import pytest
from memory_host import MemoryHost, frame, fresh_opening, mac
from memory_switch import Fabric, Row, config, ports, wait_until_up

from ndpstack.control import ControlError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RELOADS = 200
WINDOW = 64


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[Fabric]:
    with Fabric(tmp_path) as made:
        yield made


class Load:
    """Numbered frames between h1 and h2, both ways, WINDOW of each on their way at any time."""

    def __init__(self, fabric: Fabric) -> None:
        self._hosts = (fabric.hosts["h1"], fabric.hosts["h2"])
        self.sent, self.received = [0, 0], [0, 0]
        """By the host that sends."""
        self.missing: list[tuple[int, int]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            for way, host in enumerate(self._hosts):
                while self.sent[way] - self.received[way] < WINDOW:
                    host.send(frame(way + 1, 2 - way, self.sent[way].to_bytes(4, "big")))
                    self.sent[way] += 1
            for way in (0, 1):
                self._take(way, self._hosts[1 - way].wait())
        for way in (0, 1):
            for data in self._hosts[1 - way].drain(0.2):
                self._take(way, data)

    def _take(self, way: int, data: bytes) -> None:
        number = int.from_bytes(data[14:18], "big")
        self.missing += ((way, lost) for lost in range(self.received[way], number))
        self.received[way] = number + 1

    def wait_beyond(self, received: int) -> None:
        """Until more than so many have arrived of each way."""
        deadline = time.monotonic() + 20
        while min(self.received) <= received:
            assert time.monotonic() < deadline, self.received
            time.sleep(0.0005)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(20)
        assert not self._thread.is_alive()


def test_reloads_under_load_lose_nothing_on_unchanged_ports(tmp_path: Path) -> None:
    """X36: 200 changes of everything but two ports, which do not notice."""
    unchanged = dict.fromkeys(("h1", "h2"), f'buffers = "{WINDOW + 8}pkt"')
    extra = {"h3": fresh_opening(), "h4": fresh_opening()}
    with Fabric(tmp_path, unchanged) as fabric, fabric.daemon.client() as client:
        with Load(fabric) as load:
            for turn in range(RELOADS):
                chosen = dict(list(extra.items())[: turn % 3])
                rate = dict.fromkeys(
                    chosen, f'rate = "{turn % 5 + 1}Gbit"\nbuffers = "{turn % 7 + 8}pkt"'
                )
                text = config({**fabric.openings, **chosen}, {**unchanged, **rate})
                if chosen:
                    text += f"[switch.s.group.g]\nports = {list(chosen)}\n"
                fabric.daemon.path.write_text(text)
                before = max(load.received)
                client.call("reload")
                load.wait_beyond(before + WINDOW)  # All that were under way meanwhile.
        assert load.missing == []
        assert load.received == load.sent
        shown = ports(client)
        received = [shown[name]["rx_packets"] for name in ("h1", "h2")]
        assert received == load.sent, "counters stay, too"
        assert [shown[name]["tx_packets"] for name in ("h2", "h1")] == load.sent
        assert {row["drops"] for row in shown.values()} == {0}
        assert cast("Row", client.call("show.runtime"))["audit"] == "ok"


def test_counters_survive_a_change_of_the_device(fabric: Fabric) -> None:
    for _ in range(5):
        fabric.hosts["h1"].send(frame(1, 2, b"before"))
        fabric.hosts["h2"].wait()
    fabric.openings["h2"] = fresh_opening()
    fabric.daemon.path.write_text(config(fabric.openings))
    with fabric.daemon.client() as client:
        changes = cast("list[Row]", client.call("reload"))
        assert [(row["kind"], row["what"]) for row in changes] == [("reopen", "port s/h2")]
        fabric.hosts["h2"].close()
        fabric.hosts["h2"] = MemoryHost(fabric.openings["h2"])
        wait_until_up(client, "h1", "h2")
        fabric.hosts["h1"].send(frame(1, 2, b"after"))
        assert fabric.hosts["h2"].wait()[14:19] == b"after"
        shown = ports(client)
        assert (shown["h1"]["rx_packets"], shown["h2"]["tx_packets"]) == (6, 6)
        assert cast("Row", client.call("show.runtime"))["audit"] == "ok"


def test_a_host_that_goes_away_is_noticed(fabric: Fabric) -> None:
    fabric.hosts["h2"].close()
    with fabric.daemon.client() as client:
        deadline = time.monotonic() + 10
        while ports(client)["h2"]["state"] != "down":
            assert time.monotonic() < deadline
        manager = fabric.daemon.daemon.manager
        while manager.forwards("s/h2"):
            assert time.monotonic() < deadline
        fabric.hosts["h2"] = MemoryHost(fabric.openings["h2"])
        wait_until_up(client, "h2")
        while not manager.forwards("s/h2"):
            assert time.monotonic() < deadline
        # Another switch in place of the one that is heard of now.
        client.call("set", items=["switch.s.packets=128"])
        fabric.hosts["h2"].close()
        fabric.hosts["h2"] = MemoryHost(fabric.openings["h2"])
        wait_until_up(client, "h2")
        fabric.hosts["h2"].close()
        while manager.forwards("s/h2"):
            assert time.monotonic() < deadline


def test_settings_reach_the_core(fabric: Fabric) -> None:
    with fabric.daemon.client() as client:
        client.call("set", items=["switch.s.port.h1.faults={ loss = '100%' }"])
        fabric.hosts["h1"].send(frame(1, 2, b"x"))
        deadline = time.monotonic() + 5
        while not ports(client)["h1"]["drops"]:
            assert time.monotonic() < deadline
        drops = cast("list[Row]", client.call("show.drops"))
        assert drops[0]["reason"] in ("lost", "dropped_faults")
        client.call("unset", items=["switch.s.port.h1.faults"])
        fabric.hosts["h1"].send(frame(1, 2, b"y"))
        assert fabric.hosts["h2"].wait()[14:15] == b"y"
        table = cast("list[Row]", client.call("show.fdb"))
        assert {str(row["mac"]): row["to"] for row in table} == {mac(1): "h1", mac(2): "h2"}
        client.call("set", items=["switch.s.port.h2.enabled=false"])
        assert ports(client)["h2"]["state"] == "disabled"


def test_captures_and_mirrors_hold_what_passed(fabric: Fabric) -> None:
    with fabric.daemon.client() as client:
        begun = client.call("capture.start", switch="s", ports=["h2"], direction="tx", snaplen=64)
        number = cast("Row", begun)["id"]
        mirror = "switch.s.mirror.m"
        items = [f"{mirror}.source=['h1','h2']", f"{mirror}.file=m.pcapng"]
        client.call("set", items=items)
        fabric.hosts["h1"].send(frame(1, 2, bytes(1000)))
        fabric.hosts["h2"].wait()
        # The copy is published after the frame: it may be some microseconds later.
        deadline, data = time.monotonic() + 5, b""
        file = fabric.daemon.folder / "m.pcapng"
        while not read_pcapng(data)[1] or len(read_pcapng(file.read_bytes())[1]) < 2:
            assert time.monotonic() < deadline
            for message in client.notifications(0.1):
                assert message.params["lost"] == 0
                data += cast("bytes", message.params["data"])
        client.call("capture.stop", id=number)
        client.call("unset", items=[mirror])
    names, frames = read_pcapng(data)
    assert names == ["h2"]
    assert frames == [(0, frame(1, 2, bytes(1000))[:64], 1014, OUTBOUND)]
    names, frames = read_pcapng(file.read_bytes())
    assert names == ["h1", "h2"]
    assert {(interface, way) for interface, _, _, way in frames} == {(0, INBOUND), (1, OUTBOUND)}


def test_mirrors_follow_a_switch_that_is_made_anew(fabric: Fabric) -> None:
    """A mirror of the switch that was gone was closed after it, and the daemon crashed."""
    with fabric.daemon.client() as client, fabric.daemon.client() as other:
        mirror = "switch.s.mirror.m"
        client.call("set", items=[f"{mirror}.source=['h1','h2']", f"{mirror}.file=m.pcapng"])
        other.call("capture.start", switch="s")
        client.call("set", items=["switch.s.frame=4000B"])
        with pytest.raises(UnreachableError):
            other.call("version")
        rows = cast("list[Row]", client.call("show.mirrors"))
        assert [row["state"] for row in rows] == ["running"]
        nowhere = "switch.s.port.x={backend='packet', device='nosuch'}"
        with pytest.raises(ControlError, match="none of this name"):
            client.call("set", items=["switch.s.frame=5000B", nowhere])
        daemon = fabric.daemon.daemon
        files = daemon.mirrors._files.values()
        tapped = [file.tapped.handle for file in files if file.tapped]
        assert tapped == [daemon.manager.live["s"].handle]
        client.call("unset", items=[mirror])
    file = fabric.daemon.folder / "m.pcapng"
    assert read_pcapng(file.read_bytes()) == (["h1", "h2"], [])


INBOUND, OUTBOUND = 1, 2


def read_pcapng(data: bytes) -> tuple[list[str], list[tuple[int, bytes, int, int]]]:
    """Names of interfaces, and (interface, bytes, original length, direction)."""
    names, frames = [], []
    while data:
        kind, size = struct.unpack_from("<II", data)
        body, data = data[8 : size - 4], data[size:]
        if kind == 1:
            names.append(options(body[8:])[2].rstrip(b"\0").decode())
        elif kind == 6:
            interface, _, _, kept, original = struct.unpack_from("<5I", body)
            flags = options(body[20 + kept + -kept % 4 :])[2]
            way = struct.unpack("<I", flags)[0] & 3
            frames.append((interface, body[20 : 20 + kept], original, way))
    return names, frames


def options(data: bytes) -> dict[int, bytes]:
    """The options of a block."""
    found = {}
    while data:
        code, length = struct.unpack_from("<HH", data)
        if code == 0:
            break
        found[code] = data[4 : 4 + length]
        data = data[4 + length + -length % 4 :]
    return found


ROUTER = "02:aa:00:00:00:01"
HOP = "02:bb:00:00:00:02"


def test_routes_lead_to_their_next_hops(tmp_path: Path) -> None:
    with Fabric(tmp_path) as fabric, fabric.daemon.client() as client:
        text = config(fabric.openings, {"h1": f'mac = "{ROUTER}"'})
        text = text.replace("[switch.s]", '[switch.s]\nforwarding = "fib"')
        text += f"""
[[switch.s.route]]
prefix = "10.1.0.0/16"
to = "h2"
hops = {{ h2 = "{HOP}" }}
"""
        fabric.daemon.path.write_text(text)
        client.call("reload")
        for host in fabric.hosts.values():
            host.close()
        fabric.hosts = {name: MemoryHost(made) for name, made in fabric.openings.items()}
        wait_until_up(client, *fabric.hosts)
        fabric.hosts["h1"].send(ipv4(ROUTER, "10.1.2.3"))
        arrived = fabric.hosts["h2"].wait()
        assert arrived[:6] == bytes.fromhex(HOP.replace(":", ""))
        assert arrived[22] == 63, "one hop fewer"
        shown = cast("list[Row]", client.call("show.routes"))
        assert (shown[0]["prefix"], shown[0]["origin"]) == ("10.1.0.0/16", "configured")


def ipv4(target_mac: str, target: str) -> bytes:
    """An IPv4 frame without payload of ours."""
    ip = bytearray(20)
    ip[0], ip[3], ip[8], ip[9] = 0x45, 20, 64, 253
    ip[12:16], ip[16:20] = bytes([10, 0, 0, 1]), ipaddress.ip_address(target).packed
    total = sum(int.from_bytes(ip[i : i + 2], "big") for i in range(0, 20, 2))
    ip[10:12] = (0xFFFF - (total % 0xFFFF)).to_bytes(2, "big")
    head = bytes.fromhex(target_mac.replace(":", "") + mac(1).replace(":", "")) + b"\x08\x00"
    return (head + bytes(ip)).ljust(60, b"\0")
