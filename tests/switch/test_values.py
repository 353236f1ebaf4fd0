"""Values that C cannot hold: refused by name, not cut or wrapped."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
from memory_host import fresh_opening, mac

from ndpstack.switch import (
    FaultsConfig,
    GroupConfig,
    Opening,
    PhantomConfig,
    PortConfig,
    QueueConfig,
    Switch,
    SwitchConfig,
    SwitchError,
    TrimConfig,
    Worker,
    WorkerConfig,
    mixed_queue,
    queue,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

DROPTAIL = queue("droptail", limit="64pkt")


@pytest.fixture
def switch() -> Iterator[Switch]:
    with Switch(SwitchConfig(name="s", routes=16)) as made:
        made.add_port(PortConfig(name="p", opening=fresh_opening(), queue=DROPTAIL))
        yield made


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "a\0b"},
        {"name": "\udc80"},
        {"packets": -1},
        {"packets": 2**32},
        {"aging_ns": -1},
        {"learning": 2},
        {"seed": 2**64},
    ],
)
def test_a_switch_names_what_it_refuses(wrong: dict[str, object]) -> None:
    ((name, value),) = wrong.items()
    settings: dict[str, object] = {"name": "s", **wrong}
    with pytest.raises(SwitchError) as refused:
        Switch(SwitchConfig(**settings))  # type: ignore[arg-type]
    assert f"{name} = {value!r}" in str(refused.value)


@pytest.mark.parametrize("wire", [{"ndp_port": -1}, {"dscp_homa": [0] * 9}, {"no_such": 1}])
def test_the_wire_names_what_it_refuses(wire: dict[str, object]) -> None:
    ((name, value),) = wire.items()
    with pytest.raises(SwitchError) as refused:
        Switch(SwitchConfig(name="s", wire=wire))
    assert f"switch s: wire: {name} = {value!r}" in str(refused.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"device": "a\0b"},
        {"netns": "a\0b"},
        {"backend": "x"},
        {"take": "x"},
        {"xdp_mode": "x"},
        {"mtu": -1},
        {"rx_frames": 2**32},
        {"tx_frames": -1},
        {"listen": 2},
        {"queue_first": -1},
        {"queues": 2**32},
    ],
)
def test_an_opening_names_what_it_refuses(switch: Switch, wrong: dict[str, object]) -> None:
    ((name, value),) = wrong.items()
    settings: dict[str, object] = {"backend": "memory", "device": "d", "listen": True, **wrong}
    opening = Opening(**settings)  # type: ignore[arg-type]
    with pytest.raises(SwitchError) as refused:
        switch.add_port(PortConfig(name="q", opening=opening, queue=DROPTAIL))
    assert f"{name} = {value!r}" in str(refused.value)
    assert list(switch.ports()) == ["p"]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"rate_bps": -1}, "port p: rate_bps = -1"),
        ({"catch_up_ns": 2**64}, f"port p: catch_up_ns = {2**64}"),
        ({"trim": TrimConfig(size=-1)}, "port p: trim: size = -1"),
        ({"trim": TrimConfig(dscp=64)}, "port p: trim: dscp = 64 is not 0 to 63"),
        ({"trim": TrimConfig(dscp=300)}, "port p: trim: dscp = 300 is not 0 to 63"),
        ({"trim": TrimConfig(pcp=8)}, "port p: trim: pcp = 8 is not 0 to 7"),
        ({"phantom": PhantomConfig(rate_bps=-1)}, "port p: phantom: rate_bps = -1"),
        ({"faults": FaultsConfig(delay_ns=-1)}, "port p: faults: delay_ns = -1"),
        ({"faults": FaultsConfig(loss=2)}, "port p: faults: loss = 2 is not a probability"),
        ({"queue": QueueConfig(discipline="droptail\0")}, "discipline = 'droptail\\x00'"),
        ({"queue": dataclasses.replace(mixed_queue(), quanta=(1, -1))}, "quanta = -1"),
    ],
)
def test_a_port_names_what_it_refuses(switch: Switch, wrong: dict[str, object], text: str) -> None:
    port = switch.ports()["p"]
    with pytest.raises(SwitchError) as refused:
        switch.set_port(dataclasses.replace(port, **wrong))  # type: ignore[arg-type]
    assert text in str(refused.value)
    assert switch.ports()["p"] == port
    switch.set_port(dataclasses.replace(port, trim=TrimConfig(dscp=63, pcp=7)))


def test_a_port_s_name_is_whole_in_captures(switch: Switch) -> None:
    with pytest.raises(SwitchError, match="has a NUL"):
        switch.add_port(PortConfig(name="a\0b", opening=fresh_opening(), queue=DROPTAIL))


def test_a_group_names_what_it_refuses(switch: Switch) -> None:
    for wrong, text in (
        ({"mode": "x"}, "group g: mode = 'x'"),
        ({"divisor": 0}, "group g: divisor = 0"),
        ({"divisor": -1}, "group g: divisor = -1"),
    ):
        config = GroupConfig(name="g", ports=("p",))
        with pytest.raises(SwitchError, match=text):
            switch.add_group(dataclasses.replace(config, **wrong))
    assert switch.groups() == {}


@pytest.mark.parametrize("wrong", [{"polling": "x"}, {"spin_ns": -1}, {"cpu": -2}, {"cpu": 2**40}])
def test_a_worker_names_what_it_refuses(wrong: dict[str, object]) -> None:
    ((name, value),) = wrong.items()
    with pytest.raises(SwitchError) as refused:
        Worker(WorkerConfig(**wrong))  # type: ignore[arg-type]
    assert f"worker: {name} = {value!r}" in str(refused.value)


def test_a_mirror_names_what_it_refuses(switch: Switch) -> None:
    for wrong, text in (
        ({"direction": "x"}, "mirror: direction = 'x'"),
        ({"snaplen": -1}, "mirror: snaplen = -1"),
        ({"frames": 2**32}, f"mirror: frames = {2**32}"),
    ):
        with pytest.raises(SwitchError, match=text):
            switch.mirror(**wrong)


def test_addresses_are_of_vlans_that_there_are(switch: Switch) -> None:
    switch.set_address(mac(1), "p", 4094)
    for vlan in (-1, 4095, 65535, 65536):
        with pytest.raises(SwitchError, match=f"vlan = {vlan} is not 0 to 4094"):
            switch.set_address(mac(1), "p", vlan)
    with pytest.raises(SwitchError, match="vlan = 65536 is not 0 to 4095"):
        switch.remove_address(mac(1), 65536)
    assert [row.vlan for row in switch.fdb()] == [4094]
    switch.remove_address(mac(1), 4094)


def test_a_route_has_no_more_hops_than_the_core_keeps(switch: Switch) -> None:
    with pytest.raises(SwitchError, match="at most 32 next hops"):
        switch.add_route("10.0.0.0/8", "p", {str(number): mac(1) for number in range(300)})
