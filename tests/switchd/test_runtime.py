"""Plans are carried out whole or not at all, and failures of devices are mended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from fake_dataplane import FakeDataPlane
from hypothesis import given
from hypothesis import strategies as st

from ndpstack.switch import GroupConfig
from switchd.config import from_table
from switchd.dataplane import DataPlaneError
from switchd.plan import Forwarding, Plan, RoutePlan, build_plan
from switchd.runtime import Manager

if TYPE_CHECKING:
    from collections.abc import Callable

    from ndpstack.toml import Table


def plan(**switches: dict[str, object]) -> Plan:
    return build_plan(from_table({"switch": cast("Table", switches)}, Path("/")))


def ports(*names: str, **settings: object) -> dict[str, object]:
    return {name: {"backend": "packet", **settings} for name in names}


def state(plane: FakeDataPlane) -> dict[str, object]:
    """All that a data path is, identity of sockets included."""
    return {
        name: (
            switch.base,
            switch.forwarding,
            {port: (fake.serial, fake.plan, fake.link_up) for port, fake in switch.ports.items()},
        )
        for name, switch in plane.switches.items()
    }


def plans(plane: FakeDataPlane) -> dict[str, object]:
    """What is configured."""
    return {
        name: (
            switch.base,
            switch.forwarding,
            {port: fake.plan for port, fake in switch.ports.items()},
        )
        for name, switch in plane.switches.items()
    }


def test_unchanged_ports_keep_their_sockets_and_counters() -> None:
    plane = FakeDataPlane()
    manager = Manager(plane)
    manager.apply(plan(a={"port": ports("p1", "p2")}))
    plane.switches["a"].ports["p1"].counters["port"]["rx_frames"] = 7
    before = {name: port.serial for name, port in plane.switches["a"].ports.items()}
    new = {**ports("p1"), **ports("p2", rate="1Gbit"), **ports("p3")}
    changes = manager.apply(plan(a={"port": new}))
    assert [(change.kind, change.what) for change in changes] == [
        ("change", "port a/p2"),
        ("add", "port a/p3"),
    ]
    after = {name: port.serial for name, port in plane.switches["a"].ports.items()}
    assert before.items() <= after.items()
    assert plane.switches["a"].ports["p1"].counters["port"]["rx_frames"] == 7
    assert "rate_bps: 0 -> 1000000000" in "\n".join(changes[0].lines())


def test_a_port_is_opened_again_only_if_its_device_changes() -> None:
    """X22: a reload attaches nothing anew; some NICs' links go down for seconds when one does."""
    plane = FakeDataPlane()
    manager = Manager(plane)
    manager.apply(plan(a={"port": ports("p1", "p2")}))
    serial = plane.switches["a"].ports["p1"].serial
    changes = manager.apply(plan(a={"port": {**ports("p1", mtu="1400B"), **ports("p2")}}))
    assert [change.kind for change in changes] == ["reopen"]
    assert plane.switches["a"].ports["p1"].serial != serial


def test_counters_survive_a_change_of_the_device() -> None:
    plane = FakeDataPlane()
    manager = Manager(plane)
    manager.apply(plan(a={"port": ports("p1", "p2")}))
    for name, count in ("p1", 7), ("p2", 9):
        plane.switches["a"].ports[name].counters["port"]["rx_frames"] = count
    crossed = {"p1": {"device": "p2"}, "p2": {"device": "p1"}}
    settings = {name: {"backend": "packet", "rate": "1Gbit", **d} for name, d in crossed.items()}
    manager.apply(plan(a={"port": settings}))
    after = plane.switches["a"].ports
    assert [port.plan.opening.device for port in after.values()] == ["p2", "p1"]
    assert [port.counters["port"]["rx_frames"] for port in after.values()] == [7, 9]
    assert {port.plan.rate_bps for port in after.values()} == {10**9}
    assert all(manager.forwards(f"a/{name}") for name in after)


def test_a_device_moves_from_one_port_to_another() -> None:
    plane = FakeDataPlane()
    manager = Manager(plane)
    manager.apply(plan(a={"port": {"p1": {"device": "eth1"}}}))
    manager.apply(plan(a={"port": {"p2": {"device": "eth1"}}}))
    manager.apply(plan(b={"port": {"p3": {"device": "eth1"}}}))
    assert list(plane.switches) == ["b"]
    manager.apply(plan(b={"packets": 128, "port": {"p3": {"device": "eth1"}}}))
    assert plane.switches["b"].base.packets == 128
    manager.apply(plan())
    assert not plane.open


TOPOLOGIES: list[Callable[[], Plan]] = [
    lambda: plan(),
    lambda: plan(a={"port": ports("p1", "p2")}),
    lambda: plan(a={"port": ports("p1", "p2", rate="1Gbit")}),
    lambda: plan(a={"port": {"p2": {"device": "p1", "backend": "packet"}}}),
    lambda: plan(
        a={
            "port": {
                "p1": {"device": "p2", "backend": "packet"},
                "p2": {"device": "p1", "backend": "packet", "rate": "1Gbit"},
            }
        }
    ),
    lambda: plan(a={"port": ports("p2", "p3", mtu="1400B"), "packets": 256}),
    lambda: plan(a={"port": ports("p1")}, b={"port": ports("p2", "p3")}),
    lambda: plan(
        b={
            "port": ports("p1", "p2", "p3"),
            "group": {"g": {"ports": ["p1", "p2"]}},
            "address": [{"mac": "02:00:00:00:00:01", "to": "g"}],
        }
    ),
]


@given(
    st.lists(st.tuples(st.sampled_from(TOPOLOGIES), st.integers(-1, 12)), max_size=8),
    st.sampled_from([DataPlaneError, RuntimeError]),
)
def test_a_change_that_fails_leaves_everything_as_it_was(
    steps: list[tuple[Callable[[], Plan], int]], failure: type[Exception]
) -> None:
    """Never half-applied: whichever step of whichever change fails, foreseen or not."""
    plane = FakeDataPlane()
    plane.failure = failure
    manager = Manager(plane)
    for make, fail_at in steps:
        before, in_force = plans(plane), manager.plan
        plane.fail_at = fail_at
        try:
            manager.apply(make())
        except failure:
            plane.fail_at = -1
            assert plans(plane) == before
            assert manager.plan == in_force
        else:
            plane.fail_at = -1
            assert manager.plan == make()
            assert {name: set(switch.ports) for name, switch in plane.switches.items()} == {
                name: set(switch.ports) for name, switch in make().items()
            }


def test_a_failed_change_closes_no_socket_that_was_open() -> None:
    plane = FakeDataPlane()
    manager = Manager(plane)
    manager.apply(plan(a={"port": ports("p1", "p2")}))
    before = state(plane)
    plane.absent.add("p9")
    with pytest.raises(DataPlaneError, match="p9"):
        manager.apply(plan(a={"port": {**ports("p1", rate="1Gbit"), **ports("p9")}}))
    assert state(plane) == before


def test_a_failed_change_leaves_what_leads_to_a_port_that_was_closed_on_the_way() -> None:
    plane = FakeDataPlane()
    manager = Manager(plane)
    forwarding = {
        "group": {"g": {"ports": ["p1", "p2"]}},
        "address": [{"mac": "02:00:00:00:00:01", "to": "p2"}],
        "route": [{"prefix": "10.0.0.0/8", "to": "p2"}],
    }
    before = plan(a={"forwarding": "fib", "port": ports("p1", "p2"), **forwarding})
    manager.apply(before)
    plane.absent.add("p9")
    new = {"p3": {"backend": "packet", "device": "p2"}, **ports("p1", "p9")}
    with pytest.raises(DataPlaneError, match="p9"):
        manager.apply(plan(a={"forwarding": "fib", "port": new}))
    assert "remove a/p2" in plane.log
    assert plane.switches["a"].forwarding == before["a"].forwarding


def test_a_device_that_is_not_there_is_waited_for() -> None:
    plane = FakeDataPlane()
    changes: list[int] = []
    manager = Manager(plane)
    manager.on_change = lambda: changes.append(1)
    plane.absent.add("p2")
    group = {"g": {"ports": ["p1", "p2"]}}
    manager.apply(plan(a={"port": ports("p1", "p2"), "group": group}), tolerant=True)
    assert not manager.forwards("a/p2")
    assert plane.switches["a"].ports["p2"].plan.opening.backend == "memory"
    assert not plane.switches["a"].ports["p2"].link_up
    manager.apply(plan(a={"port": {**ports("p1"), **ports("p2", rate="1Gbit")}, "group": group}))
    assert plane.switches["a"].ports["p2"].plan.rate_bps == 10**9, "a stand-in is configured, too"
    manager.supervise()
    assert not manager.forwards("a/p2"), "it is not yet time"
    plane.absent.clear()
    manager.live["a"].ports["p2"].retry_at = 0
    manager.supervise()
    assert manager.forwards("a/p2")
    assert plane.switches["a"].ports["p2"].plan.opening.device == "p2"
    assert manager.live["a"].ports["p2"].reopened == 1


def test_a_device_that_vanishes_is_opened_again_when_it_returns() -> None:
    plane = FakeDataPlane()
    present = {"p1"}
    manager = Manager(plane)
    manager.present = lambda opening: opening.device in present
    manager.apply(plan(a={"port": ports("p1")}))
    plane.switches["a"].ports["p1"].state = "gone"
    plane.switches["a"].ports["p1"].reason = "p1 was deleted"
    plane.absent.add("p1")
    present.clear()
    manager.supervise()
    assert "no such device" in manager.live["a"].ports["p1"].error
    plane.absent.clear()
    manager.live["a"].ports["p1"].retry_at = 0
    manager.supervise()
    assert not manager.forwards("a/p1"), "the kernel has not told of it"
    present.add("p1")
    manager.supervise()
    assert manager.forwards("a/p1")


def test_an_interface_that_returns_down_is_down() -> None:
    plane = FakeDataPlane()
    links: dict[str, bool] = {}
    manager = Manager(plane)
    manager.link = lambda opening: links.get(opening.device)
    manager.apply(plan(a={"port": ports("p1", "p2")}))
    assert all(manager.forwards(f"a/{name}") for name in ("p1", "p2")), "nothing is known of them"
    links.update(p1=False, p3=False, p4=True)
    plane.switches["a"].ports["p1"].state = "gone"
    manager.supervise()
    assert manager.live["a"].ports["p1"].reopened == 1
    assert not manager.forwards("a/p1")
    other = {"backend": "packet", "device": "p3"}
    manager.apply(plan(a={"port": {**ports("p1"), "p2": other}}))
    assert not manager.forwards("a/p2"), "its device is another one"
    assert not plane.switches["a"].ports["p2"].link_up
    manager.apply(plan(a={"port": {**ports("p1", "p4"), "p3": other}}))
    assert not manager.forwards("a/p3")
    assert manager.forwards("a/p4")
    links["p1"] = True
    manager.link_changed("", "p1", up=True)
    assert manager.forwards("a/p1")


def test_ports_in_a_namespace_that_was_made_anew_are_opened_again() -> None:
    plane = FakeDataPlane()
    present: set[str] = set()
    manager = Manager(plane)
    manager.present = lambda opening: opening.device in present
    manager.apply(plan(a={"port": {**ports("p1", netns="x"), **ports("p2", netns="y")}}))
    before = {name: port.serial for name, port in plane.switches["a"].ports.items()}
    manager.namespace_left("x")
    manager.link_changed("x", "p1", up=False)
    assert manager.waits()
    manager.supervise()
    assert "x was deleted" in manager.live["a"].ports["p1"].error
    present.add("p1")
    manager.link_changed("x", "p1", up=True)
    manager.supervise()
    assert manager.forwards("a/p1")
    after = {name: port.serial for name, port in plane.switches["a"].ports.items()}
    assert [name for name in before if before[name] != after[name]] == ["p1"]


def test_a_link_that_goes_down_takes_its_port_out() -> None:
    plane = FakeDataPlane()
    changes: list[int] = []
    manager = Manager(plane)
    manager.on_change = lambda: changes.append(1)
    manager.apply(plan(a={"port": ports("p1", netns="x")}))
    changes.clear()
    assert not manager.link_changed("", "p1", up=False)
    assert manager.link_changed("x", "p1", up=False)
    assert manager.link_changed("x", "p1", up=False)
    assert len(changes) == 1
    assert not plane.switches["a"].ports["p1"].link_up
    assert manager.link_changed("x", "p1", up=True)
    assert plane.switches["a"].ports["p1"].link_up
    manager.apply(plan(a={"port": ports("p1", netns="x", enabled=False)}))
    manager.link_changed("x", "p1", up=False)
    manager.link_changed("x", "p1", up=True)
    assert not plane.switches["a"].ports["p1"].link_up, "disabled by the operator"


def test_configured_routes_go_over_the_kernels() -> None:
    plane = FakeDataPlane()
    manager = Manager(plane)
    route = [{"prefix": "10.0.0.0/8", "to": "p1"}]
    manager.apply(plan(a={"forwarding": "fib", "port": ports("p1", "p2"), "route": route}))
    kernel = Forwarding(
        groups=(GroupConfig(name="k0", ports=("p1", "p2")),),
        routes={"10.0.0.0/8": RoutePlan("p2"), "10.1.0.0/16": RoutePlan("k0")},
    )
    manager.set_kernel_routes("a", kernel)
    manager.set_kernel_routes("nobody", kernel)
    forwarding = plane.switches["a"].forwarding
    assert {prefix: route.to for prefix, route in forwarding.routes.items()} == {
        "10.0.0.0/8": "p1",
        "10.1.0.0/16": "k0",
    }
