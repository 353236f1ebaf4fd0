"""The data path in C."""

from __future__ import annotations

from typing import TYPE_CHECKING

from switchd.dataplane._protocol import DataPlane, DataPlaneError

if TYPE_CHECKING:
    from switchd.config import Daemon


def start(daemon: Daemon) -> DataPlane:
    """Starts it.

    Raises:
        DataPlaneError: It cannot be started.
    """
    raise DataPlaneError(f"polling = {daemon.polling!r}: this build has no data path")
