"""What the data path in C forwards by, when its tables are full or a change fails halfway."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from memory_host import fresh_opening

from ndpstack.switch import GroupConfig, PortConfig, QueueConfig, Worker, WorkerConfig
from switchd.dataplane import DataPlaneError
from switchd.dataplane._real import RealSwitch
from switchd.plan import Forwarding, RoutePlan
from switchd.plan._types import BasePlan

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUTES = 16
MAC, HOP = "02:00:00:00:00:01", "02:00:00:00:00:02"


class Switch:
    """A router of two ports."""

    def __init__(self, worker: Worker) -> None:
        self.real = RealSwitch(BasePlan(name="s", routes=ROUTES, fib=True), worker)
        queue = QueueConfig(discipline="droptail", settings={"limit": {"packets": 10}})
        self.ports = {
            name: PortConfig(name=name, opening=fresh_opening(), queue=queue) for name in ("a", "b")
        }
        for port in self.ports.values():
            self.real.add_port(port)

    def wait_for_routes(self, count: int) -> None:
        """The count is published now and then."""
        deadline = time.monotonic() + 5
        while (found := self.real._switch.read().routes) != count:
            assert time.monotonic() < deadline, found
            time.sleep(0.001)

    def addresses(self) -> dict[str, str]:
        return {entry.mac: entry.to for entry in self.real.addresses()}


@pytest.fixture
def switch() -> Iterator[Switch]:
    worker = Worker(WorkerConfig())
    made = Switch(worker)
    yield made
    made.real.close()
    worker.close()


def routes(numbers: range, to: str = "a") -> dict[str, RoutePlan]:
    return {f"10.{number}.0.0/16": RoutePlan(to) for number in numbers}


def test_a_table_that_is_full_can_be_edited(switch: Switch) -> None:
    switch.real.set_forwarding(Forwarding(routes=routes(range(ROUTES))))
    switch.real.set_forwarding(Forwarding(routes=routes(range(1, ROUTES + 1))))
    switch.wait_for_routes(ROUTES)


def test_a_change_that_fails_halfway_can_be_taken_back(switch: Switch) -> None:
    group = GroupConfig(name="g", ports=("a", "b"))
    before = Forwarding((group,), {MAC: "a"}, routes(range(3)))
    switch.real.set_forwarding(before)
    other = GroupConfig(name="g", ports=("b",))
    with pytest.raises(DataPlaneError, match="routes"):
        switch.real.set_forwarding(
            Forwarding((other,), {MAC: "b", HOP: "g"}, routes(range(ROUTES + 1), "b"))
        )
    switch.real.set_forwarding(before)
    assert switch.addresses() == {MAC: "a"}
    assert dict(switch.real._switch.groups()) == {"g": group}
    switch.wait_for_routes(3)


def test_routes_beyond_the_table_leave_nothing_behind(switch: Switch) -> None:
    with pytest.raises(DataPlaneError, match="routes"):
        switch.real.set_forwarding(Forwarding(routes=routes(range(ROUTES + 4))))
    switch.real.set_forwarding(Forwarding())
    switch.wait_for_routes(0)


def test_a_route_that_lost_a_next_hop_is_set_again_or_taken_out(switch: Switch) -> None:
    hops = {"a": MAC, "b": HOP}
    group, route = GroupConfig(name="g", ports=("a", "b")), {"10.0.0.0/8": RoutePlan("g", hops)}
    for after in (Forwarding((group,), {}, route), Forwarding((group,))):
        switch.real.set_forwarding(Forwarding((group,), {}, route))
        switch.real.remove_port("b")
        switch.real.add_port(switch.ports["b"])
        switch.real.set_forwarding(after)
        switch.wait_for_routes(len(after.routes))
