"""The switches of a blueprint, run by a switchd over ports of any kind."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, cast

import numpy as np

from ndpstack._core import lib
from ndpstack.sim._simulation import counter_names
from ndpstack.testbed._daemon import Switchd
from ndpstack.testbed._errors import TestbedError
from ndpstack.testbed._folder import temporary_folder
from ndpstack.testbed._settings import HOSTS_SOCKET, switchd_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

    from numpy.typing import NDArray

    from ndpstack.scenario import Scenario
    from ndpstack.testbed._blueprint import Blueprint
    from ndpstack.testbed._ports import PortName

UP_SECONDS = 30.0
"""How long the links may take to be up."""

Row = dict[str, object]


class Fabric:
    """All switches of a blueprint, in one daemon; a context manager.

    Args:
        scenario: Disciplines, routes and rates.
        drawing: Switches, their ports and routes.
        port: How the port of a node is opened.
        plain_packets: Above 0: switches as TCP knows them, that each flow crosses by one way and
            whose ports drop what exceeds so many packets.
        folder: Where the daemon's files are; one that lasts as long as the fabric when None.

    Raises:
        TestbedError: There are more switches, or ports of one, than a switchd runs, or they share
            a buffer.
    """

    def __init__(
        self,
        scenario: Scenario,
        drawing: Blueprint,
        port: Callable[[str, str], PortName],
        *,
        plain_packets: int = 0,
        folder: Path | None = None,
    ) -> None:
        self._drawing = drawing
        self._settings = switchd_settings(scenario, drawing, port, plain_packets=plain_packets)
        self._folder = folder
        self._stack = ExitStack()
        self._daemon: Switchd | None = None
        self.hosts = ""
        """Path of the socket where hosts are told their paths; empty when there are no switches."""

    def __enter__(self) -> Self:
        if self._drawing.plan.switches:
            with ExitStack() as stack:
                folder = self._folder or stack.enter_context(temporary_folder())
                own = cast("Row", self._settings["daemon"])
                settings = {
                    **self._settings,
                    "daemon": {**own, "hosts": str(folder / HOSTS_SOCKET)},
                }
                self._daemon = Switchd(folder, settings)
                self.hosts = str(folder / HOSTS_SOCKET)
                stack.callback(self._daemon.close)
                self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._daemon = None
        self._stack.close()

    @property
    def control(self) -> str:
        """Path of the daemon's control socket; empty when there are no switches."""
        return self._daemon.control if self._daemon else ""

    def wait(self) -> None:
        """Returns at once when there are no switches, else never.

        Raises:
            TestbedError: The daemon ended by itself.
        """
        if self._daemon is not None:
            self._daemon.wait()

    def wait_for_links(self) -> None:
        """Waits until every link is up, those to hosts included.

        Raises:
            TestbedError: One is not, after UP_SECONDS.
        """
        deadline = time.monotonic() + UP_SECONDS
        while down := [row for row in self._rows("ports") if row["state"] != "up"]:
            if time.monotonic() > deadline:
                first = down[0]
                raise TestbedError(
                    f"port {first['port']} of {first['switch']} is {first['state']} after "
                    f"{UP_SECONDS:.0f} s: {first['reason']}"
                )
            time.sleep(0.01)

    def set_link(self, a: str, b: str, *, up: bool) -> None:
        """Takes a cable without interfaces away, or puts it back: its switches' ports.

        Raises:
            TestbedError: There is no such cable.
        """
        plan = self._drawing.plan
        switches = {node.name for node in plan.switches}
        value = "true" if up else "false"
        link = plan.link(a, b)
        items = [
            f"switch.{node}.port.{port}.enabled={value}"
            for node, port in ((link.a, link.a_port), (link.b, link.b_port))
            if node in switches
        ]
        if self._daemon is not None and items:
            self._daemon.call("set", items=items)

    def queue_counters(self, ports: int) -> tuple[list[str], NDArray[np.uint64]]:
        """Names, and a row for each port as the simulator numbers them."""
        names = counter_names(lib.nd_queue_counters_table)
        column = {name: index for index, name in enumerate(names)}
        table = np.zeros((ports, len(names)), np.uint64)
        for row in self._rows("counters"):
            if row["group"] == "queue":
                place = self._drawing.ports[str(row["switch"]), str(row["port"])]
                table[place.number, column[str(row["counter"])]] = cast("int", row["value"])
        return names, table

    def conditions(self) -> dict[str, str]:
        """What the switches are."""
        if self._daemon is None:
            return {}
        modes = ", ".join(sorted({str(row["backend"]) for row in self._rows("ports")}))
        count = len(self._drawing.plan.switches)
        return {"switches": f"{count} in one switchd, ports {modes}"}

    def audit(self) -> str | None:
        """What breaks conservation in any switch, or None."""
        if self._daemon is None:
            return None
        found = cast("Row", self._daemon.call("show.runtime"))["audit"]
        return None if found == "ok" else str(found)

    def _rows(self, view: str) -> list[Row]:
        return cast("list[Row]", self._daemon.call(f"show.{view}")) if self._daemon else []
