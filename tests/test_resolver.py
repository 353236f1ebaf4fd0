"""Whoever follows the kernel for a core goes on, whatever happens to it."""

from __future__ import annotations

import errno
import logging
import os
import queue
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from ndpstack import _resolver
from ndpstack._core import lib
from ndpstack._kernel import Kernel, Route
from ndpstack._netlink import Events
from ndpstack._resolver import Resolver

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 20
ODD = "10.0.0.66"
"""An address that the kernel's answer for is none."""


class AskedWays:
    """Asks for what a test asks for, and keeps what it is told."""

    def __init__(self) -> None:
        self._asked: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._told: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()

    def ask(self, *addresses: str) -> None:
        for address in addresses:
            self._asked.put(address)
        os.eventfd_write(self._descriptor, 1)

    def told(self) -> tuple[str, int]:
        """The next address that there is no way to, and why."""
        return self._told.get(timeout=SECONDS)

    def descriptor(self) -> int:
        return self._descriptor

    def unresolved(self) -> list[str]:
        os.eventfd_read(self._descriptor)
        return [self._asked.get() for _ in range(self._asked.qsize())]

    def found(self, address: str, port: int, mac: bytes) -> None:
        raise AssertionError((address, port, mac))

    def lost(self, address: str, reason: int) -> None:
        self._told.put((address, reason))

    def close(self) -> None:
        os.close(self._descriptor)


class LocalKernel(Kernel):
    """One whose addresses are all its own, but for an odd one."""

    def route(self, address: str) -> Route:
        if address == ODD:
            raise KeyError("RTA_DST")
        return Route(1, address, 0, local=True)


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> Iterator[AskedWays]:
    monkeypatch.setattr(_resolver, "RETRY_SECONDS_MIN", 0.001)
    monkeypatch.setattr(_resolver, "Kernel", LocalKernel)
    made = AskedWays()
    yield made
    made.close()


@pytest.fixture
def said() -> Iterator[list[str]]:
    """What it logs, whatever daemons in this process have made of their loggers."""
    texts: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: texts.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("ndpstack.ways")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield texts
    logger.setLevel(logging.NOTSET)
    logger.removeHandler(handler)


TRYING = "ways cannot be followed now; trying again"
AGAIN = "ways are followed again"
SELF = lib.ND_UNREACHABLE_SELF


def test_what_is_wrong_for_a_while_is_said_once(
    ways: AskedWays, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    tries: list[None] = []

    def open_events() -> Events:
        tries.append(None)
        if len(tries) < 5:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return Events()

    monkeypatch.setattr(_resolver, "Events", open_events)
    follower = Resolver(ways, ["lo"])
    ways.ask("10.0.0.1")
    assert ways.told() == ("10.0.0.1", SELF)
    follower.close()
    assert (len(tries), said.count(TRYING), said[-1]) == (5, 1, AGAIN)


def test_an_address_that_cannot_be_looked_up_is_lost_alone(ways: AskedWays) -> None:
    """Also those that were asked for behind it are followed."""
    follower = Resolver(ways, ["lo"])
    ways.ask("10.0.0.1", ODD, "10.0.0.2")
    assert ways.told() == ("10.0.0.1", SELF)
    assert ways.told() == (ODD, lib.ND_UNREACHABLE_REFUSED)
    assert sorted([ways.told(), ways.told()]) == [("10.0.0.1", SELF), ("10.0.0.2", SELF)]
    ways.ask(ODD)
    assert ways.told() == (ODD, lib.ND_UNREACHABLE_REFUSED)
    follower.close()


def test_it_ends_while_it_waits_to_try_again(
    ways: AskedWays, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = queue.SimpleQueue[None]()

    def enter() -> None:
        failed.put(None)
        raise FileNotFoundError

    monkeypatch.setattr(_resolver, "RETRY_SECONDS_MIN", 3600.0)
    monkeypatch.setattr(_resolver, "RETRY_SECONDS_MAX", 3600.0)
    follower = Resolver(ways, ["lo"], enter=enter)
    failed.get(timeout=SECONDS)
    follower.close()
    assert failed.empty()


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


class CountingHandler(logging.Handler):
    """Counts a process's open files when something is logged, in the thread that logs."""

    def __init__(self) -> None:
        super().__init__()
        self.files: queue.SimpleQueue[int] = queue.SimpleQueue()

    def emit(self, record: logging.LogRecord) -> None:  # noqa: ARG002
        self.files.put(open_files())


def without_descriptors() -> None:
    """Asks where the process may open no file, and again when it may: in a process of its own."""
    with Events(), Kernel(["lo"]):
        pass  # All is imported.
    ways, counted = AskedWays(), CountingHandler()
    logging.getLogger("ndpstack.ways").addHandler(counted)
    follower = Resolver(ways, ["lo"])
    before = open_files()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + 3, limits[1]))
    ways.ask("127.0.0.1")
    assert counted.files.get(timeout=SECONDS) == before, "some are left open"
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert ways.told()[0] == "127.0.0.1"
    follower.close()


def test_a_process_that_has_no_descriptors_left_is_served_when_it_has() -> None:
    subprocess.run([sys.executable, __file__], check=True, stdin=subprocess.DEVNULL, timeout=60)


if __name__ == "__main__":
    without_descriptors()
