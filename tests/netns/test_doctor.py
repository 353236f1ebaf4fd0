"""The doctor's command on real interfaces: it finds what is wrong and mends what it may."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING

import foreign_xdp
import pytest
from host_service import NDPSTACK, Host

from ndpstack._netns import call_inside
from ndpstack.cli._exit import Exit
from ndpstack.doctor._features import read_features
from ndpstack.testbed import Lab, back_to_back

if TYPE_CHECKING:
    from pathlib import Path

    from ndpstack.testbed.pytest_plugin import LabMaker

Item = dict[str, str]

LOOPBACK = 1

ALONE = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh"]
"""In front of a command that repairs: it sees no labs, which may be those of other tests."""

POWERLESS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"]
"""In front of a command that may do no more than anybody."""


class Visit:
    """What the doctor says of an interface."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        assert not done.stderr
        document = json.loads(done.stdout)
        self.code = done.returncode
        self.repairs: list[dict[str, str | None]] = document["repairs"]
        self.found: dict[str, Item] = {
            item["check"]: item for item in document["findings"] if item["interface"]
        }


def doctor(lab: Lab, *words: str, node: str = "h0", prefix: list[str] | None = None) -> Visit:
    command = [*ALONE, *(prefix or []), *NDPSTACK, "doctor", "--json", *words]
    return Visit(lab.run(node, command))


def test_healthy_veth_has_nothing_to_mend(lab: LabMaker) -> None:
    visit = doctor(lab(back_to_back()), "p0", "--fix")
    assert {check: item["status"] for check, item in visit.found.items()} == {
        "link": "ok",
        "driver": "ok",
        "zero_copy": "note" if read_features(LOOPBACK) is None else "ok",
        "mtu": "ok",
        "queues": "ok",
        "xdp": "ok",
        "default_route": "ok",
        "offloads": "ok",
    }
    assert visit.found["driver"]["text"] == "driver veth: auto chooses generic XDP"
    assert "driver veth has " in visit.found["zero_copy"]["text"]
    assert {item["interface"] for item in visit.found.values()} == {"p0"}
    assert (visit.code, visit.repairs) == (Exit.OK, [])


def test_loopback_is_healthy(lab: LabMaker) -> None:
    found = doctor(lab(back_to_back()), "lo").found
    assert {item["status"] for item in found.values()} <= {"ok", "note"}
    assert found["driver"]["text"] == "driver loopback: auto chooses generic XDP"
    assert found["mtu"]["remedy"] is None


def test_a_tunnel_is_no_place_for_a_port(lab: LabMaker) -> None:
    pair = lab(back_to_back())
    if pair.run("h0", ["ip", "tuntap", "add", "t0", "mode", "tun"]).returncode:
        pytest.skip("this machine makes no tunnels")
    visit = doctor(pair, "t0")
    assert "without an Ethernet header" in visit.found["driver"]["text"]
    assert visit.found["driver"]["remedy"] == "use a udp port on its address"
    assert visit.found["driver"]["status"] == "fail"


def test_queues_are_those_of_this_namespace(lab: LabMaker) -> None:
    # /sys shows the interfaces of the namespace in which it was mounted.
    pair = lab(back_to_back())
    pair.run("h0", ["ip", "link", "add", "q0", "numrxqueues", "4", "type", "veth"])
    assert pair.run("h0", ["ethtool", "-L", "q0", "rx", "3"]).returncode == 0
    assert doctor(pair, "q0").found["queues"]["text"].startswith("3 RX queues")


def test_missing_interface_is_named(lab: LabMaker) -> None:
    done = lab(back_to_back()).run("h0", [*NDPSTACK, "doctor", "p7"])
    assert "no interface p7" in done.stdout
    assert (done.returncode, done.stderr) == (Exit.FAILED, "")


def test_link_that_is_down_is_found_and_mended(lab: LabMaker) -> None:
    pair = lab(back_to_back())
    pair.set_link("h0", "h1", up=False)
    visit = doctor(pair, "p0")
    assert visit.found["link"]["remedy"] == "ip link set p0 up"
    assert visit.code == Exit.FAILED
    assert doctor(pair, "p0", node="h1").found["link"]["text"] == "p0 has no carrier"
    done = pair.run("h0", [*ALONE, *NDPSTACK, "doctor", "p0", "--fix"])
    assert done.stdout.startswith("mended  p0 link: p0 is down\n")
    assert "ok  p0 link: p0 is up\n" in done.stdout
    assert (done.returncode, done.stderr) == (Exit.OK, "")


def test_what_cannot_be_mended_is_told(lab: LabMaker) -> None:
    pair = lab(back_to_back())
    pair.set_link("h0", "h1", up=False)
    visit = doctor(pair, "p0", "--fix", prefix=POWERLESS)
    assert [item["error"] for item in visit.repairs] == ["Operation not permitted; run as root"]
    assert visit.found["link"]["status"] == "fail"
    assert visit.code == Exit.FAILED
    done = pair.run("h0", [*ALONE, *POWERLESS, *NDPSTACK, "doctor", "p0", "--fix"])
    assert done.stdout.startswith("could not be mended  p0 link: p0 is down: Operation not")


def test_offloads_of_a_fresh_veth_are_found_and_mended_when_asked(lab: LabMaker) -> None:
    # X13, AFXDP A.8.3: super-frames reach a software switch unless TSO and GSO are off.
    pair = lab(back_to_back())
    pair.run("h0", ["ethtool", "-K", "p0", "tx", "on", "tso", "on", "gso", "on"])
    visit = doctor(pair, "p0", "--fix")
    assert visit.repairs == [], "a host that is no switch wants them"
    assert visit.found["offloads"]["status"] == "warn"
    assert visit.found["offloads"]["remedy"] == "ethtool -K p0 tso off gso off"
    visit = doctor(pair, "p0", "--fix-warnings")
    assert [(item["check"], item["error"]) for item in visit.repairs] == [("offloads", None)]
    assert visit.found["offloads"]["status"] == "ok"


def test_refused_offloads_are_told(lab: LabMaker) -> None:
    pair = lab(back_to_back())
    pair.run("h0", ["ethtool", "-K", "p0", "tx", "on", "tso", "on", "gso", "on"])
    visit = doctor(pair, "p0", "--fix-warnings", prefix=POWERLESS)
    assert [item["error"] for item in visit.repairs] == ["Operation not permitted; run as root"]
    assert visit.code == Exit.FAILED


def test_default_route_and_jumbo_mtu_are_told(lab: LabMaker) -> None:
    # X9: a switch port on the default route's interface cuts a machine off.
    pair = lab(back_to_back(mtu=9000))
    pair.run("h0", ["ip", "route", "add", "default", "via", "10.111.0.2"])
    found = doctor(pair, "p0").found
    assert found["default_route"]["status"] == "warn"
    assert found["mtu"]["status"] == "note"


def test_our_own_program_is_no_fault(lab: LabMaker, tmp_path: Path) -> None:
    pair = lab(back_to_back())
    host = Host(pair, "h0", tmp_path)
    host.start()
    visit = doctor(pair, "p0", "--fix")
    xdp = visit.found["xdp"]
    assert xdp["status"] == "ok"
    assert xdp["text"].startswith("our own program ndpstack (id ")
    assert "generic mode" in xdp["text"]
    assert xdp["text"].endswith(f"is attached, in use by ndpstack (pid {host.process.pid})")
    assert (visit.code, visit.repairs) == (Exit.OK, [])
    assert doctor(pair, "p0", prefix=POWERLESS).found["xdp"]["status"] == "warn"
    assert host.end(signal.SIGTERM) == 0


@pytest.mark.parametrize(("mode", "keyword"), [("native", "xdpdrv"), ("generic", "xdpgeneric")])
def test_programs_of_others_are_left_where_they_are(
    lab: LabMaker, mode: foreign_xdp.Mode, keyword: str
) -> None:
    pair = lab(back_to_back())
    call_inside(pair.namespace("h0"), lambda: foreign_xdp.attach("p0", mode))
    for words in (["--fix"], ["--fix-warnings"], []):
        visit = doctor(pair, "p0", *words)
        assert (visit.code, visit.repairs) == (Exit.FAILED, [])
        assert visit.found["xdp"]["text"].startswith("program foreign (id ")
        assert f"{mode} mode" in visit.found["xdp"]["text"]
        assert f"`ip link set dev p0 {keyword} off`" in visit.found["xdp"]["remedy"]
    pair.run("h0", visit.found["xdp"]["remedy"].split("`")[1].split())
    assert doctor(pair, "p0").found["xdp"]["text"] == "no XDP program is attached"


def test_a_link_of_others_is_named(lab: LabMaker) -> None:
    pair = lab(back_to_back())
    link = call_inside(pair.namespace("h0"), lambda: foreign_xdp.link("p0", "native"))
    try:
        visit = doctor(pair, "p0", "--fix")
        assert (visit.code, visit.repairs) == (Exit.FAILED, [])
        assert "native mode, BPF link " in visit.found["xdp"]["text"]
        assert "bpftool link detach id " in visit.found["xdp"]["remedy"]
    finally:
        os.close(link)


LEFT_BEHIND = """
mount -t tmpfs none /run && ip netns add ndl-dead-h0 && ip netns add other
"$@" doctor; "$@" doctor --fix; echo "code $?"; ip netns list
"""


def test_left_overs_are_removed() -> None:
    if os.geteuid() != 0:
        pytest.skip("mounts need root")
    command = ["unshare", "--mount", "sh", "-c", LEFT_BEHIND, "sh", *NDPSTACK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    before, _, after = done.stdout.partition("mended  ")
    assert "fail  leftovers: lab dead was left behind by a process that died\n" in before
    assert "-> ndpstack lab down dead\n" in before
    assert after.startswith("leftovers: lab dead was left behind by a process that died\n")
    assert after.endswith("ok  leftovers: no testbed was left behind\ncode 0\nother\n")
    assert not done.stderr
