"""`switchctl doctor`: the machine, the daemon and its ports, with the command that mends."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from ndpstack._netns import call_inside
from ndpstack._units import counted
from ndpstack.control import Client, UnreachableError
from ndpstack.doctor import Finding, Status, examine_interface, examine_machine
from switchd.switchctl._output import as_keyvalue

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    Row = Mapping[str, object]

OF_THE_USER = ("capabilities", "memlock")
"""Checks of the machine that say what this user may do, who need not be the daemon's."""

TOLD_BY_THE_PORT = ("interface", "link")
"""Checks of an interface that the daemon makes, and where it is."""

GAP_US_MAX = 10_000.0
"""Longest pause of the data path that is no reason to worry."""


def examine(arguments: argparse.Namespace) -> int:
    """Prints what it finds; 1 when something is wrong."""
    machine = [item for item in examine_machine() if item.check not in OF_THE_USER]
    found = [*machine, *_daemon(arguments)]
    if arguments.output == "json":
        print(json.dumps({"schema_version": 1, "findings": [item.as_dict() for item in found]}))
    elif arguments.output == "keyvalue":
        print(as_keyvalue("findings", [item.as_dict() for item in found]))
    else:
        for item in found:
            print(*item.as_lines(), sep="\n")
    return int(any(item.status is Status.FAIL for item in found))


def _daemon(arguments: argparse.Namespace) -> list[Finding]:
    try:
        with Client(arguments.socket, arguments.timeout) as client:
            status = cast("Row", client.call("show.status"))
            runtime = cast("Row", client.call("show.runtime"))
            ports = cast("list[Row]", client.call("show.ports"))
    except UnreachableError as error:
        remedy = "if it listens elsewhere: switchctl --socket PATH doctor"
        return [Finding("daemon", Status.FAIL, str(error), remedy)]
    found = [_running(status), _audit(runtime), _gap(runtime)]
    for port in ports:
        found += _port(port)
    return found


def _running(status: Row) -> Finding:
    if status["unsaved"]:
        text = "settings made at run time are lost with a restart"
        return Finding("daemon", Status.WARN, text, "switchctl save")
    switches = counted(cast("int", status["switches"]), "switch", "switches")
    text = f"{switches} with {counted(cast('int', status['ports']), 'port')}"
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
        found += _interface(name, str(port["device"]))
    if port["backend"] == "packet":
        found = [_beside(item) if item.check == "xdp" else item for item in found]
    return found


def _beside(program: Finding) -> Finding:
    """An XDP program on the interface of a packet port, which works beside it."""
    text = f"{program.text}, and sees frames before the port does"
    return replace(program, status=Status.NOTE, text=text, remedy=None)


def _interface(name: str, device: str) -> list[Finding]:
    """What is not right with the interface of a port."""
    netns, _, interface = device.rpartition(":")

    def examine() -> list[Finding]:
        return examine_interface(interface, of_switch=True)

    try:
        found = call_inside(netns, examine) if netns else examine()
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        text = f"network namespace {netns} of {interface} cannot be looked into: {reason}"
        remedy = "run it as root" if isinstance(error, PermissionError) else None
        return [Finding(name, Status.NOTE, text, remedy)]
    return [
        replace(item, interface=device)
        for item in found
        if item.status is not Status.OK and item.check not in TOLD_BY_THE_PORT
    ]
