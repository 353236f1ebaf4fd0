"""Kill -9 of switchd while both protocols send all they can through it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from host_service import (
    RESTART_SECONDS,
    ROUNDS,
    Host,
    left_behind,
    start_application,
    wait_for,
)
from mill import CLIENT, SERVER, Progress
from pyroute2 import NetNS
from timed import check_time

from ndpstack.control import Client, UnreachableError
from ndpstack.testbed import single_switch

if TYPE_CHECKING:
    from ndpstack.testbed import Lab
    from ndpstack.testbed.pytest_plugin import LabMaker

CONFIG = """\
[daemon]
control = "control.sock"
hosts = "{folder}/hosts.sock"
metrics = ""
"""

PORT = """
[switch.s0.port.{device}]
backend = "xdp"
device = "{device}"
netns = "{netns}"
"""


class Daemon:
    """A switchd process on the ports of node s0."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self._folder = folder
        self.netns = lab.namespace("s0")
        text = CONFIG.format(folder=folder)
        for device, _ in lab.plan.ports("s0"):
            text += PORT.format(device=device, netns=self.netns)
        (folder / "switchd.toml").write_text(text)

    def start(self) -> float:
        """Starts it and waits until its ports are up; returns the seconds that took."""
        began = time.monotonic()
        run = "import sys; from switchd._main import main; sys.exit(main())"
        command = [sys.executable, "-c", run, "--config", str(self._folder / "switchd.toml")]
        with (self._folder / "log").open("a") as log:
            self.process = subprocess.Popen(command, stderr=log)
        wait_for(self._is_up, "switchd is not up: see its log")
        return time.monotonic() - began

    def _is_up(self) -> bool:
        assert self.process.poll() is None, (self._folder / "log").read_text()
        try:
            with Client(str(self._folder / "control.sock")) as client:
                rows = client.call("show.ports")
        except UnreachableError:
            return False
        assert isinstance(rows, list)
        return bool(rows) and all(row["state"] == "up" for row in rows)

    def kill(self) -> None:
        """Kill -9."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def left_behind(self) -> list[str]:
        """What outlives it: XDP programs and shared memory."""
        with NetNS(self.netns, flags=0) as ipr:
            found = [
                str(link.get("ifname"))
                for link in ipr.get_links()
                if (link.get("xdp") or {}).get("attached")
            ]
        return found + [str(path) for path in Path("/dev/shm").glob("ndpstack*")]


@pytest.mark.timed
def test_a_killed_switch_comes_back_and_no_message_comes_twice(
    lab: LabMaker, tmp_path: Path
) -> None:
    """T29, X10: killed at load again and again, with NDP and Homa going through it."""
    made = lab(single_switch(2))
    daemon = Daemon(made, tmp_path)
    daemon.start()
    hosts = [Host(made, node, tmp_path) for node in ("h0", "h1")]
    try:
        for host in hosts:
            host.start()
        server = start_application(made, "h1", SERVER)
        client = start_application(made, "h0", CLIENT, str(made.plan.address("h1").ipv4))
        progress = Progress(client)
        for _ in range(ROUNDS):
            progress.wait_beyond(time.monotonic())
            daemon.kill()
            assert daemon.left_behind() == []
            check_time(daemon.start(), RESTART_SECONDS)
        progress.wait_beyond(time.monotonic())
        client.kill()
        server.kill()
        assert server.stderr is not None
        assert server.stderr.read() == b""
        for host in hosts:
            assert host.end(signal.SIGTERM) == 0
            assert left_behind(made, host.node) == []
    finally:
        daemon.kill()
