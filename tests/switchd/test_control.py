"""The control API: what it answers."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import stat
import threading
import tomllib
from dataclasses import fields
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from running_daemon import CONFIG, RunningDaemon

from ndpstack._errors import UserError
from ndpstack.control import Client, ControlError, Reply
from switchd.config import load
from switchd.control import METHODS, ServerCounters
from switchd.control._server import Session, may_connect
from switchd.plan import build_plan

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, object]


def rows(client: Client, what: str) -> list[Row]:
    return cast("list[Row]", client.call(f"show.{what}"))


def row(client: Client, what: str) -> Row:
    return cast("Row", client.call(f"show.{what}"))


def changes(client: Client, method: str, **params: object) -> list[str]:
    found = cast("list[Row]", client.call(method, **params))
    return [f"{item['kind']} {item['what']}" for item in found]


def test_every_view_answers_rows_of_its_type(daemon: RunningDaemon) -> None:
    with daemon.client() as client:
        for name, method in METHODS.items():
            if not name.startswith("show."):
                continue
            answer = client.call(name)
            found = answer if method.many else [answer]
            assert isinstance(found, list)
            for item in found:
                assert set(item) == {field.name for field in fields(method.result)}, name


def test_ports_show_states_and_counters(daemon: RunningDaemon) -> None:
    ports = daemon.plane.switches["tor0"].ports
    ports["h1"].counters["port"]["rx_frames"] = 7
    ports["h1"].counters["port"]["rx_ring_full"] = 2
    ports["h1"].counters["queue"]["dropped_packets"] = 3
    ports["h2"].state, ports["h2"].reason = "down", "no peer"
    with daemon.client() as client:
        h1, h2 = rows(client, "ports")
        assert (h1["state"], h1["rx_packets"], h1["drops"], h1["profile"]) == ("up", 7, 5, "ndp")
        assert (h2["state"], h2["reason"], h2["profile"]) == ("down", "no peer", "homa")
        drops = rows(client, "drops")
        assert [(item["where"], item["reason"], item["frames"]) for item in drops[:3]] == [
            ("tor0/h1", "dropped_packets", 3),
            ("tor0/h1", "rx_ring_full", 2),
            ("tor0", "dropped_queue", 0),
        ]
        assert drops[0]["meaning"] == "Packets dropped."


def test_what_a_port_lacks_is_shown_and_no_mistake(
    daemon: RunningDaemon, caplog: pytest.LogCaptureFixture
) -> None:
    """X35: each queue that exists is shown, used or not. U19: to ask is no error."""
    with daemon.client() as client:
        shown = {item["port"]: item["discipline"] for item in rows(client, "queues")}
        assert shown == {"h1": "ndp", "h2": "strict"}
        assert {item["port"]: item["action"] for item in rows(client, "trim")} == {
            "h1": "trim",
            "h2": "drop",
        }
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_clearing_counts_anew_for_operators_only(daemon: RunningDaemon) -> None:
    counters = daemon.plane.switches["tor0"].ports["h1"].counters["port"]
    counters["rx_frames"] = 7
    with daemon.client() as client:
        client.call("clear")
        counters["rx_frames"] = 9
        assert rows(client, "ports")[0]["rx_packets"] == 2
        # A port that was opened again counts from 0: never a negative number.
        counters["rx_frames"] = 4
        assert rows(client, "ports")[0]["rx_packets"] == 4
        client.call("clear", what="watermarks")
    assert "clear tor0" in daemon.plane.log


def test_what_is_made_anew_after_a_clear_counts_from_its_beginning(daemon: RunningDaemon) -> None:
    def counted(frames: int) -> dict[str, int]:
        """What is shown when each port and the switch have counted so many."""
        fake = daemon.plane.switches["tor0"]
        fake.counters["switch"]["accepted"] = frames
        for port in fake.ports.values():
            port.counters["port"]["rx_frames"] = frames
        found = rows(client, "counters")
        return {
            str(row["port"]): cast("int", row["value"])
            for row in found
            if row["counter"] in ("accepted", "rx_frames")
        }

    text = daemon.path.read_text()
    with daemon.client() as client:
        counted(10)
        client.call("clear")
        for changed in (text.replace("port.h2]", "port.h3]").replace("/h2", "/h3"), text):
            daemon.path.write_text(changed)
            client.call("reload")
        assert counted(25) == {"": 15, "h1": 15, "h2": 25}
        client.call("clear")
        client.call("set", items=["switch.tor0.packets=128"])
        assert counted(35) == {"": 35, "h1": 35, "h2": 35}


def test_settings_are_applied_shown_taken_back_and_saved(daemon: RunningDaemon) -> None:
    port = daemon.plane.switches["tor0"].ports["h1"]
    serial = port.serial
    with daemon.client() as client:
        wanted = ["switch.tor0.port.h1.rate=5Gbit"]
        assert changes(client, "set", items=wanted, dry_run=True) == ["change port tor0/h1"]
        assert port.plan.rate_bps == 10**10
        assert changes(client, "set", items=wanted) == ["change port tor0/h1"]
        assert (port.plan.rate_bps, port.serial) == (5 * 10**9, serial)
        assert row(client, "status")["unsaved"] is True
        assert "5Gbit" in str(row(client, "running-config")["unsaved"])
        assert changes(client, "reload") == [], "settings at run time outlive a reload"
        assert changes(client, "unset", items=["switch.tor0.port.h1.rate"]) == [
            "change port tor0/h1"
        ]
        assert port.plan.rate_bps == 10**10
        with pytest.raises(ControlError, match="not set at run time"):
            client.call("unset", items=["switch.tor0.port.h1.rate"])
        client.call("set", items=wanted)
        client.call("save")
        assert row(client, "status")["unsaved"] is False
    saved = (daemon.folder / "conf.d" / "90-runtime.toml").read_text()
    assert tomllib.loads(saved) == {"switch": {"tor0": {"port": {"h1": {"rate": "5Gbit"}}}}}


def test_what_the_files_say_is_no_setting(daemon: RunningDaemon) -> None:
    """Who brings back what the files say has nothing to save."""
    rate = "switch.tor0.port.h1.rate"
    faults = "switch.tor0.port.h1.faults"
    with daemon.client() as client:
        client.call("set", items=[f"{rate}=5Gbit", f"{faults}={{ loss = '1%' }}"])
        client.call("set", items=[f"{faults}={{ loss = '0%' }}"])
        assert "faults" not in str(row(client, "running-config")["unsaved"])
        assert "5Gbit" in str(row(client, "running-config")["unsaved"])
        assert changes(client, "set", items=[f"{rate}=10Gbit"]) == ["change port tor0/h1"]
        assert row(client, "status")["unsaved"] is False
        assert changes(client, "reload") == []


def test_a_setting_reads_no_file_again(daemon: RunningDaemon) -> None:
    """Half of an edit is no part of what is set meanwhile; a reload takes it."""
    good = daemon.path.read_text()
    with daemon.client() as client:
        for text in good.replace('rate = "10Gbit"', "rat ="), good.replace("10Gbit", "20Gbit"):
            daemon.path.write_text(text)
            wanted = [f"switch.tor0.port.h2.rate={len(text)}Mbit"]
            assert changes(client, "set", items=wanted) == ["change port tor0/h2"]
        client.call("save")
        assert changes(client, "unset", items=[]) == []
        assert changes(client, "reload") == ["change port tor0/h1"]


def test_settings_of_two_clients_at_once_are_both_in_force(daemon: RunningDaemon) -> None:
    ports = daemon.plane.switches["tor0"].ports
    with daemon.client() as one, daemon.client() as other:
        for rate in range(1, 21):
            threads = [
                threading.Thread(
                    target=client.call,
                    args=("set",),
                    kwargs={"items": [f"switch.tor0.port.{port}.rate={rate}Gbit"]},
                )
                for client, port in ((one, "h1"), (other, "h2"))
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(20)
            assert {port.plan.rate_bps for port in ports.values()} == {rate * 10**9}


def test_what_would_not_be_in_force_after_a_restart_is_not_saved(daemon: RunningDaemon) -> None:
    folder = daemon.folder / "conf.d"
    folder.mkdir()
    later, saved = folder / "95-later.toml", folder / "90-runtime.toml"
    later.write_text('[switch.tor0.port.h1]\nrate = "2Gbit"\n')
    with daemon.client() as client:
        client.call("reload")
        client.call("set", items=["switch.tor0.port.h1.rate=5Gbit"])
        with pytest.raises(ControlError, match="come after it say something else"):
            client.call("save")
        assert not saved.exists()
        later.unlink()
        client.call("reload")
        saved.write_text("# by hand\n")
        with pytest.raises(ControlError, match="was changed since it was read"):
            client.call("save")
        client.call("reload")
        client.call("save")
        assert tomllib.loads(saved.read_text())["switch"]["tor0"]["port"]["h1"]["rate"] == "5Gbit"
        assert row(client, "status")["unsaved"] is False


def test_a_reload_that_fails_changes_nothing(daemon: RunningDaemon) -> None:
    good = daemon.path.read_text()
    with daemon.client() as client:
        before = row(client, "running-config")
        daemon.path.write_text(good.replace('rate = "10Gbit"', 'rat = "1Gbit"'))
        with pytest.raises(ControlError, match=r"switchd\.toml:11: .*did you mean 'rate'"):
            client.call("reload")
        daemon.path.write_text(good + '[switch.tor0.port.h3]\nbackend = "packet"\n')
        daemon.plane.absent.add("h3")
        with pytest.raises(ControlError, match="h3: no such device; create it"):
            client.call("reload")
        assert row(client, "running-config") == before
        daemon.plane.absent.clear()
        assert changes(client, "reload", dry_run=True) == ["add port tor0/h3"]
        assert changes(client, "reload") == ["add port tor0/h3"]


def test_what_needs_a_restart_is_said(daemon: RunningDaemon) -> None:
    daemon.path.write_text(daemon.path.read_text().replace("[daemon]", "[daemon]\nspin = '1ms'"))
    with daemon.client() as client:
        assert changes(client, "reload") == ["restart daemon"]


def test_levels_change_live(daemon: RunningDaemon) -> None:
    with daemon.client() as client:
        found = cast("list[Row]", client.call("log", logger="switchd.control", level="debug"))
        assert {"logger": "switchd.control", "level": "debug"} in found
        with pytest.raises(ControlError, match=r"did you mean 'switchd\.control'"):
            client.call("log", logger="switchd.contrl", level="debug")
        client.call("log", logger="switchd.control", level="info")


@pytest.mark.parametrize(
    ("method", "params", "code", "text"),
    [
        ("show.prots", {}, "unknown-method", "did you mean 'show.ports'"),
        ("set", {}, "invalid", "`items` is missing"),
        ("set", {"items": "x=1"}, "invalid", "is not a list"),
        ("set", {"items": ["x"]}, "refused", "write it like"),
        ("set", {"items": ["switch.x.y=1"]}, "invalid-config", "unknown key"),
        ("clear", {"what": "everything"}, "invalid", "is not one of them"),
        ("show.ports", {"x": 1}, "invalid", "unknown key"),
        ("capture.start", {"switch": "tor1"}, "refused", "did you mean 'tor0'"),
        ("capture.start", {"switch": "tor0", "ports": ["h9"]}, "refused", "there are: h1, h2"),
        ("capture.stop", {"id": 3}, "refused", "no capture 3"),
    ],
)
def test_wrong_calls_name_the_remedy(
    daemon: RunningDaemon, method: str, params: dict[str, object], code: str, text: str
) -> None:
    with daemon.client() as client:
        with pytest.raises(ControlError, match=text) as caught:
            client.call(method, **params)
        assert caught.value.code == code
        client.call("version")


def test_the_socket_is_for_its_group(daemon: RunningDaemon) -> None:
    mode = stat.S_IMODE((daemon.folder / "control.sock").stat().st_mode)
    assert mode in (0o660, 0o600), "0600 where there is no group ndpstack"
    assert stat.S_IMODE((daemon.folder / "hosts.sock").stat().st_mode) == 0o666
    assert may_connect(0, 0, "nobody-has-this-group")
    assert may_connect(os.geteuid(), os.getegid(), "nobody-has-this-group")
    assert not may_connect(65533, 65533, "nobody-has-this-group")
    assert not may_connect(65533, 65533, "root")


def test_a_second_daemon_and_a_dead_ones_socket(daemon: RunningDaemon, tmp_path: Path) -> None:
    second = RunningDaemon(tmp_path)
    with pytest.raises(UserError, match="another switchd listens there"):
        second.start()
    daemon.stop()
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(tmp_path / "control.sock"))
    second = RunningDaemon(tmp_path)
    second.start()
    second.client().close()
    second.stop()
    assert not (tmp_path / "control.sock").exists()


PARAMS = st.dictionaries(
    st.sampled_from(["items", "dry_run", "what", "logger", "level", "switch", "ports", "id", "x"]),
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**64 - 1),
        st.floats(),
        st.binary(max_size=4),
        st.text(max_size=12),
        st.sampled_from(["tor0", "h1", "debug", "counters", "switchd"]),
        st.lists(
            st.one_of(
                st.text(max_size=8),
                st.sampled_from(
                    [
                        "switch.tor0.port.h1.rate=2Gbit",
                        "switch.tor0.port.h1.profile=homa",
                        "switch.tor0.port.h1=1",
                        "switch=[]",
                        "path.0.id=7",
                        "daemon.log=debug",
                        "host={ a = { port = 'tor0/h1' } }",
                    ]
                ),
            ),
            max_size=3,
        ),
    ),
    max_size=3,
)


def in_force(daemon: RunningDaemon) -> object:
    """What the data path does, as it says itself, and what it was told to do."""
    switches = daemon.plane.switches.items()
    plans = {
        name: (item.base, item.forwarding, {port: fake.plan for port, fake in item.ports.items()})
        for name, item in switches
    }
    assert {name: set(ports) for name, (_, _, ports) in plans.items()} == {
        name: set(plan.ports) for name, plan in daemon.daemon.manager.plan.items()
    }
    return plans


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.data())
def test_a_fuzzed_file_is_in_force_whole_or_not_at_all(
    daemon: RunningDaemon, data: st.DataObject
) -> None:
    """Lines lost, doubled or cut, steps that fail: the old file's plan or the new one's."""
    rates = [data.draw(st.sampled_from(["1Gbit", "2Gbit", "3Gbit"])) for _ in range(3)]
    text = CONFIG.format(folder=daemon.folder).replace("10Gbit", rates[0])
    text = text.replace('profile = "homa"', f'profile = "homa"\nrate = "{rates[1]}"')
    if data.draw(st.booleans()):
        text += f'[switch.tor0.port.h3]\nbackend = "memory"\nrate = "{rates[2]}"\n'
    lines = text.splitlines()
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(lines) - 1))
        lines[at : at + 1] = data.draw(
            st.sampled_from([[], [lines[at]] * 2, [lines[at][:-3]], ['rate = "1Gbit"'], lines[:at]])
        ) or [""]
    daemon.path.write_text("\n".join(lines))
    daemon.plane.fail_at = data.draw(st.integers(-1, 4))
    before = in_force(daemon)
    with daemon.client() as client:
        try:
            client.call("reload")
        except ControlError:
            daemon.plane.fail_at = -1
            assert in_force(daemon) == before
        else:
            daemon.plane.fail_at = -1
            assert daemon.daemon.manager.plan == build_plan(load(daemon.path))
            in_force(daemon)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(st.sampled_from(sorted(METHODS)), PARAMS)
def test_no_call_fails_inside(
    daemon: RunningDaemon, method: str, params: dict[str, object]
) -> None:
    """Whatever is asked is answered or refused for a reason, and what is in force is valid.

    What is refused has changed nothing, neither what is said to be in force nor what is.
    """
    with daemon.client() as client:
        before = row(client, "running-config"), in_force(daemon)
        try:
            client.call(method, **params)
        except ControlError as error:
            assert error.code in ("invalid", "invalid-config", "refused")  # noqa: PT017
            assert (row(client, "running-config"), in_force(daemon)) == before
        assert row(client, "status")["switches"] in (0, 1)
        assert client.call("reload", dry_run=True) is not None


def test_a_start_that_fails_leaves_no_socket(stopped: RunningDaemon) -> None:
    text = stopped.path.read_text().replace(f"{stopped.folder}/hosts.sock", "192.0.2.1:1")
    stopped.path.write_text(text)
    with pytest.raises(UserError, match="cannot listen there"):
        stopped.start()
    assert not (stopped.folder / "control.sock").exists()


class Drained:
    """A writer whose client reads when the test says so."""

    def __init__(self) -> None:
        self.transport, self.read = self, asyncio.Event()

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: bytes) -> None:
        pass

    async def drain(self) -> None:
        await self.read.wait()


def test_who_ends_a_session_is_heard_whenever_that_is() -> None:
    """Clients that called without a pause kept a daemon from ending."""

    async def run() -> None:
        for turns in range(4):
            writer = Drained()
            session = Session(cast("asyncio.StreamWriter", writer), ServerCounters(), "x")
            task = asyncio.create_task(session.reply(Reply(1, None, None)))
            await asyncio.sleep(0.001)
            writer.read.set()
            for _ in range(turns):
                await asyncio.sleep(0)
            heard = task.cancel()
            await asyncio.wait([task])
            assert task.cancelled() is heard

    asyncio.run(run())
