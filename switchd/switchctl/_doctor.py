"""`switchctl doctor`: the machine, the daemon and its ports, with the command that mends."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, cast

from ndpstack._netns import call_inside
from ndpstack.control import Client, UnreachableError
from ndpstack.doctor import Finding, Status, examine_interface, examine_machine

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    Row = Mapping[str, object]

OURS = "xdp"
"""Check of an interface that finds the daemon's own program."""

GAP_US_MAX = 10_000.0
"""Longest pause of the data path that is no reason to worry."""


def examine(arguments: argparse.Namespace) -> int:
    """Prints what it finds; 1 when something is wrong."""
    found = [*examine_machine(), *_daemon(arguments)]
    if arguments.output == "json":
        print(json.dumps({"schema_version": 1, "findings": [item.as_dict() for item in found]}))
    else:
        for item in found:
            print(f"{item.status.value:>4}  {item.check}: {item.text}")
            if item.remedy:
                print(f"      -> {item.remedy}")
    return int(any(item.status is Status.FAIL for item in found))


def _daemon(arguments: argparse.Namespace) -> list[Finding]:
    try:
        with Client(arguments.socket, arguments.timeout) as client:
            status = cast("Row", client.call("show.status"))
            runtime = cast("Row", client.call("show.runtime"))
            ports = cast("list[Row]", client.call("show.ports"))
    except UnreachableError as error:
        return [
            Finding("daemon", Status.FAIL, str(error), "systemctl start switchd; or --socket PATH")
        ]
    found = [_running(status), _audit(runtime), _gap(runtime)]
    for port in ports:
        found += _port(port)
    return found


def _running(status: Row) -> Finding:
    if status["unsaved"]:
        text = "settings made at run time are lost with a restart"
        return Finding("daemon", Status.WARN, text, "switchctl save")
    text = f"{status['switches']} switches with {status['ports']} ports"
    return Finding("daemon", Status.OK, text)


def _audit(runtime: Row) -> Finding:
    if runtime["audit"] == "ok":
        return Finding("audit", Status.OK, "every frame is accounted for")
    return Finding("audit", Status.FAIL, str(runtime["audit"]), "report it; then restart switchd")


def _gap(runtime: Row) -> Finding:
    gap = cast("float", runtime["gap_us_max"])
    text = f"the data path was held up for {gap:,.0f} us at most"
    if gap <= GAP_US_MAX:
        return Finding("gap", Status.OK, text)
    remedy = "give it a CPU of its own (daemon.cpu) or priority (daemon.priority)"
    return Finding("gap", Status.NOTE, text, remedy)


def _port(port: Row) -> list[Finding]:
    name = f"port {port['switch']}/{port['port']}"
    found = [Finding(name, Status.OK, f"{port['state']}, {port['backend']}")]
    if port["state"] in ("down", "absent"):
        remedy = "see its device, and the switch or host at its other end"
        found = [Finding(name, Status.FAIL, f"{port['state']}: {port['reason']}", remedy)]
    elif port["reason"]:
        found = [Finding(name, Status.NOTE, str(port["reason"]))]
    if str(port["backend"]).startswith(("xdp", "packet")):
        found += [item for item in _interface(name, str(port["device"])) if item.check != OURS]
    return found


def _interface(name: str, device: str) -> list[Finding]:
    """What is not right with the interface of a port."""
    netns, _, interface = device.rpartition(":")
    if netns and os.geteuid() != 0:
        text = f"{interface} is in network namespace {netns}, which only root may look into"
        return [Finding(name, Status.NOTE, text, "run it as root")]
    found: list[Finding] = []
    with contextlib.suppress(OSError):
        found = (
            call_inside(netns, lambda: examine_interface(interface))
            if netns
            else examine_interface(interface)
        )
    return [item for item in found if item.status is not Status.OK]
