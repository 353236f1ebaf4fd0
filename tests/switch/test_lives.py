"""What ends while it is in use: by another thread, in another order, after a fork."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Protocol

import pytest
from memory_host import fresh_opening, mac

from ndpstack._core import lib
from ndpstack.switch import (
    GroupConfig,
    Page,
    PortConfig,
    Switch,
    SwitchConfig,
    SwitchError,
    Worker,
    queue,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType


class Lock(Protocol):
    """A lock of either kind."""

    def acquire(self, blocking: bool = ...) -> bool: ...
    def release(self) -> None: ...


class Watch:
    """Which functions are called, and which of them while nobody holds a lock."""

    def __init__(self, names: tuple[str, ...], locks: tuple[Lock, ...]) -> None:
        self._names, self._locks = names, locks
        self._other = ThreadPoolExecutor(1)
        self.called: set[str] = set()
        self.unguarded: set[str] = set()

    def _free(self) -> bool:
        with ExitStack() as taken:
            for lock in self._locks:
                if not lock.acquire(blocking=False):
                    return False
                taken.callback(lock.release)
        return True

    def __call__(self, frame: FrameType, event: str, function: object) -> None:
        """A profiler; it runs in the thread that calls, right before."""
        if event not in ("call", "c_call"):
            return
        name = frame.f_code.co_name if event == "call" else getattr(function, "__name__", "")
        if name.startswith(self._names):
            self.called.add(name)
            if self._other.submit(self._free).result():
                self.unguarded.add(name)


@contextmanager
def watched(*names: str, locks: tuple[Lock, ...]) -> Iterator[Watch]:
    """Watches this thread's calls.

    Args:
        names: Of the functions, or what their names begin with.
        locks: Those that whoever frees what the functions use takes before.
    """
    watch = Watch(names, locks)
    sys.setprofile(watch)
    try:
        yield watch
    finally:
        sys.setprofile(None)


def port_config(name: str) -> PortConfig:
    return PortConfig(name=name, opening=fresh_opening(), queue=queue("droptail", limit="64pkt"))


def use(switch: Switch) -> None:
    """Everything that a switch can do."""
    config = port_config("p0")
    switch.add_port(config)
    switch.start()
    switch.set_port(config)
    switch.set_link("p0", up=True)
    switch.reopen_port("p0")
    switch.port_state("p0")
    switch.add_group(GroupConfig(name="up", ports=("p0",)))
    switch.set_address(mac(1), "p0")
    switch.remove_address(mac(1))
    switch.add_route("10.1.0.0/16", "p0", {"p0": mac(2)})
    switch.remove_route("10.1.0.0/16")
    switch.remove_group("up")
    mirror = switch.mirror()
    for tell in (switch.read, switch.fdb, switch.heartbeat, switch.audit):
        tell()
    switch.queue_state("p0")
    switch.clear_watermarks()
    switch.check_links()
    assert switch.events_fd != switch.page_fd
    switch.remove_port("p0")
    switch.stop()
    assert mirror.dropped() == 0
    switch.close()


def test_nothing_is_called_on_a_switch_that_another_thread_may_free_meanwhile() -> None:
    switch = Switch(SwitchConfig(name="s", routes=16))
    with watched("nd_control_", locks=(switch._lock, switch._life)) as watch:
        use(switch)
    assert watch.unguarded == set()
    there = {name for name in dir(lib) if name.startswith("nd_control_")}
    assert watch.called == there - {"nd_control_new"}


def test_a_page_is_read_by_one_thread_at_a_time_and_unmapped_by_none_meanwhile() -> None:
    """The copy is one for all readers until its values have been taken."""
    with Switch(SwitchConfig(name="s")) as switch:
        page = Page(switch.page_fd)
        with watched("nd_page_", "reading_of", locks=(page._lock,)) as watch:
            assert page.read().name == "s"
            page.close()
            page.close()
    assert watch.unguarded == set()
    assert watch.called == {"nd_page_read", "nd_page_unmap", "reading_of"}
    with pytest.raises(SwitchError, match="the page is closed"):
        page.read()


def test_a_worker_tells_of_itself_until_another_thread_ends_it() -> None:
    worker = Worker()
    with watched("nd_worker_", locks=(worker._lock,)) as watch:
        worker.heartbeat()
        worker.close()
        worker.close()
    assert watch.unguarded == set()
    assert watch.called == {"nd_worker_stats", "nd_worker_stop"}
    with pytest.raises(SwitchError, match="the worker has ended"):
        worker.heartbeat()


def test_a_worker_that_ends_stops_its_switches() -> None:
    """They tell what they did, and may begin anew; as may those that another worker runs."""
    switch, other = Switch(SwitchConfig(name="a")), Switch(SwitchConfig(name="b"))
    with Worker() as former:
        switch.start(former)
        other.start(former)
        other.stop()
        other.start()
    assert switch.heartbeat().rounds == switch.read().heartbeat.rounds
    with pytest.raises(SwitchError, match="b is running"):
        other.start()
    with pytest.raises(SwitchError, match="the worker has ended"):
        switch.start(former)
    with Worker() as worker:
        switch.start(worker)
    switch.close()
    other.close()


def test_a_worker_ends_while_its_switches_begin_and_end() -> None:
    def live(switch: Switch, worker: Worker) -> None:
        with switch, suppress(SwitchError):  # It has ended.
            switch.start(worker)
            switch.heartbeat()
            switch.stop()
            switch.start(worker)

    with ThreadPoolExecutor(3) as pool:
        for _ in range(30):
            with Worker() as worker:
                switches = [Switch(SwitchConfig(name=name)) for name in "abc"]
                lives = [pool.submit(live, switch, worker) for switch in switches]
            for end in lives:
                end.result()


def in_child(check: Callable[[], None]) -> None:
    """Runs it in the child of a fork, which must come to its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Of forks beside threads.
        child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)
        try:
            check()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@contextmanager
def held(*locks: Lock) -> Iterator[None]:
    """Another thread has them."""
    has, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        for lock in locks:
            lock.acquire()
        has.set()
        let_go.wait()
        for lock in locks:
            lock.release()

    thread = threading.Thread(target=hold)
    thread.start()
    has.wait()
    try:
        yield
    finally:
        let_go.set()
        thread.join()


def test_the_child_of_a_fork_reads_and_leaves_what_its_parent_runs() -> None:
    """Whatever other threads were at: they are missing there, and hold their locks for ever."""
    with Worker() as worker, Switch(SwitchConfig(name="s", routes=16)) as switch:
        switch.add_port(port_config("p0"))
        switch.start(worker)
        mirror, page = switch.mirror(), Page(switch.page_fd)

        def check() -> None:
            for change in (
                lambda: switch.add_port(port_config("p1")),
                lambda: switch.remove_port("p0"),
                lambda: switch.set_address(mac(1), "p0"),
                lambda: switch.start(worker),
                switch.start,
                switch.audit,
                switch.fdb,
                worker.heartbeat,
                mirror.read,
            ):
                with pytest.raises(SwitchError, match=r"made before a fork; .* `spawn`") as found:
                    change()
                assert found.value.errno == errno.ECHILD
            with switch, page, worker:
                assert switch.read().name == page.read().name == "s"
                assert switch.heartbeat().rounds > 0
                switch.stop()
                mirror.close()
            with pytest.raises(SwitchError, match="s is closed"):
                switch.read()
            with Switch(SwitchConfig(name="own")) as own:
                own.start()

        switch.check_links()
        with held(switch._lock, switch._life, worker._lock, mirror._ring.lock, page._lock):
            in_child(check)
        assert switch.audit() is None
        assert mirror.read() == []
        assert page.read().name == "s"


def test_the_child_of_a_fork_closes_a_switch_of_its_own_thread() -> None:
    with Switch(SwitchConfig(name="s")) as switch:
        switch.start()
        in_child(switch.close)
        in_child(switch.stop)
        assert switch.audit() is None
