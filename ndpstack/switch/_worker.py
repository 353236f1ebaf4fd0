"""The thread that runs switches."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Self

from ndpstack._core import ffi, lib
from ndpstack.switch._config import WorkerConfig
from ndpstack.switch._errors import Failure, SwitchError
from ndpstack.switch._forks import forked, tell_of_forks
from ndpstack.switch._reading import Heartbeat, heartbeat_of
from ndpstack.switch._values import choice_of, fill, number_of

if TYPE_CHECKING:
    from ndpstack._core import nd_control, nd_worker
    from ndpstack.switch._switch import Switch

_PROFILES = {"adaptive": lib.ND_WORKER_ADAPTIVE, "spin": lib.ND_WORKER_SPIN}
_CPU_MAX = 2**31 - 1


class Worker:
    """A C thread that runs up to 16 switches; Python is never in its way.

    Switches that exchange frames over memory are quickest on one worker; those with CPUs of their
    own on one each. All calls may come from any thread.

    Raises:
        SwitchError: A setting is refused, or the thread cannot be started.
    """

    def __init__(self, config: WorkerConfig | None = None) -> None:
        given = config or WorkerConfig()
        settings = ffi.new("struct nd_worker_config *")
        settings.profile = choice_of("worker", "polling", given.polling, _PROFILES)
        settings.cpu = number_of("worker", "cpu", given.cpu, -1, _CPU_MAX)
        fill(settings, {"spin_ns": "spin_ns"}, "worker", given)
        failure = Failure()
        worker = lib.nd_worker_start(settings, failure.error)
        if not worker:
            raise failure.exception()
        self._worker: nd_worker | None = worker
        self._lock = threading.RLock()
        """Taken after those of switches, never before."""
        self._ends = False
        self._switches: weakref.WeakSet[Switch] = weakref.WeakSet()
        """All that were ever started on it and are still there."""
        self._forked = False
        tell_of_forks(self)

    def disown(self) -> None:
        """In the child of a fork: there is no such thread."""
        self._lock = threading.RLock()
        self._worker, self._forked = None, True

    @property
    def _handle(self) -> nd_worker:
        if self._forked:
            raise forked("the worker")
        if self._worker is None:
            raise SwitchError("the worker has ended")
        return self._worker

    def run(self, switch: Switch, control: nd_control) -> None:
        """Begins to run a switch; for `Switch.start`.

        Raises:
            SwitchError: The switch runs already, the worker has ended, or it has 16 switches.
        """
        with self._lock:
            if self._ends:
                raise SwitchError("the worker has ended")
            failure = Failure()
            self._switches.add(switch)
            failure.check(lib.nd_control_join(control, self._handle, failure.error))

    def heartbeat(self) -> Heartbeat:
        """What it has done up to now.

        Raises:
            SwitchError: It has ended.
        """
        with self._lock:
            return heartbeat_of(lib.nd_worker_stats(self._handle))

    def close(self) -> None:
        """Stops its switches and ends the thread; may be called again.

        In a fork's child it does nothing.
        """
        with self._lock:
            self._ends = True
        # None is added any more. Without the lock: a switch takes its own, and this one's after.
        for switch in list(self._switches):
            switch.leave(self)
        with self._lock:
            worker, self._worker = self._worker, None
            if worker is not None:
                lib.nd_worker_stop(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
