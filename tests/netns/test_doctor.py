"""The doctor on real interfaces: it finds what is wrong and its repairs mend it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from ndpstack.testbed import Lab, back_to_back

if TYPE_CHECKING:
    from ndpstack.testbed.pytest_plugin import LabMaker

EXAMINE = """
import json, sys
from ndpstack.doctor import examine_interface
findings = examine_interface(sys.argv[1])
if "--fix" in sys.argv:
    for finding in findings:
        if finding.repair:
            finding.repair()
    findings = examine_interface(sys.argv[1])
print(json.dumps({finding.check: finding.as_dict() for finding in findings}))
"""


def examine(lab: Lab, node: str, *arguments: str) -> dict[str, dict[str, str]]:
    done = lab.run(node, [sys.executable, "-c", EXAMINE, *arguments])
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, str]] = json.loads(done.stdout)
    return found


def test_healthy_veth_has_nothing_to_mend(lab: LabMaker) -> None:
    found = examine(lab(back_to_back()), "h0", "p0")
    assert {check: item["status"] for check, item in found.items()} == {
        "link": "ok",
        "driver": "ok",
        "mtu": "ok",
        "queues": "ok",
        "xdp": "ok",
        "default_route": "ok",
        "offloads": "ok",
    }
    assert found["driver"]["text"] == "driver veth: auto chooses generic XDP"


def test_missing_interface_is_named(lab: LabMaker) -> None:
    found = examine(lab(back_to_back()), "h0", "p7")
    assert "no interface p7" in found["interface"]["text"]


def test_link_that_is_down_is_found_and_mended(lab: LabMaker) -> None:
    pair = lab(back_to_back())
    pair.set_link("h0", "h1", up=False)
    assert examine(pair, "h0", "p0")["link"]["remedy"] == "ip link set p0 up"
    assert examine(pair, "h1", "p0")["link"]["text"] == "p0 has no carrier"
    pair.run("h0", [sys.executable, "-c", EXAMINE, "p0", "--fix"])
    assert pair.run("h0", ["ip", "-br", "link", "show", "p0"]).stdout.split()[1] != "DOWN"


def test_offloads_of_a_fresh_veth_are_found_and_mended(lab: LabMaker) -> None:
    # X13, AFXDP A.8.3: super-frames reach a software switch unless TSO and GSO are off.
    pair = lab(back_to_back())
    pair.run("h0", ["ethtool", "-K", "p0", "tx", "on", "tso", "on", "gso", "on"])
    found = examine(pair, "h0", "p0")["offloads"]
    assert found["status"] == "warn"
    assert found["remedy"] == "ethtool -K p0 tso off gso off"
    assert examine(pair, "h0", "p0", "--fix")["offloads"]["status"] == "ok"


def test_default_route_and_jumbo_mtu_are_told(lab: LabMaker) -> None:
    # X9: a switch port on the default route's interface cuts a machine off.
    pair = lab(back_to_back(mtu=9000))
    pair.run("h0", ["ip", "route", "add", "default", "via", "10.111.0.2"])
    found = examine(pair, "h0", "p0")
    assert found["default_route"]["status"] == "warn"
    assert found["mtu"]["status"] == "note"
