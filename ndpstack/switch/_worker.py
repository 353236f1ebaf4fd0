"""The thread that runs switches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ndpstack._core import ffi, lib
from ndpstack.switch._config import WorkerConfig
from ndpstack.switch._errors import Failure, SwitchError
from ndpstack.switch._reading import Heartbeat, heartbeat_of

if TYPE_CHECKING:
    from ndpstack._core import nd_worker

_PROFILES = {"adaptive": lib.ND_WORKER_ADAPTIVE, "spin": lib.ND_WORKER_SPIN}


class Worker:
    """A C thread that runs up to 16 switches; Python is never in its way.

    Switches that exchange frames over memory are quickest on one worker; those with CPUs of their
    own on one each.
    """

    def __init__(self, config: WorkerConfig | None = None) -> None:
        given = config or WorkerConfig()
        settings = ffi.new("struct nd_worker_config *")
        settings.profile = _PROFILES[given.polling]
        settings.spin_ns, settings.cpu = given.spin_ns, given.cpu
        failure = Failure()
        worker = lib.nd_worker_start(settings, failure.error)
        if not worker:
            raise failure.exception()
        self._worker: nd_worker | None = worker

    @property
    def handle(self) -> nd_worker:
        """The C object."""
        if self._worker is None:
            raise SwitchError("the worker has ended")
        return self._worker

    def heartbeat(self) -> Heartbeat:
        """What it has done up to now."""
        return heartbeat_of(lib.nd_worker_stats(self.handle))

    def close(self) -> None:
        """Ends the thread; its switches must be stopped before."""
        worker, self._worker = self._worker, None
        if worker is not None:
            lib.nd_worker_stop(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
