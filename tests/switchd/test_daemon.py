"""The daemon's life on its event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
import threading
from typing import TYPE_CHECKING

import msgpack
import pytest
from running_daemon import CONFIG

from ndpstack.control import ControlError
from switchd.plan import Forwarding, RoutePlan

if TYPE_CHECKING:
    from running_daemon import RunningDaemon


def test_nothing_begins_once_the_daemon_ends(daemon: RunningDaemon) -> None:
    # An event of a port between the end of the tasks and that of the switches spawned a task that
    # nobody waited for, and which read a switch that was gone.
    handle = daemon.daemon.manager.live["tor0"].handle

    def stop_at_an_event() -> None:
        daemon.daemon.stop()
        os.eventfd_write(handle.events_fd, 1)

    daemon.on_loop(stop_at_an_event)
    daemon.stop()
    assert not daemon.left


def test_a_client_gets_the_descriptor_of_a_switch_that_is_freed(
    daemon: RunningDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The loop took the client for the switch that it still listened to, and answered nobody.
    fake, made = daemon.plane.switches["tor0"], contextlib.ExitStack()
    freed, answer = fake.events_fd, bytearray()

    def close() -> None:
        client = made.enter_context(socket.socket(socket.AF_UNIX))
        client.settimeout(5)
        while (below := os.dup(client.fileno())) < freed:  # The lowest that is free is given next.
            made.callback(os.close, below)
        os.close(below)
        os.close(freed)
        client.connect(str(daemon.folder / "control.sock"))
        client.send(msgpack.packb([0, 1, "version", [{}]]))
        answer.extend(client.recv(1000))
        assert stat.S_ISSOCK(os.fstat(freed).st_mode)

    monkeypatch.setattr(fake, "close", close)
    with made, daemon.client() as other:
        other.call("set", items=["switch.tor0.packets=128"])
        assert msgpack.unpackb(answer)[:3] == [1, 1, None]


def test_namespaces_are_followed_one_change_at_a_time(
    daemon: RunningDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each configuration has a thread of its own for it: two of them made watchers of one name.
    inside, met, done = threading.Semaphore(1), threading.Event(), threading.Semaphore(0)

    def watch(_: set[str]) -> None:
        if not inside.acquire(blocking=False):
            met.set()
            return
        met.wait(0.1)  # For another one, if there may be one.
        inside.release()
        done.release()

    monkeypatch.setattr(daemon.daemon.kernel, "watch", watch)
    with daemon.client() as client:
        for rate in (1, 2):
            client.call("set", items=[f"switch.tor0.port.h1.rate={rate}Gbit"])
        assert all(done.acquire(timeout=5) for _ in range(2))
    assert not met.is_set()


def test_clients_are_answered_while_the_kernels_routes_are_set(
    stopped: RunningDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped.write(CONFIG.replace("[switch.tor0]", '[switch.tor0]\nforwarding = "fib"'))
    stopped.start()
    begun, answered = threading.Event(), threading.Event()
    found, installed = Forwarding(routes={"10.0.0.0/8": RoutePlan("h1")}), []

    def slow(forwarding: Forwarding) -> None:
        begun.set()
        assert answered.wait(5)
        installed.append(forwarding.routes)

    controller = stopped.daemon.controller
    with stopped.client() as client:
        monkeypatch.setattr(stopped.plane.switches["tor0"], "set_forwarding", slow)
        follows = controller.follow_kernel(lambda _: found)
        following = asyncio.run_coroutine_threadsafe(follows, stopped.loop)
        assert begun.wait(5)
        client.call("version")
        answered.set()
        following.result(5)
    assert found.routes in installed


def test_a_switch_that_an_unforeseen_failure_makes_anew_is_heard_of(daemon: RunningDaemon) -> None:
    before = daemon.daemon.manager.live["tor0"].handle
    daemon.plane.failure, daemon.plane.fail_at = RuntimeError, 1
    with daemon.client() as client, pytest.raises(ControlError):
        client.call("set", items=["switch.tor0.packets=128"])
    handle = daemon.daemon.manager.live["tor0"].handle
    assert handle is not before
    assert set(daemon.daemon._events) == {handle}
