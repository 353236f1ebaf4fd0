"""Brings a plan up in network namespaces and takes it down again, whatever happens in between.

Each node is a network namespace `ndl-LAB-NODE`; LAB is drawn for each lab, so several labs can be
up at once. Veth pairs are created inside the namespaces, so nothing of a lab is ever visible in
the machine's own network. A state file names the lab's owner: what a dead owner left behind is
found by `leftovers` and removed by `remove`.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Self

from pyroute2 import netns
from pyroute2.netlink.exceptions import NetlinkError

from ndpstack import _capabilities, _netns
from ndpstack.testbed._errors import TestbedError
from ndpstack.testbed._links import set_up
from ndpstack.testbed._offload import disable_offloads
from ndpstack.testbed._signals import uninterrupted
from ndpstack.testbed._state import State, folder_of, labs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pyroute2 import IPRoute

    from ndpstack.testbed._plan import Plan

PREFIX = "ndl"
LAB_NAME = re.compile(r"[a-z0-9]{1,6}")
NSENTER_WANTED = "nsenter is missing; install the package util-linux"
CARRIER_SECONDS = 5.0
"""How long a link may take to come up."""

STOP_SECONDS = 2.0
"""How long a process of a lab may take to end after SIGTERM."""


def why_unavailable() -> str | None:
    """Why labs cannot be built here, or None when they can."""
    if os.geteuid() != 0:
        return "network namespaces need root; run with sudo, or use --on memory"
    missing = _capabilities.missing(_capabilities.effective(), ("CAP_SYS_ADMIN", "CAP_NET_ADMIN"))
    if missing:
        return (
            f"network namespaces need {' and '.join(missing)}, which root does not have here; "
            "start the container with it (docker run --privileged), or use --on memory"
        )
    if shutil.which("nsenter") is None:
        return NSENTER_WANTED
    return None


class Lab:
    """A testbed of network namespaces, as a context manager.

    Example:
        with Lab(single_switch(2)) as lab:
            lab.run("h0", ["ping", "-c1", str(lab.plan.address("h1").ipv4)])
    """

    def __init__(
        self,
        plan: Plan,
        lab_id: str | None = None,
        *,
        scenario: str = "",
        offloads: bool = False,
    ) -> None:
        """Prepares a lab; nothing exists before `up`.

        Args:
            plan: What to build.
            lab_id: 1 to 6 lower-case letters and digits that name the lab; drawn when None.
            scenario: Where the plan is from, for `ndpstack lab status`.
            offloads: Leave the kernel its offloads, for labs in which no software switches.

        Raises:
            TestbedError: The name is no such word.
        """
        self.plan = plan
        self.lab_id = lab_name(lab_id)
        self._scenario = scenario
        self._offloads = offloads
        self._state: State | None = None
        self._processes: list[subprocess.Popen[bytes]] = []

    def namespace(self, node: str) -> str:
        """The network namespace of a node."""
        return namespace_of(self.lab_id, node)

    def up(self) -> None:
        """Builds namespaces, links, addresses and neighbours; all or nothing.

        Raises:
            TestbedError: The lab cannot be built here; what was made is gone again.
        """
        reason = why_unavailable()
        if reason:
            raise TestbedError(reason)
        names = [node.name for node in self.plan.nodes]
        try:
            with uninterrupted():
                self._state = State.claim(self.lab_id, names, self._scenario)
            for node in self.plan.nodes:
                with uninterrupted():  # a child makes it, and must not do so after we are gone
                    _netns.create(self.namespace(node.name))
            with contextlib.ExitStack() as stack:
                # One for each node and no more: to open one takes longer than all it is asked.
                inside = {
                    node.name: stack.enter_context(_netns.netlink(self.namespace(node.name)))
                    for node in self.plan.nodes
                }
                self._create_links(inside)
                for name, ipr in inside.items():
                    self._configure_node(ipr, name)
                for name, ipr in inside.items():
                    self._wait_for_carrier(ipr, name)
        except (OSError, NetlinkError) as error:
            self.down()
            raise TestbedError(f"lab {self.lab_id} cannot be built: {error}") from error
        except BaseException:
            self.down()
            raise

    @property
    def folder(self) -> Path:
        """Where files of the lab are while it is up."""
        return folder_of(self.lab_id)

    def announce(self, control: str = "") -> None:
        """Says in `ndpstack lab status` that the lab is ready for use.

        Args:
            control: Path of the control socket of its switches; empty when none run.
        """
        if self._state is not None:
            self._state.set_ready(control)

    def down(self) -> None:
        """Stops the lab's processes and removes everything it made; may be called again."""
        with uninterrupted():  # A second Ctrl-C would leave what the first one was to take down.
            self._stop_processes()
            if self._state is not None:
                remove(self.lab_id)
                self._state = None

    def __enter__(self) -> Self:
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    def argv(self, node: str, command: Sequence[str]) -> list[str]:
        """The command line that runs a command inside a node."""
        return ["nsenter", f"--net=/run/netns/{self.namespace(node)}", "--", *command]

    def run(
        self, node: str, command: Sequence[str], *, timeout_seconds: float = 30.0
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command inside a node to its end; output is captured, the status not checked."""
        return subprocess.run(
            self.argv(node, command),
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            check=False,
        )

    def start(self, node: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Starts a command inside a node; it ends with the lab at the latest."""
        process = subprocess.Popen(
            self.argv(node, command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._processes.append(process)
        return process

    def set_link(self, a: str, b: str, *, up: bool) -> None:
        """Takes the link between two nodes down, or up again.

        Raises:
            TestbedError: There is no such link.
        """
        link = self.plan.link(a, b)
        _netns.call_inside(self.namespace(link.a), lambda: set_up(link.a_port, up=up))

    def _create_links(self, inside: Mapping[str, IPRoute]) -> None:
        for link in self.plan.links:
            inside[link.a].link(
                "add",
                ifname=link.a_port,
                kind="veth",
                address=self.plan.mac(link.a, link.a_port),
                mtu=link.mtu,
                peer={
                    "ifname": link.b_port,
                    "net_ns_fd": self.namespace(link.b),
                    "address": self.plan.mac(link.b, link.b_port),
                    "mtu": link.mtu,
                },
            )

    def _configure_node(self, ipr: IPRoute, name: str) -> None:
        ports = [port for port, _ in self.plan.ports(name)]
        index_of = {str(link.get("ifname")): int(link["index"]) for link in ipr.get_links()}
        for port in ("lo", *ports):
            ipr.link("set", index=index_of[port], state="up")
        if any(node.name == name for node in self.plan.hosts):
            self._configure_host(ipr, name, index_of)
        if not self._offloads:
            disable_offloads(self.namespace(name), ports)

    def _wait_for_carrier(self, ipr: IPRoute, name: str) -> None:
        """A port has carrier only once its peer is up, and the kernel reports it late."""
        deadline = time.monotonic() + CARRIER_SECONDS
        for port, neighbour in self.plan.ports(name):
            while ipr.link("get", ifname=port)[0].get("operstate") != "UP":
                if time.monotonic() > deadline:
                    raise TestbedError(
                        f"no carrier on {port} of {name} (to {neighbour}) after {CARRIER_SECONDS} s"
                    )
                time.sleep(0.005)

    def _configure_host(self, ipr: IPRoute, name: str, index_of: Mapping[str, int]) -> None:
        """Addresses, and permanent neighbours: measurements must not wait for ARP."""
        own = self.plan.address(name)
        index = index_of[own.interface]
        ipr.addr("add", index=index, address=str(own.ipv4), prefixlen=24)
        # No duplicate address detection: the address is usable at once.
        ipr.addr("add", index=index, address=str(own.ipv6), prefixlen=64, flags=0x02)
        for node in self.plan.hosts:
            if node.name == name:
                continue
            peer = self.plan.address(node.name)
            for address in (peer.ipv4, peer.ipv6):
                ipr.neigh(
                    "replace",
                    dst=str(address),
                    lladdr=peer.mac,
                    ifindex=index,
                    state=0x80,  # NUD_PERMANENT
                )

    def _stop_processes(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self._processes:
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()
        self._processes.clear()


def lab_name(wanted: str | None) -> str:
    """The name of a lab: the wanted one, or one that is drawn.

    Raises:
        TestbedError: The wanted one is no such word.
    """
    name = wanted or secrets.token_hex(3)
    if not LAB_NAME.fullmatch(name):
        raise TestbedError(f"lab name {name!r} is not 1 to 6 lower-case letters and digits")
    return name


def namespace_of(lab_id: str, node: str) -> str:
    """The network namespace of a lab's node."""
    return f"{PREFIX}-{lab_id}-{node}"


def namespaces_of(lab_id: str) -> list[str]:
    """The network namespaces that exist of a lab."""
    return [name for name in netns.listnetns() if name.startswith(f"{PREFIX}-{lab_id}-")]


def leftovers() -> list[str]:
    """Labs whose owner is dead, and labs with namespaces but no state file."""
    made = set(_labs_with_namespaces())  # Before their files: who begins now has its file first.
    known = labs()
    dead = {lab for lab, state in known.items() if not state.alive}
    return sorted(dead | made - known.keys())


def remove(lab_id: str) -> list[str]:
    """Removes what is left of a lab and returns the namespaces that were removed.

    Raises:
        TestbedError: One of them cannot be removed.
    """
    names = namespaces_of(lab_id)
    for pid in _pids_in(names):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for name in names:
        try:
            _netns.remove(name)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise TestbedError(
                f"namespace {name} cannot be removed: {error.strerror}; "
                f"{why_unavailable() or 'see what holds it: ip netns pids ' + name}"
            ) from error
    State.forget(lab_id)
    return names


def require_lab(lab_id: str) -> None:
    """Makes sure that there is something of a lab.

    Raises:
        TestbedError: There is no such lab.
    """
    if lab_id not in labs() and not namespaces_of(lab_id):
        known = ", ".join(labs()) or "none"
        raise TestbedError(f"there is no lab {lab_id!r}; up are: {known}")


def take_down(lab_id: str) -> list[str]:
    """Ends a lab of any process: its owner is asked, then told, and what it left is removed.

    Raises:
        TestbedError: Something of it cannot be removed.
    """
    state = labs().get(lab_id)
    names = namespaces_of(lab_id)
    if state is not None and state.owner != os.getpid():
        state.end_owner()
    remove(lab_id)
    return names


def _labs_with_namespaces() -> Iterator[str]:
    for name in netns.listnetns():
        parts = name.split("-")
        if len(parts) == 3 and parts[0] == PREFIX:
            yield parts[1]


def _pids_in(namespaces: list[str]) -> list[int]:
    """Processes that are in one of them."""
    found = netns.ns_pids()
    return [pid for name in namespaces for pid in found.get(name, [])]
