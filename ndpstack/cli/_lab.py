"""`ndpstack lab`: a scenario's hosts and switches in network namespaces, to work in by hand."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack._table import Column, render
from ndpstack.cli._exit import Exit
from ndpstack.cli._extra import need
from ndpstack.testbed import (
    Lab,
    TestbedError,
    interruptible,
    lab_name,
    labs,
    leftovers,
    namespace_of,
    remove,
    require_lab,
    take_down,
)
from ndpstack.testbed._lab import NSENTER_WANTED
from ndpstack.testbed._signals import run_in_our_place
from ndpstack.testbed._state import STATE_DIRECTORY, sweep

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ndpstack.scenario import ScenarioFile
    from ndpstack.testbed._blueprint import Blueprint
    from ndpstack.testbed._fabric import Fabric

DETACH_SECONDS = 60.0
"""How long a lab in the background may take to be ready."""

SIGNALLED = 128
"""What shells add to the number of a signal that ended a command."""

ROOT_WANTED = "labs need root; run with sudo"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    up = actions.add_parser("up", help="build a scenario's hosts and switches and run the switches")
    up.add_argument(
        "scenario",
        metavar="SCENARIO",
        help="a TOML file, or the name of one that comes with ndpstack",
    )
    up.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE",
        help="change the scenario, as for `ndpstack run`; repeatable",
    )  # fmt: skip
    up.add_argument("--name", help="1 to 6 lower-case letters and digits; drawn when left out")
    up.add_argument("--detach", action="store_true", help="return when it is up; it runs on")
    up.add_argument(
        "--bare", action="store_true", help="no switches run: only namespaces, links, addresses"
    )
    down = actions.add_parser("down", help="take labs down, and remove what killed ones left")
    down.add_argument("lab", nargs="*", help="names; those that killed owners left when left out")
    down.add_argument("--all", action="store_true", help="every lab, running ones as well")
    status = actions.add_parser("status", help="list labs, and what killed ones left")
    execute = actions.add_parser("exec", help="run a command inside a node")
    execute.add_argument("lab")
    execute.add_argument("node", help="h0, edge0, ...; see `ndpstack lab status`")
    execute.add_argument("argv", nargs=argparse.REMAINDER, metavar="COMMAND", help="to run there")
    for sub in (up, down, status):
        sub.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON"
        )


def execute(arguments: argparse.Namespace) -> int:
    """Does what the action says."""
    actions: dict[str, Callable[[argparse.Namespace], int]] = {
        "up": _up,
        "down": _down,
        "status": _status,
        "exec": _exec,
    }
    return actions[arguments.action](arguments)


def _up(arguments: argparse.Namespace) -> int:
    need("the simulator", "sim", "numpy")
    if arguments.detach:
        return _up_detached(arguments)
    from ndpstack.scenario import load_scenario
    from ndpstack.testbed._blueprint import blueprint

    file = load_scenario(arguments.scenario, arguments.set)
    drawing = blueprint(file.scenario)
    with interruptible(), contextlib.ExitStack() as stack:
        lab = Lab(drawing.plan, arguments.name, scenario=file.name)
        # Before anything is built: what is too large for the switches is refused at once.
        fabric = None if arguments.bare else _switches(lab, file, drawing)
        stack.enter_context(lab)
        if fabric is not None:
            stack.enter_context(fabric)
        control = fabric.control if fabric else ""
        # From here on a signal is how a lab is meant to end.
        with contextlib.suppress(KeyboardInterrupt):
            if not arguments.json:
                # before the announcement: who waits for that prints our log
                _explain(lab, control)
            lab.announce(control)
            if arguments.json:
                _print_json(asdict(labs()[lab.lab_id]))
            if fabric is not None:
                fabric.wait()
            signal.pause()
    return Exit.OK


def _switches(lab: Lab, file: ScenarioFile, drawing: Blueprint) -> Fabric:
    """The lab's switches, which run within it."""
    from ndpstack.testbed._fabric import Fabric
    from ndpstack.testbed._ports import port_names

    return Fabric(file.scenario, drawing, port_names(drawing, lab), folder=lab.folder)


def _explain(lab: Lab, control: str) -> None:
    plan = lab.plan
    print(f"lab {lab.lab_id}: {len(plan.hosts)} hosts, {len(plan.switches)} switches")
    for node in plan.hosts:
        own = plan.address(node.name)
        print(f"  {node.name:<8} {own.ipv4}  {own.ipv6}  on {own.interface}")
    first = plan.hosts[0].name
    print(f"try:  ndpstack lab exec {lab.lab_id} {first} -- ping -c3 {plan.address('h1').ipv4}")
    if control:
        print(f"      switchctl --socket {control} show ports")
    print(f"end:  Ctrl-C, or ndpstack lab down {lab.lab_id}", flush=True)


def _up_detached(arguments: argparse.Namespace) -> int:
    """Starts itself again in the background and waits until that one is ready."""
    _require_root()
    name = lab_name(arguments.name)
    if name in labs():
        raise TestbedError(f"lab {name} is up already; take it down: ndpstack lab down {name}")
    words = [
        "lab",
        "up",
        arguments.scenario,
        "--name",
        name,
        *(["--bare"] if arguments.bare else []),
    ]
    for item in arguments.set:
        words += ["--set", item]
    log = STATE_DIRECTORY / f"{name}.{os.getpid()}.log"  # Of two who want the name, one has it.
    with interruptible():
        process = _start_in_background(words, log)
        try:
            _wait_until_ready(process, name, log)
        except KeyboardInterrupt:
            # It has a session of its own, and hears of no Ctrl-C.
            process.terminate()
            process.wait()
            log.unlink(missing_ok=True)
            raise
    log = log.replace(STATE_DIRECTORY / f"{name}.log")
    process.returncode = 0  # it is meant to outlive us, and no mistake that wants a warning
    if arguments.json:
        _print_json(asdict(labs()[name]))
    else:
        print(log.read_text(), end="")
    return Exit.OK


def _start_in_background(words: list[str], log: Path) -> subprocess.Popen[bytes]:
    try:
        STATE_DIRECTORY.mkdir(parents=True, exist_ok=True)
        output = log.open("wb")
    except OSError as error:
        raise TestbedError(f"the lab cannot be built: {error}") from error
    with output:
        return subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-c",
                "from ndpstack.cli import main; raise SystemExit(main())",
                *words,
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def _wait_until_ready(process: subprocess.Popen[bytes], name: str, log: Path) -> None:
    deadline = time.monotonic() + DETACH_SECONDS
    while True:
        state = labs().get(name)
        if state is not None and state.ready and state.owner == process.pid:
            return
        if process.poll() is not None:
            text = log.read_text().strip().removeprefix("ndpstack: ")
            log.unlink(missing_ok=True)
            raise TestbedError(text or f"lab {name} ended at once with {process.returncode}")
        if time.monotonic() > deadline:
            process.terminate()
            raise TestbedError(f"lab {name} was not ready in {DETACH_SECONDS:.0f} s; see {log}")
        time.sleep(0.05)


def _print_json(document: dict[str, object]) -> None:
    print(json.dumps({"schema_version": 1, **document}), flush=True)


def _require_root() -> None:
    if os.geteuid() != 0:
        raise UserError(ROOT_WANTED)


def _down(arguments: argparse.Namespace) -> int:
    _require_root()
    names: list[str] = arguments.lab
    removed: dict[str, list[str]] = {}
    for name in names:  # All or none: what follows one that is not there would stay.
        require_lab(name)
    if arguments.all:
        names = sorted(set(labs()) | set(leftovers()))
    if names:
        removed = {name: take_down(name) for name in dict.fromkeys(names)}
    else:
        removed = {name: remove(name) for name in leftovers()}
    for name in removed:
        (STATE_DIRECTORY / f"{name}.log").unlink(missing_ok=True)
    sweep()
    if arguments.json:
        _print_json({"removed": removed})
    for name, namespaces in removed.items() if not arguments.json else ():
        print(f"lab {name}: {len(namespaces)} namespaces removed")
    if not removed and not arguments.json:
        print("nothing to take down; --all ends the labs that are in use")
    return Exit.OK


def _status(arguments: argparse.Namespace) -> int:
    known = labs()
    dead = leftovers()
    if arguments.json:
        states = {name: {**asdict(state), "alive": state.alive} for name, state in known.items()}
        _print_json({"labs": states, "leftovers": dead})
        return Exit.OK
    columns = tuple(
        map(Column, ("lab", "state", "owner", "scenario", "switchctl --socket", "nodes"))
    )
    rows = [
        (
            state.lab,
            "left over" if state.lab in dead else "up" if state.ready else "being built",
            f"pid {state.owner}",
            state.scenario or "-",
            state.control or "-",
            " ".join(state.nodes),
        )
        for state in known.values()
    ]
    rows += [(name, "left over", "-", "-", "-", "-") for name in dead if name not in known]
    print(render(columns, rows) if rows else "no labs")
    if dead:
        print("remove what is left over with: ndpstack lab down")
    return Exit.OK


def _exec(arguments: argparse.Namespace) -> int:
    _require_root()
    state = labs().get(arguments.lab)
    if state is None:
        raise TestbedError(
            f"there is no lab {arguments.lab!r}; up are: {', '.join(labs()) or 'none'}"
        )
    if arguments.node not in state.nodes:
        raise TestbedError(
            f"lab {state.lab} has no node {arguments.node!r}; there are {', '.join(state.nodes)}"
        )
    command = arguments.argv[1:] if arguments.argv[:1] == ["--"] else arguments.argv
    if not command:
        raise UserError("lab exec: say which command to run")
    namespace = namespace_of(state.lab, arguments.node)
    argv = ["nsenter", f"--net=/run/netns/{namespace}", "--", *command]
    try:
        code = run_in_our_place(argv)
    except FileNotFoundError:
        raise TestbedError(NSENTER_WANTED) from None
    return code if code >= 0 else SIGNALLED - code
