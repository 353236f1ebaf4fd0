"""The socket on which a process tells of a core: one JSON document for each connection.

Host services are named by what applications attach by, stacks that programs run by PID.N.

Who asks sends the document's name and ends its sending; nothing stands for `status`. The answer
begins with a blank at once, which says that the document is being made.
"""

from __future__ import annotations

import os
import pwd
import socket
import struct
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, Self

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


def stack_pid(service: str) -> int | None:
    """The process of a stack's name, PID.N; None: it is a host service's."""
    pid, _, number = service.partition(".")
    return int(pid) if pid.isdecimal() and number.isdecimal() else None


def title(service: str) -> str:
    """What has this name, in texts."""
    return f"host {service}" if stack_pid(service) is None else f"stack {service}"


def socket_address(service: str) -> str:
    """The UNIX socket beside the one of the service: abstract as that is, or a path."""
    if stack_pid(service) is not None:
        return f"\0ndpstack/stack/{service}/status"
    if service.startswith("/"):
        return f"{service}.status"
    return f"\0ndpstack/{service}/status"


class Owner(NamedTuple):
    """Who is at the other end of a connection, or has bound the socket there."""

    pid: int
    uid: int

    @classmethod
    def of(cls, connection: socket.socket) -> Self:
        """As the kernel knows it."""
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, uid, _ = _CREDENTIALS.unpack(raw)
        return cls(pid, uid)

    @property
    def user(self) -> str:
        """The user's name, or number if it has none."""
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return str(self.uid)

    def __str__(self) -> str:
        return f"PID {self.pid} of user {self.user}"


class StatusSocket:
    """Answers root and this process's own user.

    Args:
        service: Name of the service.
        make: What it tells.

    Raises:
        UserError: Somebody has the name: another service, or who wants to be taken for one.
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
            remedy = "end it, or take a path for a name, in a folder that only you write to"
            cause = f"{error.strerror}{self._taken_by()}"
            raise UserError(f"{title(service)}: no status socket ({cause}); {remedy}") from error

    def _taken_by(self) -> str:
        with socket.socket(socket.AF_UNIX) as sock, suppress(OSError):
            sock.settimeout(NAME_SECONDS)
            sock.connect(self._address)
            return f" by {Owner.of(sock)}"
        return ""

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
                if Owner.of(connection).uid in (0, os.geteuid()):
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
