"""A switch over memory ports: forwarding, live changes, and what it tells."""

from __future__ import annotations

import dataclasses
import os
import select
import threading
import time
from typing import TYPE_CHECKING

import pytest
from memory_host import MemoryHost, frame, fresh_opening, mac, until_up
from timed import check_time

from ndpstack.switch import (
    FaultsConfig,
    GroupConfig,
    Page,
    PhantomConfig,
    PortConfig,
    Switch,
    SwitchConfig,
    SwitchError,
    TrimConfig,
    Worker,
    WorkerConfig,
    counter_texts,
    mixed_queue,
    queue,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


class Bed:
    """A started switch of a few ports, a host at each."""

    def __init__(self, ports: int, config: SwitchConfig, **settings: object) -> None:
        self.switch = Switch(config)
        self.hosts: list[MemoryHost] = []
        for number in range(ports):
            self.add(f"p{number}", **settings)
        self.switch.start()
        until_up(self.switch, *self.switch.ports())

    def add(self, name: str, **settings: object) -> None:
        port = PortConfig(
            name=name,
            opening=fresh_opening(),
            **{"queue": queue("droptail", limit="64pkt"), **settings},  # type: ignore[arg-type]
        )
        self.switch.add_port(port)
        self.hosts.append(MemoryHost(port.opening))

    def close(self) -> None:
        assert self.switch.audit() is None
        self.switch.close()
        for host in self.hosts:
            host.close()


@pytest.fixture
def bed() -> Iterator[Bed]:
    made = Bed(3, SwitchConfig(name="s0"))
    yield made
    made.close()


def test_frames_are_flooded_then_go_where_the_address_was_seen(bed: Bed) -> None:
    bed.hosts[0].send(frame(0, 1, b"a"))
    assert bed.hosts[1].wait() == frame(0, 1, b"a")
    assert bed.hosts[2].wait() == frame(0, 1, b"a")
    bed.hosts[1].send(frame(1, 0, b"b"))
    assert bed.hosts[0].wait() == frame(1, 0, b"b")
    assert bed.hosts[2].drain() == []
    rows = {row.mac: row for row in bed.switch.fdb()}
    assert rows[mac(0)].to == "p0"
    assert rows[mac(1)].to == "p1"
    assert not rows[mac(0)].static
    assert rows[mac(0)].age_ns < 10**10


def test_configured_addresses_lead_to_ports_and_groups() -> None:
    bed = Bed(3, SwitchConfig(name="s0", learning=False))
    bed.switch.add_group(GroupConfig(name="up", ports=("p1", "p2"), mode="round-robin"))
    bed.switch.set_address(mac(9), "up")
    bed.switch.set_address(mac(1), "p1")
    for number in range(6):
        bed.hosts[0].send(frame(0, 9, bytes([number])))
    assert len(bed.hosts[1].drain()) == 3
    assert len(bed.hosts[2].drain()) == 3
    assert {row.to for row in bed.switch.fdb()} == {"up", "p1"}
    bed.switch.set_link("p2", up=False)
    for number in range(4):
        bed.hosts[0].send(frame(0, 9, bytes([number])))
    assert len(bed.hosts[1].drain()) == 4
    bed.switch.set_link("p2", up=True)
    with pytest.raises(SwitchError, match="names a port twice"):
        bed.switch.set_group(GroupConfig(name="up", ports=("p1", "p2", "p1")))
    bed.switch.set_group(GroupConfig(name="up", ports=("p2",)))
    bed.hosts[0].send(frame(0, 9, b"z"))
    assert bed.hosts[2].wait() == frame(0, 9, b"z")
    bed.switch.remove_group("up")
    assert [row.to for row in bed.switch.fdb()] == ["p1"]
    bed.switch.remove_address(mac(1))
    assert bed.switch.fdb() == []
    bed.hosts[0].send(frame(0, 1))
    bed.hosts[1].drain()
    assert bed.switch.counters()["switch"]["dropped_unknown"] == 1
    bed.close()


def test_a_disabled_port_takes_no_frames_and_is_led_to_no_more(bed: Bed) -> None:
    bed.switch.set_link("p2", up=False)
    bed.hosts[0].send(frame(0, 255))
    assert bed.hosts[1].wait() == frame(0, 255)
    bed.hosts[2].send(frame(2, 255))
    assert bed.hosts[1].drain() == []
    assert bed.hosts[2].drain() == []
    reading = bed.switch.port_reading("p2")
    assert (reading.state, reading.enabled, reading.up) == ("up", False, False)
    assert reading.counters["switch"]["dropped_disabled"] == 1


def test_ports_come_and_go_while_others_forward(bed: Bed) -> None:
    stop = threading.Event()
    sent = 0

    def traffic() -> None:
        nonlocal sent
        while not stop.is_set():
            bed.hosts[0].send(frame(0, 1, sent.to_bytes(4, "big")))
            sent += 1
            time.sleep(0.0002)

    bed.switch.set_address(mac(1), "p1")
    got: list[bytes] = []
    thread = threading.Thread(target=traffic)
    thread.start()
    for number in range(20):
        got += bed.hosts[1].drain(settle=0)
        bed.add(f"extra{number}")
        bed.switch.set_port(
            PortConfig(
                name="p1",
                opening=bed.switch.ports()["p1"].opening,
                queue=queue("droptail", limit=f"{400 + number}pkt"),
            )
        )
        bed.switch.remove_port(f"extra{number}")
    stop.set()
    thread.join()
    got += bed.hosts[1].drain(settle=0.5)
    # Nothing lost, doubled or out of order, whatever was changed meanwhile.
    assert [int.from_bytes(data[14:18], "big") for data in got] == list(range(sent))
    assert sent > 20


def test_a_queue_that_is_replaced_keeps_its_packets_and_counts_them_once() -> None:
    config = SwitchConfig(name="s0", learning=False)
    bed = Bed(2, config, rate_bps=1_000_000, queue=queue("droptail", limit="100pkt"))
    bed.switch.set_address(mac(1), "p1")
    for number in range(40):
        bed.hosts[0].send(frame(0, 1, bytes([number])))
    deadline = time.monotonic() + 5
    while bed.switch.port_counters("p1")["queue"]["enqueued_packets"] < 40:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    port = bed.switch.ports()["p1"]
    bed.switch.set_port(dataclasses.replace(port, queue=queue("strict", total="100pkt")))
    assert bed.switch.audit() is None
    assert bed.switch.queue_state("p1").discipline == "strict"
    port = dataclasses.replace(port, queue=queue("droptail", limit="4pkt"), rate_bps=10**9)
    bed.switch.set_port(port)
    got = [data[14] for data in bed.hosts[1].drain()]
    counters = bed.switch.port_counters("p1")["queue"]
    assert got == sorted(got)
    assert counters["enqueued_packets"] == 40
    assert counters["dequeued_packets"] + counters["dropped_packets"] == 40
    assert len(got) == counters["dequeued_packets"]
    assert counters["dropped_packets"] > 0
    bed.close()


def test_rate_and_faults_change_while_frames_pass(bed: Bed) -> None:
    bed.switch.set_address(mac(1), "p1")
    port = bed.switch.ports()["p0"]
    bed.switch.set_port(dataclasses.replace(port, faults=FaultsConfig(loss=1.0)))
    bed.hosts[0].send(frame(0, 1, b"lost"))
    assert bed.hosts[1].drain() == []
    assert bed.switch.port_counters("p0")["faults"]["lost"] == 1
    bed.switch.set_port(dataclasses.replace(port, faults=FaultsConfig(duplicate=1.0)))
    bed.hosts[0].send(frame(0, 1, b"twice"))
    assert bed.hosts[1].drain() == [frame(0, 1, b"twice")] * 2
    bed.switch.set_port(port)
    bed.hosts[0].send(frame(0, 1, b"once"))
    assert bed.hosts[1].drain() == [frame(0, 1, b"once")]


def test_a_paced_port_sends_at_its_rate() -> None:
    bed = Bed(2, SwitchConfig(name="s0"), rate_bps=10_000_000, queue=queue("droptail"))
    bed.switch.set_address(mac(1), "p1")
    big = frame(0, 1).ljust(1500, b"x")
    begin = time.monotonic()
    for _ in range(50):
        bed.hosts[0].send(big)
    for _ in range(50):
        bed.hosts[1].wait()
    # 50 x 1524 B at 10 Mbit/s are 61 ms; the first is sent at once.
    assert time.monotonic() - begin >= 0.055
    state = bed.switch.queue_state("p1")
    assert state.total.packets_max >= 40
    assert state.total.bytes_max >= 40 * 1500
    bed.switch.clear_watermarks()
    assert bed.switch.queue_state("p1").total.packets_max == 0
    bed.close()


@pytest.mark.timed
def test_an_event_tells_of_a_link_that_goes_and_comes(bed: Bed) -> None:
    fd = bed.switch.events_fd
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    while poll.poll(0):
        os.read(fd, 8)
    opening = bed.switch.ports()["p1"].opening
    before = bed.switch.port_reading("p1").changes
    bed.hosts[1].close()
    began = time.monotonic()
    assert poll.poll(5000), "no event"
    # The hang-up wakes the worker; nobody waits for the next tenth of a second.
    check_time(time.monotonic() - began, 0.05)
    assert bed.switch.port_reading("p1").state == "down"
    assert bed.switch.port_reading("p1").changes == before + 1
    assert "other end is gone" in bed.switch.port_state("p1").why
    bed.hosts[1] = MemoryHost(opening)
    until_up(bed.switch, "p1")


def test_a_port_is_closed_and_opened_again(bed: Bed) -> None:
    opening = fresh_opening()
    bed.switch.reopen_port("p1", opening)
    bed.hosts[1].close()
    bed.hosts[1] = MemoryHost(opening)
    until_up(bed.switch, "p1")
    bed.hosts[0].send(frame(0, 255, b"new"))
    assert bed.hosts[1].wait() == frame(0, 255, b"new")
    assert bed.switch.ports()["p1"].opening == opening


def test_reopening_that_fails_leaves_the_port_closed_and_may_be_repeated(bed: Bed) -> None:
    good = bed.switch.ports()["p1"].opening
    bad = dataclasses.replace(good, backend="udp", device="not an address")
    with pytest.raises(SwitchError):
        bed.switch.reopen_port("p1", bad)
    state = bed.switch.port_state("p1")
    assert (state.state, state.up, state.mode) == ("gone", False, "")
    bed.hosts[1].close()
    bed.switch.reopen_port("p1", good)
    bed.hosts[1] = MemoryHost(good)
    until_up(bed.switch, "p1")


def test_another_process_reads_the_page_by_its_descriptor(bed: Bed) -> None:
    bed.switch.set_address(mac(1), "p1")
    with Page(bed.switch.page_fd) as page:
        for number in range(10):
            bed.hosts[0].send(frame(0, 1, bytes([number])))
        assert len(bed.hosts[1].drain()) == 10
        reading = page.read()
    assert reading.name == "s0"
    assert reading.counters["switch"]["accepted"] == 10
    assert reading.ports[1].counters["port"]["tx_frames"] == 10
    assert reading == dataclasses.replace(
        bed.switch.read(), time_ns=reading.time_ns, heartbeat=reading.heartbeat
    )


def test_sums_hold_at_any_moment(bed: Bed) -> None:
    """What came in went out, was dropped or is queued: in each reading, while frames pass."""
    stop = threading.Event()

    def traffic() -> None:
        while not stop.is_set():
            bed.hosts[0].send(frame(0, 255))
            bed.hosts[1].receive()

    thread = threading.Thread(target=traffic)
    thread.start()
    for _ in range(300):
        reading = bed.switch.read()
        counts = reading.counters["switch"]
        arrival_drops = ("dropped_no_buffer", "dropped_oversize", "dropped_disabled")
        dropped = sum(
            count
            for name, count in counts.items()
            if name.startswith("dropped_") and name not in arrival_drops
        )
        assert (
            counts["accepted"] + counts["replicated"]
            == counts["sent"] + dropped + reading.buffers_used
        )
    stop.set()
    thread.join()
    assert bed.switch.counters()["switch"]["accepted"] > 0


def test_the_heartbeat_moves_on_without_frames(bed: Bed) -> None:
    before = bed.switch.heartbeat().rounds
    time.sleep(0.35)
    assert bed.switch.heartbeat().rounds >= before + 2


def test_one_worker_runs_several_switches() -> None:
    with (
        Worker(WorkerConfig(spin_ns=20_000)) as worker,
        Switch(SwitchConfig(name="a")) as a,
        Switch(SwitchConfig(name="b")) as b,
    ):
        joint = fresh_opening()
        ends = [fresh_opening(), fresh_opening()]
        plain = queue("droptail")
        a.add_port(PortConfig(name="h", opening=ends[0], queue=plain))
        a.add_port(PortConfig(name="up", opening=joint, queue=plain))
        b.add_port(PortConfig(name="h", opening=ends[1], queue=plain))
        b.add_port(
            PortConfig(name="up", opening=dataclasses.replace(joint, listen=False), queue=plain)
        )
        a.start(worker)
        b.start(worker)
        hosts = [MemoryHost(end) for end in ends]
        until_up(a, "h", "up")
        until_up(b, "h", "up")
        hosts[0].send(frame(0, 1, b"over"))
        assert hosts[1].wait() == frame(0, 1, b"over")
        for host in hosts:
            host.close()


def test_mistakes_are_refused_by_name_and_change_nothing(bed: Bed) -> None:
    port = bed.switch.ports()["p0"]
    for wrong, text in (
        (dataclasses.replace(port, rate_bps=5), "not 1 Mbit/s to 400 Gbit/s"),
        (dataclasses.replace(port, faults=FaultsConfig(loss=1.5)), "not a probability"),
        (dataclasses.replace(port, phantom=PhantomConfig(rate_bps=10**13)), "rate_bps"),
        (dataclasses.replace(port, queue=dataclasses.replace(port.queue, settings={})), "limit"),
        (
            dataclasses.replace(port, queue=dataclasses.replace(port.queue, settings={"depth": 4})),
            "depth",
        ),
        (dataclasses.replace(port, opening=fresh_opening()), "reopen_port"),
    ):
        with pytest.raises(SwitchError, match=text):
            bed.switch.set_port(wrong)
    with pytest.raises(SwitchError, match="has no port 'p9'; it has p0, p1, p2"):
        bed.switch.set_address(mac(1), "p9")
    with pytest.raises(SwitchError, match="has a 'p0' already"):
        bed.switch.add_port(port)
    with pytest.raises(SwitchError, match="is no Ethernet address"):
        bed.switch.set_address("02:00", "p0")
    with pytest.raises(SwitchError, match="is running"):
        bed.switch.start()
    with pytest.raises(SwitchError, match="1 to 15 bytes"):
        Switch(SwitchConfig(name="a" * 16))
    assert bed.switch.ports()["p0"] == port


def test_mixed_and_trimming_queues_are_made_from_presets(bed: Bed) -> None:
    port = bed.switch.ports()["p0"]
    bed.switch.set_port(dataclasses.replace(port, queue=mixed_queue()))
    assert bed.switch.queue_state("p0").discipline == "fair"
    bed.switch.set_port(
        dataclasses.replace(
            port,
            queue=queue("ndp", preset="netfpga"),
            trim=TrimConfig(size=128, dscp=48, pcp=6, last_hop=True),
            phantom=PhantomConfig(rate_bps=950_000_000, threshold_bytes=1000),
        )
    )
    assert list(bed.switch.queue_state("p0").classes) == ["data", "headers"]


def test_every_counter_has_a_sentence() -> None:
    texts = counter_texts()
    assert set(texts) == {"switch", "wire", "fdb", "port", "queue", "phantom", "faults"}
    assert all(text.endswith(".") for group in texts.values() for text in group.values())


def test_reading_a_switch_that_another_thread_closes() -> None:
    """The reader is told that it is closed."""
    told = []

    def read(switch: Switch, reads: threading.Event) -> None:
        try:
            while True:
                switch.read()
                reads.set()
        except SwitchError as error:
            told.append(str(error))

    for _ in range(100):
        switch, reads = Switch(SwitchConfig(name="s")), threading.Event()
        reader = threading.Thread(target=read, args=(switch, reads))
        reader.start()
        assert reads.wait(20)
        switch.close()
        reader.join(20)
        assert not reader.is_alive()
    assert told == ["switch s is closed"] * 100
