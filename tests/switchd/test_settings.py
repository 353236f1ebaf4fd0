"""Keys of settings at run time: names with dots, dashes and underscores in them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from running_daemon import CONFIG

from ndpstack._errors import UserError
from ndpstack.control import ControlError
from ndpstack.sweep import Vary
from ndpstack.toml import join_keys, override, split_keys, split_override, to_toml
from switchd.switchctl import main

if TYPE_CHECKING:
    from pathlib import Path

    from running_daemon import RunningDaemon

DOTTED = """
[switch.tor0.port."eth0.100"]
backend = "memory"
"""
SIMILAR = """
[switch.tor0.port.h_1]
backend = "memory"

[switch.tor0.port.h-1]
backend = "memory"
"""


@pytest.fixture
def named(stopped: RunningDaemon) -> RunningDaemon:
    """A daemon with a VLAN's interface, and two whose names differ in a dash."""
    stopped.write(CONFIG + DOTTED + SIMILAR)
    stopped.start()
    return stopped


def rates(daemon: RunningDaemon) -> dict[str, int]:
    ports = daemon.plane.switches["tor0"].ports
    return {name: port.plan.rate_bps // 10**9 for name, port in ports.items()}


@pytest.mark.parametrize(
    ("text", "keys", "rest"),
    [
        ("a.0.c=1=2", ["a", "0", "c"], "=1=2"),
        (" a . b-c_d = 1", ["a", "b-c_d"], "= 1"),
        ("a.'b.c=d'.e", ["a", "b.c=d", "e"], ""),
        ('a."b\\".c" = "x.y"', ["a", 'b".c'], '= "x.y"'),
        ("host.a b=", ["host", "a b"], "="),
    ],
)
def test_keys_are_written_as_toml_has_them(text: str, keys: list[str], rest: str) -> None:
    assert split_keys(text) == (keys, rest)


@pytest.mark.parametrize(
    "text", ["", "=1", "a.=1", "a..b=1", ".a=1", "a.'b=1", 'a."b"c=1', "a.b'c'=1", 'a."\\x"=1']
)
def test_what_are_no_keys_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"no keys|is no key"):
        split_keys(text)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=4))
def test_keys_read_back(keys: list[str]) -> None:
    assert split_override(f"{join_keys(keys)}=1") == (keys, "1")
    table = override({}, f"{join_keys(keys)}=1")
    for key in keys[:-1]:
        table = cast("dict[str, object]", table[key])
    assert table == {keys[-1]: 1}


def test_a_sweep_keeps_quotes() -> None:
    assert Vary.parse("transport.'a.b'.x=1,2").key == 'transport."a.b".x'


def test_ports_with_dots_in_their_names_are_set_and_unset(named: RunningDaemon) -> None:
    """A VLAN's interface could not be named."""
    key = "switch.tor0.port.'eth0.100'.rate"
    with named.client() as client:
        client.call("set", items=[f"{key}=5Gbit"])
        assert rates(named)["eth0.100"] == 5
        client.call("unset", items=[key])
        assert rates(named)["eth0.100"] == 0
        with pytest.raises(ControlError, match="not set at run time"):
            client.call("unset", items=[f"{key}=5Gbit"])


def test_switchctl_quotes_names(named: RunningDaemon, tmp_path: Path) -> None:
    socket = ["--socket", str(tmp_path / "control.sock")]
    assert main([*socket, "fault", "tor0/eth0.100", "loss=50%"]) == 0
    assert named.plane.switches["tor0"].ports["eth0.100"].plan.faults.loss == 0.5
    mirror = [*socket, "mirror", "tor0", "m.0"]
    assert main([*mirror, "--source", "eth0.100", "--file", "m.pcapng"]) == 0
    assert named.plane.switches["tor0"].taps[0].ports == ("eth0.100",)
    assert main([*mirror, "--remove"]) == 0
    assert named.plane.switches["tor0"].taps[0].closed


@pytest.mark.parametrize(("first", "second"), [("h-1", "h_1"), ("h_1", "h-1")])
def test_names_that_differ_in_a_dash_are_two(named: RunningDaemon, first: str, second: str) -> None:
    """What was set of one was set of the other, and unset."""
    with named.client() as client:
        client.call("set", items=[f"switch.tor0.port.{first}.rate=1Gbit"])
        client.call("set", items=[f"switch.tor0.port.{second}.rate=2Gbit"])
        assert (rates(named)[first], rates(named)[second]) == (1, 2)
        client.call("unset", items=[f"switch.tor0.port.{first}.rate"])
        assert (rates(named)[first], rates(named)[second]) == (0, 2)


def test_fields_may_have_dashes_or_underscores(named: RunningDaemon) -> None:
    port = named.plane.switches["tor0"].ports["h1"]
    key = "switch.tor0.port.h1"
    with named.client() as client:
        for items in (
            [f"{key}.catch-up=1ms", f"{key}.faults.reorder_max=1us"],
            [f"{key}.catch_up=2ms", f"{key}.faults.reorder-max=2us"],
        ):
            client.call("set", items=items)
        assert (port.plan.catch_up_ns, port.plan.faults.reorder_ns_max) == (2_000_000, 2000)
        client.call("set", items=["switch.tor0.wire.ndp-port=1"])
        client.call("set", items=["switch.tor0.wire.ndp_port=2"])
        assert named.plane.switches["tor0"].base.wire["ndp_port"] == 2
        client.call("unset", items=[f"{key}.catch-up", "switch.tor0.wire.ndp-port"])
        shown = client.call("show.running-config")
    assert "catch" not in json.dumps(shown)
    assert "ndp" not in to_toml(named.daemon.controller.overrides)
