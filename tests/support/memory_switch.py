"""switchd over the data path in C, with hosts at two memory ports."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self, cast

from memory_host import MemoryHost, fresh_opening, mac
from running_daemon import RunningDaemon

from switchd.dataplane._real import start

if TYPE_CHECKING:
    from pathlib import Path

    from ndpstack.control import Client
    from ndpstack.switch import Opening

CONFIG = """\
[daemon]
control = "control.sock"
metrics = ""
captures = "."

[switch.s]
packets = 512

[[switch.s.address]]
mac = "{mac1}"
to = "h1"

[[switch.s.address]]
mac = "{mac2}"
to = "h2"
"""

PORT = """
[switch.s.port.{name}]
backend = "memory"
device = "{device}"
listen = true
{more}
"""

Row = dict[str, object]
"""What the control API shows of one thing."""


def config(openings: dict[str, Opening], more: dict[str, str] | None = None) -> str:
    """A switch with these ports."""
    text = CONFIG.format(mac1=mac(1), mac2=mac(2))
    for name, opening in openings.items():
        settings = (more or {}).get(name, "")
        text += PORT.format(name=name, device=opening.device, more=settings)
    return text


class Fabric:
    """A daemon and the hosts at its ports."""

    def __init__(self, folder: Path, more: dict[str, str] | None = None) -> None:
        self.openings = {name: fresh_opening() for name in ("h1", "h2")}
        self.daemon = RunningDaemon(folder, lambda made: start(made.daemon))
        self.daemon.path.write_text(config(self.openings, more))
        self.daemon.start()
        self.hosts = {name: MemoryHost(opening) for name, opening in self.openings.items()}
        with self.daemon.client() as client:
            wait_until_up(client, *self.hosts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for host in self.hosts.values():
            host.close()
        self.daemon.stop()


def ports(client: Client) -> dict[str, Row]:
    """What `show ports` says, by port."""
    return {str(row["port"]): row for row in cast("list[Row]", client.call("show.ports"))}


def wait_until_up(client: Client, *names: str) -> None:
    """Waits until the daemon shows the ports as up."""
    deadline = time.monotonic() + 10
    while any(ports(client)[name]["state"] != "up" for name in names):
        assert time.monotonic() < deadline, ports(client)
        time.sleep(0.01)
