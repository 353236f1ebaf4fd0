"""The daemon on real interfaces: hosts in namespaces reach each other through it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

import foreign_xdp
import pytest
from pyroute2 import NetNS

from ndpstack._netns import call_inside
from ndpstack.control import Client, UnreachableError
from ndpstack.paths import PathWatcher
from ndpstack.testbed import Plan, single_switch
from ndpstack.testbed.pytest_plugin import lab as lab

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ndpstack.testbed import Lab

Row = dict[str, object]

CONFIG = """\
[daemon]
control = "control.sock"
hosts = "{folder}/hosts.sock"
metrics = ""

[[path]]
id = 0
value = 0
via = ["s/p1"]

[host.h0]
port = "s/p0"
"""

PORT = """
[switch.s.port.{name}]
backend = "{backend}"
device = "{device}"
netns = "{netns}"
rate = "1Gbit"
"""


class Outside:
    """A switchd process in the lab's switch node."""

    def __init__(self, made: Lab, folder: Path, backend: str) -> None:
        self.lab, self.folder = made, folder
        node = next(node.name for node in made.plan.nodes if node not in made.plan.hosts)
        self.netns = made.namespace(node)
        self.devices = {f"p{i}": port for i, (port, _) in enumerate(sorted(made.plan.ports(node)))}
        text = CONFIG.format(folder=folder)
        for name, device in self.devices.items():
            text += PORT.format(name=name, backend=backend, device=device, netns=self.netns)
        self.path = folder / "switchd.toml"
        self.path.write_text(text)
        self.start()

    def start(self) -> None:
        run = "import sys; from switchd._main import main; sys.exit(main())"
        command = [sys.executable, "-c", run, "--config", str(self.path)]
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(command, stderr=log)

    def client(self) -> Client:
        deadline = time.monotonic() + 30
        while True:
            try:
                return Client(str(self.folder / "control.sock"))
            except UnreachableError:
                assert time.monotonic() < deadline, (self.folder / "log").read_text()
                time.sleep(0.02)

    def states(self) -> dict[str, object]:
        with self.client() as client:
            rows = cast("list[Row]", client.call("show.ports"))
        return {str(row["port"]): row["state"] for row in rows}

    def until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + 20
        while not condition():
            assert time.monotonic() < deadline, (self.states(), (self.folder / "log").read_text())
            time.sleep(0.02)

    def ping(self) -> bool:
        target = str(self.lab.plan.address("h1").ipv4)
        return self.lab.run("h0", ["ping", "-c1", "-W1", target]).returncode == 0

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def outside(
    lab: Callable[[Plan], Lab], tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Outside]:
    made = Outside(lab(single_switch(2)), tmp_path, request.param)
    yield made
    made.stop()


def xdp_programs(netns: str) -> list[str]:
    """Interfaces that have an XDP program."""
    with NetNS(netns, flags=0) as ipr:
        links = list(ipr.get_links())
    return [str(link.get("ifname")) for link in links if (link.get("xdp") or {}).get("attached")]


@pytest.mark.parametrize("outside", ["xdp", "packet"], indirect=True)
def test_hosts_reach_each_other_through_the_daemon(outside: Outside) -> None:
    """Up, link down, interface gone and back, kill -9 and restart; nothing is left behind."""
    outside.until(lambda: set(outside.states().values()) == {"up"})
    outside.until(outside.ping)
    with PathWatcher(str(outside.folder / "hosts.sock"), host="h0") as watcher:
        settings = watcher.wait()
        assert (settings.mtu, len(settings.paths)) == (1500, 1)
        outside.lab.set_link("h1", _switch(outside), up=False)
        settings = watcher.wait(after_generation=settings.generation)
        assert settings.paths == ()
        assert outside.states()["p1"] == "down"
        outside.lab.set_link("h1", _switch(outside), up=True)
        outside.until(lambda: watcher.settings is not None and watcher.settings.paths)
    outside.until(outside.ping)
    with outside.client() as client:
        assert cast("Row", client.call("show.runtime"))["audit"] == "ok"
    outside.process.kill()
    outside.process.wait()
    assert xdp_programs(outside.netns) == []
    outside.start()
    outside.until(outside.ping)
    assert set(outside.states().values()) == {"up"}


def _switch(outside: Outside) -> str:
    hosts = outside.lab.plan.hosts
    return next(node.name for node in outside.lab.plan.nodes if node not in hosts)


@pytest.mark.parametrize("outside", ["packet"], indirect=True)
def test_an_interface_that_vanishes_is_waited_for(outside: Outside) -> None:
    outside.until(lambda: set(outside.states().values()) == {"up"})
    device = outside.devices["p1"]
    with NetNS(outside.netns, flags=0) as ipr:
        ipr.link("del", ifname=device)
        outside.until(lambda: outside.states()["p1"] in ("absent", "down"))
        assert outside.states()["p0"] == "up"
        ipr.link("add", ifname=device, kind="veth", peer={"ifname": "peer"})
        for name in (device, "peer"):
            ipr.link("set", index=ipr.link_lookup(ifname=name)[0], state="up")
    outside.until(lambda: outside.states()["p1"] == "up")
    with outside.client() as client:
        rows = cast("list[Row]", client.call("show.ports"))
    assert [row["reopened"] for row in rows if row["port"] == "p1"] == [1]


@pytest.mark.parametrize("outside", ["packet"], indirect=True)
def test_the_kernels_routes_are_followed(outside: Outside) -> None:
    """Two subnets behind two ports: neighbours and routes come from the kernel."""
    lab_of, plan = outside.lab, outside.lab.plan
    switch = _switch(outside)
    for number, host in enumerate(("h0", "h1")):
        own, router = f"10.{5 + number}.0.1", f"10.{5 + number}.0.254"
        port = outside.devices[f"p{number}"]
        device = plan.address(host).interface
        ip(lab_of, switch, "addr", "add", f"{router}/24", "dev", port)
        mac = plan.address(host).mac
        ip(lab_of, switch, "neigh", "replace", own, "lladdr", mac, "dev", port, "nud", "permanent")
        ip(lab_of, host, "addr", "add", f"{own}/24", "dev", device)
        mac = plan.mac(switch, port)
        ip(
            lab_of,
            host,
            "neigh",
            "replace",
            router,
            "lladdr",
            mac,
            "dev",
            device,
            "nud",
            "permanent",
        )
        ip(lab_of, host, "route", "add", f"10.{6 - number}.0.0/24", "via", router)
    text = outside.path.read_text()
    outside.path.write_text(f'{text}[switch.s]\nforwarding = "fib"\nnetns = "{outside.netns}"\n')
    with outside.client() as client:
        client.call("reload")
        outside.until(lambda: len(cast("list[Row]", client.call("show.routes"))) >= 4)
        rows = cast("list[Row]", client.call("show.routes"))
    origins = {str(row["prefix"]): (row["to"], row["origin"]) for row in rows}
    assert origins["10.6.0.0/24"] == ("p1", "kernel")
    assert origins["10.6.0.1/32"] == ("p1", "kernel")
    ping = ["ping", "-c1", "-W1", "10.6.0.1"]
    outside.until(lambda: lab_of.run("h0", ping).returncode == 0)


def ip(lab_of: Lab, node: str, *words: str) -> None:
    done = lab_of.run(node, ["ip", *words])
    assert done.returncode == 0, (node, words, done.stderr)


def doctor(outside: Outside, *prefix: str) -> tuple[int, dict[str, Row]]:
    """The exit code of `switchctl doctor`, and what it says of the daemon and its ports."""
    program = str(Path(sys.executable).parent / "switchctl")
    words = ["--socket", str(outside.folder / "control.sock"), "-o", "json", "doctor"]
    done = subprocess.run(
        [*prefix, program, *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert not done.stderr
    findings = json.loads(done.stdout)["findings"]
    names = [f"{item['interface']} {item['check']}".removeprefix("None ") for item in findings]
    start = names.index("daemon")
    return done.returncode, dict(zip(names[start:], findings[start:], strict=True))


@pytest.mark.parametrize("outside", ["xdp", "packet"], indirect=True)
def test_the_doctor_finds_nothing_wrong_with_a_switch_that_works(outside: Outside) -> None:
    outside.until(lambda: set(outside.states().values()) == {"up"})
    for device in outside.devices.values():  # On a host's end of the pair they would be a fault.
        words = ["ethtool", "-K", device, "tx", "on", "tso", "on", "gso", "on"]
        assert outside.lab.run(_switch(outside), words).returncode == 0
    code, found = doctor(outside)
    assert set(found) == {"daemon", "audit", "gap", "port s/p0", "port s/p1"}
    assert {item["status"] for name, item in found.items() if name != "gap"} == {"ok"}
    assert found["daemon"]["text"] == "1 switch with 2 ports"
    assert str(found["port s/p0"]["text"]).startswith("up, ")
    assert code == 0


@pytest.mark.parametrize("outside", ["xdp"], indirect=True)
def test_the_doctor_says_what_it_may_not_look_at(outside: Outside) -> None:
    outside.until(lambda: set(outside.states().values()) == {"up"})
    powerless = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"]
    code, found = doctor(outside, *powerless)
    assert found["port s/p0"]["status"] == "note"
    assert "cannot be looked into: Operation not permitted" in str(found["port s/p0"]["text"])
    assert found["port s/p0"]["remedy"] == "run it as root"
    assert code == 0


@pytest.mark.parametrize("outside", ["xdp"], indirect=True)
def test_the_doctor_names_a_link_that_is_down_once(outside: Outside) -> None:
    outside.until(lambda: set(outside.states().values()) == {"up"})
    outside.lab.set_link("h1", _switch(outside), up=False)
    outside.until(lambda: outside.states()["p1"] == "down")
    code, found = doctor(outside)
    assert [name for name, item in found.items() if item["status"] == "fail"] == ["port s/p1"]
    assert code == 1


@pytest.mark.parametrize("outside", ["xdp"], indirect=True)
def test_the_doctor_names_the_program_that_holds_a_port(outside: Outside) -> None:
    outside.stop()
    call_inside(outside.netns, lambda: foreign_xdp.attach(outside.devices["p1"], "generic"))
    outside.start()
    outside.until(lambda: outside.states() == {"p0": "up", "p1": "absent"})
    code, found = doctor(outside)
    xdp = found[f"{outside.netns}:{outside.devices['p1']} xdp"]
    assert str(xdp["text"]).startswith("program foreign (id ")
    assert f"`ip link set dev {outside.devices['p1']} xdpgeneric off`" in str(xdp["remedy"])
    assert (xdp["status"], code) == ("fail", 1)


@pytest.mark.parametrize("outside", ["packet"], indirect=True)
def test_a_program_beside_a_packet_port_is_no_fault(outside: Outside) -> None:
    outside.until(lambda: set(outside.states().values()) == {"up"})
    call_inside(outside.netns, lambda: foreign_xdp.attach(outside.devices["p1"], "generic"))
    code, found = doctor(outside)
    xdp = found[f"{outside.netns}:{outside.devices['p1']} xdp"]
    assert str(xdp["text"]).endswith("is attached, and sees frames before the port does")
    assert (xdp["status"], code) == ("note", 0)
