"""What a stack takes from switchd, at the start and as it changes: all of it, on real packets."""

from __future__ import annotations

import itertools
import logging
import os
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, cast

import pytest
from memory_host import MemoryHost, fresh_opening
from running_daemon import CONFIG, RunningDaemon

import ndpstack
from ndpstack.control import Call, Notification, Reply, Splitter, encode
from ndpstack.decode import decode_frame
from ndpstack.paths import HostSettings, Marks, Path, Trimming, _follower

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Iterator, Mapping

_numbers = itertools.count()
PEER = "10.0.0.2"
SECONDS = 20
IP_AT = 14
PACKETS = 8
"""Of a connection that are looked at: both of two paths are among them."""


@pytest.fixture
def daemon(tmp_path: pathlib.Path) -> Iterator[RunningDaemon]:
    made = RunningDaemon(tmp_path)
    made.write(CONFIG)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def heard() -> Iterator[list[str]]:
    """What followers log, whatever daemons in this process have made of their loggers."""
    texts: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: texts.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("ndpstack.paths")
    logger.addHandler(handler)
    yield texts
    logger.removeHandler(handler)


@contextmanager
def following(address: object, **settings: object) -> Iterator[tuple[ndpstack.Stack, MemoryHost]]:
    """A stack that follows a switchd, and the other end of its link."""
    opening = fresh_opening()
    config = ndpstack.StackConfig(
        name=opening.device, backend="memory", address="10.0.0.1", listen=True,
        switchd=str(address), **settings,  # type: ignore[arg-type]
    )  # fmt: skip
    with ndpstack.Stack(config) as stack:
        wire = MemoryHost(opening)
        try:
            # What is sent before the link is up is lost, and nobody here answers for it.
            until(lambda: stack.port_state().state == "up")
            yield stack, wire
        finally:
            wire.close()


def told(stack: ndpstack.Stack) -> dict[str, object]:
    found = stack.told()
    assert found is not None
    return found


def values(stack: ndpstack.Stack) -> dict[str, object]:
    """What is in force of all that is told."""
    rows = cast("Mapping[str, Mapping[str, object]]", told(stack)["settings"])
    return {name: row["value"] for name, row in rows.items()}


def sources(stack: ndpstack.Stack) -> dict[str, object]:
    rows = cast("Mapping[str, Mapping[str, object]]", told(stack)["settings"])
    return {name: row["source"] for name, row in rows.items()}


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def first_packets(stack: ndpstack.Stack, wire: MemoryHost) -> list[bytes]:
    """Data of a new connection's first window, told from others' by the message's length."""
    length = 50_000 + next(_numbers)
    frames: list[bytes] = []
    with ndpstack.NdpSocket(stack) as sock:
        sock.connect((PEER, 4000))
        sock.send(bytes(length))
        while len(frames) < PACKETS:
            frame = wire.wait()
            packet = decode_frame(frame)
            if packet and packet.fields.get("message_bytes") == length:
                frames.append(frame)
    return frames


def paths_taken(frames: list[bytes]) -> set[object]:
    return {packet.fields["path"] for packet in map(decode_frame, frames) if packet}


def dscp_of(frame: bytes) -> int:
    return frame[IP_AT + 1] >> 2


def request_dscp(stack: ndpstack.Stack, wire: MemoryHost) -> int:
    """Code point of a short request's packet."""
    wire.drain(0)
    with ndpstack.HomaSocket(stack) as sock:
        call = sock.start((PEER, 4000), b"x")
        while True:
            frame = wire.wait()
            packet = decode_frame(frame)
            if packet and packet.protocol == "homa":
                call.cancel()
                return dscp_of(frame)


# ---- from a daemon ----


def test_all_is_applied_at_the_start_and_on_a_change(daemon: RunningDaemon) -> None:
    """R-NRT-05, from the host's side."""
    with following(daemon.folder / "hosts.sock") as (stack, wire):
        assert values(stack)["link_rate_bps"] == 10**10
        assert values(stack)["mtu"] == 1500
        assert set(sources(stack).values()) == {"switchd"}
        stack.peer(PEER)
        until(lambda: paths_taken(first_packets(stack, wire)) == {1, 2})
        frames = first_packets(stack, wire)
        assert {dscp_of(frame) for frame in frames} == {11}
        assert {len(frame) for frame in frames} == {1514}
        items = [
            "switch.tor0.port.h2.enabled=false",
            "switch.tor0.port.h1.rate=1Gbit",
            "switch.tor0.wire.dscp-trimmable=13",
            "switch.tor0.wire.dscp-trimmed-last-hop=45",
            "switch.tor0.wire.dscp-homa=[1,2,4,5,6,7,9,12]",
            "priorities.levels=2",
            "priorities.cutoffs=['2KB']",
        ]
        with daemon.client() as client:
            client.call("set", items=items)
        until(lambda: values(stack)["link_rate_bps"] == 10**9 and values(stack)["paths"] == [2])
        until(lambda: values(stack)["priorities"] == {"levels": 2, "cutoffs": [2000]})
        marks = cast("Mapping[str, object]", values(stack)["marks"])
        assert marks["dscp_trimmed_last_hop"] == 45
        frames = first_packets(stack, wire)
        assert paths_taken(frames) == {2}
        assert {dscp_of(frame) for frame in frames} == {13}
        assert request_dscp(stack, wire) == 12
        assert told(stack)["refused"] == {}
        assert stack.audit() is None


def test_what_is_given_stays(daemon: RunningDaemon) -> None:
    with following(daemon.folder / "hosts.sock", link_rate_bps=2 * 10**9) as (stack, _):
        assert values(stack)["link_rate_bps"] == 2 * 10**9
        assert sources(stack)["link_rate_bps"] == "config"
        assert sources(stack)["mtu"] == "switchd"


def test_settings_stay_while_the_daemon_is_away(daemon: RunningDaemon, heard: list[str]) -> None:
    with following(daemon.folder / "hosts.sock") as (stack, wire):
        before = values(stack)
        daemon.stop()
        until(lambda: not told(stack)["connected"])
        assert values(stack) == before
        assert {dscp_of(frame) for frame in first_packets(stack, wire)} == {11}
        time.sleep(0.3)  # some tries, of which the first alone is logged
        assert len(heard) == 1
        assert "the last settings stay" in heard[0]
        again = RunningDaemon(daemon.folder)
        again.write(CONFIG.replace("10Gbit", "3Gbit"))
        again.start()
        try:
            until(lambda: values(stack)["link_rate_bps"] == 3 * 10**9)
            until(lambda: told(stack)["connected"] is True)
            assert told(stack)["outages"] == 1
        finally:
            again.stop()


def test_without_switchd_a_host_starts(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, heard: list[str]
) -> None:
    monkeypatch.setattr("ndpstack.paths._follower.FIRST_SECONDS", 0.05)
    with following(tmp_path / "nobody") as (stack, wire):
        assert set(sources(stack).values()) == {"own"}
        assert told(stack)["told_s"] is None
        assert not told(stack)["connected"]
        assert {dscp_of(frame) for frame in first_packets(stack, wire)} == {11}
    assert any("starting without" in text for text in heard)


# ---- from one that says what it likes ----


GOOD = HostSettings(
    "h1", 1, 10**10, 1500,
    paths=(Path(1, "label", 1),),
    marks=Marks(3, 46, (0, 8, 16, 24, 32, 40, 48, 56), (0, 1, 2, 3, 4, 5, 6, 7)),
    trimming=Trimming(
        enabled=True, dscp_trimmable=11, dscp_trimmed=(43, 47), dscp_last_hop=47
    ),
)  # fmt: skip


class Teller:
    """A switchd that says whatever a test has it say."""

    def __init__(self, folder: pathlib.Path, first: object) -> None:
        self.address = str(folder / "teller.sock")
        self.first, self.api = first, 1
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.address)
        self._listener.listen()
        self._client: socket.socket | None = None
        self.subscribed = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client:
                self._client = client
                self._answer(client)

    def _answer(self, client: socket.socket) -> None:
        splitter = Splitter()
        while True:
            try:
                data = client.recv(65536)
                if not data:
                    return
                for message in splitter.feed(data):
                    assert isinstance(message, Call)
                    answers = {"version": {"api": self.api}, "subscribe": self.first}
                    client.sendall(encode(Reply(message.id, None, answers[message.method])))
                    if message.method == "subscribe":
                        self.subscribed.release()
            except OSError:
                return

    def say(self, data: bytes) -> None:
        assert self._client is not None
        self._client.sendall(data)

    def tell(self, **changes: object) -> None:
        """Settings that differ from GOOD."""
        self.say(encode(Notification("settings", GOOD.to_wire() | changes)))

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        if self._client is not None:
            with suppress(OSError):
                self._client.shutdown(socket.SHUT_RDWR)
        self._thread.join()


@pytest.fixture
def teller(tmp_path: pathlib.Path) -> Iterator[Teller]:
    made = Teller(tmp_path, GOOD.to_wire())
    yield made
    made.close()


ODD: dict[str, tuple[str, object]] = {
    "an MTU of 0": ("mtu", 0),
    "an MTU below all others": ("mtu", 68),
    "an MTU above all others": ("mtu", 70000),
    "a negative rate": ("link_rate_bps", -1),
    "a rate of nothing": ("link_rate_bps", 1000),
    "a rate beyond all": ("link_rate_bps", 2**63),
    "a rate in words": ("link_rate_bps", "10Gbit"),
    "64 levels": ("priority_levels", 64),
    "3 levels": ("priority_levels", 3),
    "no levels": ("priority_levels", 0),
    "yes levels": ("priority_levels", True),
    "descending cutoffs": ("cutoffs", [9000, 100]),
    "nine cutoffs": ("cutoffs", list(range(1, 10))),
    "a code point beyond 63": (
        "marks", {"dscp_data": 64, "dscp_control": 1, "dscp_homa": [0] * 8, "pcp": [0] * 8},
    ),
    "seven levels of code points": (
        "marks", {"dscp_data": 3, "dscp_control": 1, "dscp_homa": [0] * 7, "pcp": [0] * 8},
    ),
    "marks without PCP": ("marks", {"dscp_data": 3, "dscp_control": 1, "dscp_homa": [0] * 8}),
    "what may be trimmed is what was": (
        "trimming",
        {"enabled": True, "size": 0, "dscp_trimmable": 43, "dscp_trimmed": [43],
         "dscp_last_hop": None},
    ),
    "trimming by half": ("trimming", {"enabled": True}),
    "a path without a number": ("paths", [{"encoding": "label", "value": 1, "to": []}]),
    "a path beyond all": ("paths", [{"id": 70000, "encoding": "label", "value": 1, "to": []}]),
    "a path to nowhere": ("paths", [{"id": 1, "encoding": "label", "value": 1, "to": ["x"]}]),
    "paths of text": ("paths", "all"),
    "an unknown key": ("colour", "blue"),
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_setting_is_refused_and_the_others_are_taken(teller: Teller, odd: str) -> None:
    name, value = ODD[odd]
    change = {"link_rate_bps": 4 * 10**9} if name != "link_rate_bps" else {"mtu": 1400}
    ((other, wanted),) = change.items()
    with following(teller.address) as (stack, _):
        before = values(stack)
        teller.tell(**{name: value}, **change)
        until(lambda: values(stack)[other] == wanted and bool(told(stack)["reasons"]))
        found = told(stack)
        assert sum(cast("Mapping[str, int]", found["refused"]).values()) == 1
        assert len(cast("Mapping[str, str]", found["reasons"])) == 1
        assert values(stack) == before | change
        assert stack.audit() is None
        teller.tell()
        until(lambda: values(stack) == before and not told(stack)["reasons"])


def test_a_setting_that_we_trip_over_is_refused_and_the_others_are_taken(
    teller: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fall(*_: object) -> object:
        raise OverflowError("more than it holds")

    with following(teller.address) as (stack, _):
        with monkeypatch.context() as patch:
            patch.setitem(cast("dict[str, object]", _follower._PARTS), "link_rate_bps", fall)
            teller.tell(link_rate_bps=10**9, mtu=1300)
            until(lambda: values(stack)["mtu"] == 1300)
            assert told(stack)["reasons"] == {"link_rate_bps": "OverflowError: more than it holds"}
        teller.tell(link_rate_bps=10**9, mtu=1300)
        until(lambda: values(stack)["link_rate_bps"] == 10**9 and not told(stack)["reasons"])


def test_what_goes_wrong_for_a_while_is_said_once(
    teller: Teller, heard: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    falls: list[None] = []

    def fall(*_: object) -> None:
        falls.append(None)
        raise MemoryError

    monkeypatch.setattr(_follower, "LOOK_SECONDS", 0.01)
    with following(teller.address) as (stack, _):
        with monkeypatch.context() as patch:
            patch.setattr(_follower.Follower, "_give_paths", fall)
            until(lambda: len(falls) >= 3)
        teller.tell(mtu=1300)
        until(lambda: values(stack)["mtu"] == 1300)
    assert heard == ["settings cannot be applied now; trying again"]


NONE: dict[str, bytes] = {
    "no table": encode(Notification("settings", {})),
    "no host": encode(Notification("settings", {"generation": 1})),
    "no number": encode(Notification("settings", GOOD.to_wire() | {"generation": "x"})),
    "no msgpack": b"\xc1" * 100,
    "a huge message": b"\xdb\x7f\xff\xff\xff" + bytes(5 * 2**20),
}


@pytest.mark.parametrize("nothing", NONE)
def test_what_are_no_settings_ends_the_connection_alone(teller: Teller, nothing: str) -> None:
    """The last ones stay, and a daemon that has come to its senses is heard again."""
    with following(teller.address) as (stack, _):
        assert teller.subscribed.acquire(timeout=SECONDS)
        before = values(stack)
        with suppress(OSError):  # hung up before the end
            teller.say(NONE[nothing])
        assert teller.subscribed.acquire(timeout=SECONDS)
        assert told(stack)["outages"] == 1
        assert values(stack) == before
        until(lambda: told(stack)["connected"] is True)
        teller.tell(mtu=1300)
        until(lambda: values(stack)["mtu"] == 1300)


def test_half_a_message_is_nothing(teller: Teller) -> None:
    data = encode(Notification("settings", GOOD.to_wire() | {"mtu": 1300}))
    with following(teller.address) as (stack, _):
        assert teller.subscribed.acquire(timeout=SECONDS)
        teller.say(data[: len(data) // 2])
        time.sleep(0.05)
        assert values(stack)["mtu"] == 1500
        teller.say(data[len(data) // 2 :])
        until(lambda: values(stack)["mtu"] == 1300)


def test_a_newer_daemon_is_refused_until_it_is_ours(
    teller: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ndpstack.paths._follower.FIRST_SECONDS", 0.2)
    teller.api = 2
    with following(teller.address) as (stack, _):
        assert "speaks version" in str(told(stack)["problem"])
        assert set(sources(stack).values()) == {"own"}
        teller.api = 1
        until(lambda: values(stack)["mtu"] == 1500)


def test_what_is_told_no_more_is_as_it_was_opened(teller: Teller) -> None:
    with following(teller.address) as (stack, wire):
        marks = Marks(3, 44, (1,) * 8, (7,) * 8)
        teller.tell(marks=vars(marks), link_rate_bps=10**9)
        until(lambda: values(stack)["link_rate_bps"] == 10**9)
        assert request_dscp(stack, wire) == 1
        teller.tell(marks=None, link_rate_bps=0, trimming=vars(Trimming()))
        until(lambda: values(stack)["link_rate_bps"] is None)
        assert values(stack)["marks"] is None
        assert sources(stack)["marks"] == "own"
        assert request_dscp(stack, wire) == 48


def test_a_smaller_mtu_is_for_new_connections(teller: Teller) -> None:
    with following(teller.address) as (stack, wire):
        teller.tell(mtu=900)
        until(lambda: values(stack)["mtu"] == 900)
        assert {len(frame) for frame in first_packets(stack, wire)} == {914}
        teller.tell(mtu=9000)  # above the port's own
        until(lambda: values(stack)["mtu"] == 9000)
        assert {len(frame) for frame in first_packets(stack, wire)} == {1514}


def test_a_fork_s_child_leaves_the_follower_alone(teller: Teller) -> None:
    with following(teller.address) as (stack, _):
        child = os.fork()
        if child == 0:
            stack._follower.close()  # type: ignore[union-attr]
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        teller.tell(mtu=1300)
        until(lambda: values(stack)["mtu"] == 1300)
