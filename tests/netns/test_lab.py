"""Labs: real namespaces, real veth pairs, nothing left behind."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest
from pyroute2 import netns

from ndpstack import _netns
from ndpstack.testbed import (
    Lab,
    TestbedError,
    back_to_back,
    labs,
    leftovers,
    remove,
    single_switch,
)
from ndpstack.testbed._state import STATE_DIRECTORY

if TYPE_CHECKING:
    from ndpstack.testbed.pytest_plugin import LabMaker

T = TypeVar("T")


def test_hosts_reach_each_other_by_both_families(lab: LabMaker) -> None:
    pair = lab(back_to_back())
    peer = pair.plan.address("h1")
    for address in (peer.ipv4, peer.ipv6):
        done = pair.run("h0", ["ping", "-c1", "-w20", str(address)])
        assert done.returncode == 0, done.stdout + done.stderr


def test_offloads_that_break_a_switch_are_off(lab: LabMaker) -> None:
    # X13, AFXDP A.8.2-4: unfinished checksums, super-frames, VLAN tags in metadata.
    pair = lab(back_to_back())
    shown = pair.run("h0", ["ethtool", "-k", "p0"]).stdout
    state = dict(line.strip().split(": ", 1) for line in shown.splitlines()[1:])
    for feature in ("tx-checksumming", "tcp-segmentation-offload", "tx-vlan-offload"):
        assert state[feature].startswith("off"), feature


def test_link_can_be_taken_down_and_up(lab: LabMaker) -> None:
    pair = lab(back_to_back())
    ping = ["ping", "-c1", "-W1", str(pair.plan.address("h1").ipv4)]
    pair.set_link("h0", "h1", up=False)
    assert pair.run("h0", ping).returncode != 0
    pair.set_link("h0", "h1", up=True)
    assert pair.run("h0", ["ping", "-c3", "-i0.2", "-w20", ping[-1]]).returncode == 0
    with pytest.raises(TestbedError, match="no link between 'h0' and 'h7'"):
        pair.set_link("h0", "h7", up=False)


def test_everything_is_gone_afterwards(lab: LabMaker) -> None:
    made = lab(single_switch(3))
    process = made.start("h0", ["sleep", "1000"])
    names = [made.namespace(node.name) for node in made.plan.nodes]
    assert set(names) <= set(netns.listnetns())
    assert made.lab_id in labs()
    made.down()
    made.down()
    assert process.returncode is not None
    assert not set(names) & set(netns.listnetns())
    assert made.lab_id not in labs()


def test_a_signal_that_comes_while_it_is_taken_down_waits(
    lab: LabMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of who says twice that it shall end, nothing is left behind."""
    made = lab(back_to_back())

    def told_again(name: str) -> None:
        signal.raise_signal(signal.SIGINT)
        remove_namespace(name)

    remove_namespace = _netns.remove
    monkeypatch.setattr(_netns, "remove", told_again)
    with pytest.raises(KeyboardInterrupt):
        made.down()
    assert made.lab_id not in labs()
    assert made.lab_id not in leftovers()


def test_second_lab_of_the_same_name_is_refused(lab: LabMaker) -> None:
    made = lab(back_to_back())
    with pytest.raises(TestbedError, match=f"ndpstack lab down {made.lab_id}"):
        Lab(back_to_back(), made.lab_id).up()
    assert set(map(made.namespace, ("h0", "h1"))) <= set(netns.listnetns())


@pytest.mark.usefixtures("lab")
def test_a_name_is_taken_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a file would take it, and no command could give it back."""
    lab = Lab(back_to_back())

    def no_room(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(Path, "write_text", no_room)
        full.setattr(json, "dump", no_room)
        with pytest.raises(TestbedError, match="No space left"):
            lab.up()
    assert not list(STATE_DIRECTORY.glob(f"{lab.lab_id}*"))


KILLED = """
import os, signal, sys
from ndpstack.testbed import Lab, back_to_back
lab = Lab(back_to_back())
lab.up()
print(lab.lab_id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.usefixtures("lab")
def test_what_a_killed_owner_left_is_found_and_removed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED], capture_output=True, text=True, check=False
    )
    lab_id = done.stdout.strip()
    assert lab_id, done.stderr
    assert lab_id in leftovers()
    assert len(remove(lab_id)) == 2
    assert lab_id not in leftovers()


@pytest.mark.usefixtures("lab")
def test_a_lab_that_has_just_begun_is_no_leftover(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be taken down under its owner's hands."""
    with Lab(back_to_back()) as made:
        # Of the two things that are looked at, the first is as it was before the lab began.
        looks = iter([False])

        def seen(of_now: T, of_then: T) -> T:
            return of_now if next(looks, True) else of_then

        known, namespaces = labs(), netns.listnetns()
        monkeypatch.setattr("ndpstack.testbed._lab.labs", lambda: seen(known, {}))
        monkeypatch.setattr(netns, "listnetns", lambda: seen(namespaces, []))
        assert made.lab_id not in leftovers()
        monkeypatch.undo()


SLOW_TO_DIE = """
import subprocess, time
from ndpstack.testbed import Lab, back_to_back, guarded
made, popen = [], subprocess.Popen
subprocess.Popen = lambda *args, **named: made.append(popen(*args, **named)) or made[-1]
with guarded():
    guard = made[0]
    lab = Lab(back_to_back())
    lab.up()
    guard.stdin.close()
    print(lab.lab_id, flush=True)
    time.sleep(60)
"""


@pytest.mark.usefixtures("lab")
def test_the_guard_waits_for_an_owner_that_takes_its_time_to_die() -> None:
    """A process that is killed closes its descriptors first, and on a busy machine dies later."""
    with subprocess.Popen(
        [sys.executable, "-c", SLOW_TO_DIE], stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        lab_id = owner.stdout.readline().strip()
        time.sleep(0.5)
        owner.kill()
    deadline = time.monotonic() + 20
    while lab_id in labs() or lab_id in leftovers():
        assert time.monotonic() < deadline
        time.sleep(0.05)
