"""The two worlds of real stacks: namespaces with AF_XDP, and memory within this process."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

from ndpstack._core import lib
from ndpstack._priority import real_time
from ndpstack.testbed import Lab
from ndpstack.testbed._blueprint import blueprint
from ndpstack.testbed._fabric import Fabric
from ndpstack.testbed._ports import PortName, port_names

if TYPE_CHECKING:
    from typing import Self

    from ndpstack._core import CData, nd_port_config
    from ndpstack.scenario import ScenarioFile
    from ndpstack.testbed import HostAddress

WORLDS = ("memory", "netns")


class HostPort:
    """How a host is connected and reached."""

    def __init__(self, host: str, name: PortName, own: HostAddress, mtu: int) -> None:
        self.host = host
        self._name = name
        self._mtu = mtu
        self.ipv4 = str(own.ipv4)
        self.address = bytes(10) + b"\xff\xff" + own.ipv4.packed
        self.mac = name.mac

    def store(self, config: nd_port_config) -> list[CData]:
        """Into the config of a stack's port; what it points to must live until that is open."""
        keep = self._name.store(config, self._mtu)
        frame = lib.nd_frame_config_default()
        config.filter.homa = True
        config.filter.udp_count = 2
        config.filter.udp_ports[0], config.filter.udp_ports[1] = frame.ndp_port, frame.homa_port
        return keep


class World:
    """Switches that run, and ports for the hosts; a context manager.

    Args:
        file: The scenario.
        name: memory or netns.
        plain_packets: Above 0: plain switches of so many packets a port, as for TCP.
    """

    def __init__(self, file: ScenarioFile, name: str, *, plain_packets: int = 0) -> None:
        self.name = name
        self.drawing = blueprint(file.scenario)
        self._file = file
        self._plain_packets = plain_packets
        self._stack = ExitStack()
        self.lab: Lab | None = None
        self.fabric: Fabric

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            if self.name == "netns":
                self.lab = Lab(self.drawing.plan, scenario=self._file.name)
            self._port = port_names(self.drawing, self.lab)
            self.fabric = Fabric(
                self._file.scenario,
                self.drawing,
                self._port,
                plain_packets=self._plain_packets,
                folder=self.lab.folder if self.lab else None,
            )
            if self.lab is not None:
                stack.enter_context(self.lab)
            stack.enter_context(self.fabric)
            if self.lab is not None:
                self.lab.announce(self.fabric.control)
            # Now, not before: of the switches' process only the data path is in a hurry.
            self._priority = stack.enter_context(real_time())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def hosts(self) -> list[str]:
        """Names of the hosts, in order."""
        return [node.name for node in self.drawing.plan.hosts]

    def host_ports(self) -> list[HostPort]:
        """Of each host, in order."""
        plan = self.drawing.plan
        mtu = plan.links[0].mtu
        return [
            HostPort(node.name, self._port(node.name, "p0"), plan.address(node.name), mtu)
            for node in plan.hosts
        ]

    def set_link(self, a: str, b: str, *, up: bool) -> None:
        """Takes a cable away, or puts it back."""
        if self.lab is not None:
            self.lab.set_link(a, b, up=up)
        else:
            self.fabric.set_link(a, b, up=up)

    def conditions(self) -> dict[str, str]:
        """What the run was measured on."""
        cpus = len(os.sched_getaffinity(0))
        found = {
            "machine": f"{cpus} CPUs, load {os.getloadavg()[0]:.1f}",
            "threads": self._priority,
        }
        found.update(self.fabric.conditions())
        return found
