"""A scenario's switches as a configuration of switchd: the same as the simulator's."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from ndpstack._disciplines import DISCIPLINES
from ndpstack.scenario import Scenario, load_scenario, parse_scenario, shipped_scenarios
from ndpstack.testbed import TestbedError
from ndpstack.testbed._blueprint import blueprint
from ndpstack.testbed._daemon import Switchd
from ndpstack.testbed._ports import port_names
from ndpstack.testbed._settings import switchd_settings
from ndpstack.toml import Place, to_toml
from ndpstack.toml.structs import apply, spelled, written
from switchd.config import from_table
from switchd.plan import Plan, build_plan

FABRIC = """
seed = 7
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts-per-leaf = 2
rate = "100Mbit"
[switch]
route = "source"
[switch.queue]
discipline = "ndp"
data = "12pkt"
[switch.ports.edge-down]
discipline = "strict"
total = "77KB"
phantom = { drain = "90%", threshold = "5KB", quantum = "3us" }
[transport.ndp]
mtu = "1500B"
[[traffic]]
kind = "permutation"
size = "30KB"
"""

PACKET_BYTES = 1538


def plan_of(scenario: Scenario, *, plain_packets: int = 0) -> Plan:
    """As the daemon has it after reading the file."""
    drawing = blueprint(scenario)
    port = port_names(drawing, None)
    table = switchd_settings(scenario, drawing, port, plain_packets=plain_packets)
    return build_plan(from_table(tomllib.loads(to_toml(table)), Path("/")))


def test_ports_have_the_disciplines_of_their_tiers() -> None:
    plan = plan_of(parse_scenario(FABRIC).scenario)
    down, up = plan["edge0"].ports["p0"], plan["edge0"].ports["p2"]
    assert (down.queue.discipline, up.queue.discipline) == ("strict", "ndp")
    assert down.queue.settings["total"] == {"bytes": 77_000, "packets": 0}
    data = up.queue.settings["data"]
    assert isinstance(data, dict)
    assert data["packets"] == 12
    assert (down.trim.last_hop, up.trim.last_hop) == (True, False)
    assert down.rate_bps == 100_000_000
    assert down.phantom is not None
    assert (down.phantom.rate_bps, down.phantom.threshold_bytes) == (90_000_000, 5000)
    assert down.phantom.quantum_ns == 3000
    assert up.phantom is None
    base = plan["edge0"].base
    assert (base.learning, base.fib) == (False, False)
    assert len({switch.base.seed for switch in plan.values()}) == len(plan)


def test_disciplines_side_by_side_reach_the_switch() -> None:
    """R-NSW-14: on real switches as in the simulator."""
    fair = '{discipline="fair", ndp={data="9pkt"}, others={discipline="strict"}, ndp-share="25%"}'
    plan = plan_of(parse_scenario(FABRIC, overrides=[f"switch.queue={fair}"]).scenario)
    queue = plan["edge0"].ports["p2"].queue
    assert queue.discipline == "fair"
    assert [child.discipline for child in queue.children] == ["ndp", "strict"]
    data = queue.children[0].settings["data"]
    assert isinstance(data, dict)
    assert data["packets"] == 9
    assert queue.quanta[0] * 3 == queue.quanta[1]


def test_forwarding_is_the_blueprints() -> None:
    scenario = parse_scenario(FABRIC).scenario
    drawing = blueprint(scenario)
    forwarding = plan_of(scenario)["edge0"].forwarding
    group = forwarding.groups[0]
    assert (group.mode, group.ports, group.divisor) == ("path", ("p2", "p3"), 1)
    port = port_names(drawing, None)
    assert forwarding.addresses == {
        port(host, "p0").mac.hex(":"): to
        for host, to in {"h0": "p0", "h1": "p1", "h2": group.name, "h3": group.name}.items()
    }


def test_plain_switches_are_those_of_tcp() -> None:
    plan = plan_of(parse_scenario(FABRIC).scenario, plain_packets=16)
    for switch in plan.values():
        assert {port.queue.discipline for port in switch.ports.values()} == {"droptail"}
        assert {group.mode for group in switch.forwarding.groups} <= {"flow"}
        for port in switch.ports.values():
            assert port.queue.settings["limit"] == {"bytes": 0, "packets": 16}
            assert port.phantom is None


def fits_on_a_machine(name: str) -> bool:
    try:
        return len(blueprint(load_scenario(name).scenario).plan.switches) <= 16
    except TestbedError:
        return False


@pytest.mark.parametrize(
    ("overrides", "text"),
    [
        (["topology.leaves=14", "topology.spines=3"], "17 switches are more than the 16"),
        (["topology.hosts-per-leaf=63"], "65 ports of edge0 are more than the 64"),
    ],
)
def test_what_one_switchd_cannot_run_is_refused(overrides: list[str], text: str) -> None:
    with pytest.raises(TestbedError, match=f"{text}.*--on sim"):
        plan_of(parse_scenario(FABRIC, overrides=overrides).scenario)


@pytest.mark.parametrize("name", [name for name in shipped_scenarios() if fits_on_a_machine(name)])
def test_every_shipped_scenario_is_a_configuration(name: str) -> None:
    assert plan_of(load_scenario(name).scenario)


@pytest.mark.parametrize(
    ("name", "preset"),
    [(name, preset) for name, found in DISCIPLINES.items() for preset in found.presets],
)
def test_settings_that_are_spelled_out_read_back(name: str, preset: str) -> None:
    found = DISCIPLINES[name]
    config = found.presets[preset](PACKET_BYTES)
    others = next(iter(found.presets.values()))(2 * PACKET_BYTES)
    text = to_toml(spelled(config, found.struct))
    apply(others, found.struct, tomllib.loads(text), PACKET_BYTES, Place("test"))
    assert written(others, found.struct) == written(config, found.struct)


def test_a_daemon_that_does_not_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match="did you mean 'switch'"):
        Switchd(tmp_path, {"swich": {}})
    assert not (tmp_path / "notify.sock").exists()
