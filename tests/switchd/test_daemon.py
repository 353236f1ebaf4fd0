"""The daemon's life on its event loop."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

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
