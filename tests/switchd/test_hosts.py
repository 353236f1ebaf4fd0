"""Hosts get their settings, hear of changes at once, and go on when the daemon is away."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_host import fresh_opening
from running_daemon import CONFIG, RunningDaemon
from timed import check_time

import ndpstack
from ndpstack._errors import UserError
from ndpstack.control import Client, ControlError
from ndpstack.paths import HostSettings, PathWatcher, SettingsError

if TYPE_CHECKING:
    from pathlib import Path

CHANGES = 20
TOLD_SECONDS_MAX = 0.01
"""From a link's change until a host has the settings that follow from it."""


def watcher(daemon: RunningDaemon, **arguments: object) -> PathWatcher:
    return PathWatcher(str(daemon.folder / "hosts.sock"), **arguments)  # type: ignore[arg-type]


def test_a_host_is_told_all_that_it_needs(daemon: RunningDaemon) -> None:
    with watcher(daemon, host="h1") as host:
        settings = host.wait()
        assert host.connected
    assert settings.link_rate_bps == 10**10
    assert settings.mtu == 1500
    assert settings.link_up
    assert [path.id for path in settings.paths_to("10.0.0.7")] == [1, 2]
    assert settings.priority_levels == 8
    assert settings.trimming.enabled
    assert len(settings.trimming.dscp_trimmed) == 1
    assert HostSettings.from_wire(settings.to_wire()) == (settings, {})


def test_a_host_is_found_by_its_address(daemon: RunningDaemon) -> None:
    with watcher(daemon, addresses=["10.0.0.9", "10.0.0.1"]) as host:
        assert host.wait().host == "h1"
    with Client(str(daemon.folder / "hosts.sock")) as client:
        with pytest.raises(ControlError, match=r"add \[host\.NAME\]"):
            client.call("subscribe", addresses=["10.0.0.9"])
        with pytest.raises(ControlError, match=r"'h2' is no host.*did you mean|there are"):
            client.call("subscribe", host="h2")
        with pytest.raises(ControlError, match="appear to be"):
            client.call("subscribe", addresses=["x"])
        with pytest.raises(ControlError, match="hosts may call"):
            client.call("set", items=["daemon.log=debug"])


def test_a_link_that_goes_down_takes_its_paths_out(daemon: RunningDaemon) -> None:
    """R-NRT-05, from the switch's side."""
    with watcher(daemon, host="h1") as host:
        before = host.wait()
        manager = daemon.daemon.manager
        live = manager.live["tor0"]
        manager._set_link("tor0", live, live.ports["h2"], up=False)
        after = host.wait(after_generation=before.generation)
        assert [path.id for path in after.paths] == [2]
        manager._set_link("tor0", live, live.ports["h2"], up=True)
        assert len(host.wait(after_generation=after.generation).paths) == 2
    with daemon.client() as client:
        row = cast("list[dict[str, object]]", client.call("show.paths"))[0]
        assert row["state"] == "up"


@pytest.mark.timed
def test_hosts_hear_of_changes_within_ten_milliseconds(daemon: RunningDaemon) -> None:
    heard = threading.Event()
    with watcher(daemon, host="h1", on_change=lambda _: heard.set()) as host:
        host.wait()
        live = daemon.daemon.manager.live["tor0"]
        taken = []
        for up in (False, True) * 5:
            heard.clear()
            began = time.perf_counter()
            daemon.daemon.manager._set_link("tor0", live, live.ports["h2"], up=up)
            assert heard.wait(5)
            taken.append(time.perf_counter() - began)
    check_time(sorted(taken)[len(taken) // 2], TOLD_SECONDS_MAX)


def test_hosts_go_on_when_the_daemon_is_away(daemon: RunningDaemon, tmp_path: Path) -> None:
    with watcher(daemon, host="h1") as host:
        before = host.wait()
        daemon.stop()
        deadline = time.monotonic() + 5
        while host.connected and time.monotonic() < deadline:
            time.sleep(0.001)
        assert not host.connected
        assert host.settings == before
        again = RunningDaemon(tmp_path)
        again.write(CONFIG.replace("10Gbit", "1Gbit"))
        again.start()
        try:
            while not host.connected and time.monotonic() < deadline:
                time.sleep(0.001)
            assert host.connected
            settings = host.settings
            assert settings is not None
            assert settings.link_rate_bps == 10**9
        finally:
            again.stop()


def test_a_host_can_wait_for_a_daemon(stopped: RunningDaemon) -> None:
    with watcher(stopped, host="h1") as host:
        with pytest.raises(UserError, match="no settings"):
            host.wait(timeout_seconds=0.05)
        stopped.start()
        assert host.wait().host == "h1"


def test_a_reload_tells_hosts(daemon: RunningDaemon) -> None:
    with watcher(daemon, host="h1") as host, daemon.client() as client:
        before = host.wait()
        client.call("set", items=["switch.tor0.port.h1.rate=40Gbit", "priorities.levels=4"])
        after = host.wait(after_generation=before.generation)
        while after.priority_levels == 8:
            after = host.wait(after_generation=after.generation)
        assert after.link_rate_bps == 40 * 10**9
        assert after.priority_levels == 4
        shown = cast("list[dict[str, object]]", client.call("show.hosts"))
        assert shown[0]["connected"] == 1
        assert shown[0]["generation"] == after.generation


WIRE = HostSettings("h", 1, 10, 1500, link_up=True, cutoffs=(1,)).to_wire()


@given(
    st.sampled_from(sorted(WIRE)),
    st.one_of(st.none(), st.integers(), st.text(), st.lists(st.integers()), st.just({"id": 1})),
)
def test_settings_that_are_none_are_refused(name: str, value: object) -> None:
    with suppress(SettingsError):
        settings, refused = HostSettings.from_wire(WIRE | {name: value})
        assert isinstance(settings, HostSettings)
        assert refused.keys() <= {name}


@pytest.mark.timed
@pytest.mark.parametrize("how", ["set", "reload"])
def test_a_core_has_a_change_within_ten_milliseconds(
    daemon: RunningDaemon, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the moment that the daemon has it; what reading the files takes is printed beside it."""
    opening = fresh_opening()
    config = ndpstack.StackConfig(
        name=opening.device, backend="memory", address="10.0.0.1", listen=True,
        switchd=str(daemon.folder / "hosts.sock"),
    )  # fmt: skip
    whole, told = [], []
    with ndpstack.Stack(config) as stack, daemon.client() as client:
        for gigabits in range(1, CHANGES + 1):
            if how == "reload":
                daemon.write(CONFIG.replace("10Gbit", f"{gigabits}Gbit"))
            began = time.perf_counter()
            items = [f"switch.tor0.port.h1.rate={gigabits}Gbit"]
            client.call("set", items=items) if how == "set" else client.call("reload")
            answered = time.perf_counter()
            while rate_of(stack) != gigabits * 10**9:
                assert time.perf_counter() < began + 10
                time.sleep(0.0002)
            whole.append(time.perf_counter() - began)
            told.append(max(0.0, time.perf_counter() - answered))
    with capsys.disabled():
        for name, times in ((f"{how} until the core has it", whole), ("  after the answer", told)):
            found = [f"p{share} {1000 * at(times, share):.2f} ms" for share in (50, 99)]
            print(f"\n{name}: {', '.join(found)}", end="")
    check_time(at(told, 50), TOLD_SECONDS_MAX)


def rate_of(stack: ndpstack.Stack) -> object:
    told = stack.told()
    assert told is not None
    settings = cast("dict[str, dict[str, object]]", told["settings"])
    return settings["link_rate_bps"]["value"]


def at(times: list[float], percent: int) -> float:
    return sorted(times)[len(times) * percent // 100]
