"""What a service has to do with its supervisor: notifications, watchdog, sockets handed down."""

from __future__ import annotations

import logging
import os
import socket

log = logging.getLogger("ndpstack.systemd")

_FIRST_SOCKET = 3


_silence = ""
"""Why systemd did not listen last time; it is said once, not with every notification."""


def notify(*lines: str) -> bool:
    """Tells systemd; False when nobody listens."""
    global _silence
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
        try:
            sock.sendto("\n".join(lines).encode(), address)
        except OSError as error:
            if str(error) != _silence:
                _silence = str(error)
                log.warning("systemd does not listen: %s", error)
            return False
    _silence = ""
    return True


def watchdog_seconds() -> float | None:
    """How often systemd wants to hear from us; None when it does not."""
    usec, pid = os.environ.get("WATCHDOG_USEC", ""), os.environ.get("WATCHDOG_PID", "")
    if not usec.isdecimal() or (pid and pid != str(os.getpid())):
        return None
    return int(usec) / 1e6


def listening_sockets() -> list[int]:
    """Descriptors of listening sockets that the supervisor handed down to this process."""
    count, pid = os.environ.get("LISTEN_FDS", ""), os.environ.get("LISTEN_PID", "")
    if not count.isdecimal() or pid != str(os.getpid()):
        return []
    return list(range(_FIRST_SOCKET, _FIRST_SOCKET + int(count)))
