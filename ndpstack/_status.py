"""The socket on which a process tells of a core: one JSON document for each connection.

Who asks sends the document's name and ends its sending; nothing stands for `status`. The answer
begins with a blank at once, which says that the document is being made.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ndpstack._errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Maker = Callable[[str], Mapping[str, object] | None]
    """Makes the document of a name; None: there is none."""

NAME_SECONDS: Final = 0.2
"""How long an asker may take to say what it wants: the others wait."""
READ_SECONDS: Final = 2.0
"""How long it may take to read the answer."""
NAME_BYTES_MAX: Final = 32
_CREDENTIALS: Final = struct.Struct("3i")


def socket_address(service: str) -> str:
    """The UNIX socket beside the one of the service: abstract as that is, or a path."""
    if service.startswith("/"):
        return f"{service}.status"
    return f"\0ndpstack/{service}/status"


class StatusSocket:
    """Answers root and this process's own user.

    Args:
        service: Name of the service.
        make: What it tells.

    Raises:
        UserError: Another host service of this name runs here.
    """

    def __init__(self, service: str, make: Maker) -> None:
        self._make = make
        self._address = socket_address(service)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            if self._address.startswith("/"):
                # The core has taken the service's name by now: whatever is here is left over.
                self._unlink()
            self._socket.bind(self._address)
            self._socket.listen()
        except OSError as error:
            self._socket.close()
            text = f"host {service}: no status socket ({error.strerror}); is another one running?"
            raise UserError(text) from error

    def fileno(self) -> int:
        """Readable when somebody asks; -1: closed."""
        return self._socket.fileno()

    def answer(self) -> None:
        """Answers all who ask; who does not read, or asks for what is not there, gets nothing."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                if self._is_welcome(connection):
                    self._serve(connection)
                # A child that was forked meanwhile has the connection, too.
                connection.shutdown(socket.SHUT_RDWR)

    def _serve(self, connection: socket.socket) -> None:
        name = _receive_name(connection)
        connection.settimeout(READ_SECONDS)
        connection.sendall(b" ")
        document = self._make(name or "status")
        if document is not None:
            import json  # Not before somebody asks: a stack of a program has this socket, too.

            connection.sendall(json.dumps(document).encode())

    @staticmethod
    def _is_welcome(connection: socket.socket) -> bool:
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        _, user, _ = _CREDENTIALS.unpack(raw)
        return user in (0, os.geteuid())

    def _unlink(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._address)

    def close(self) -> None:
        """Closes the socket and removes its path. Idempotent."""
        if self._socket.fileno() < 0:
            return
        self._socket.close()
        if self._address.startswith("/"):
            self._unlink()


def _receive_name(connection: socket.socket) -> str:
    """What is asked for; TimeoutError when the asker does not say it."""
    until, name = time.monotonic() + NAME_SECONDS, b""
    while len(name) <= NAME_BYTES_MAX:
        connection.settimeout(max(until - time.monotonic(), 1e-3))
        chunk = connection.recv(NAME_BYTES_MAX)
        if not chunk:
            break
        name += chunk
    return name.decode(errors="replace")
