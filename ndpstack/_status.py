"""The socket on which a process tells of a core: one JSON document for each connection.

Host services are named by what applications attach by, stacks that programs run by PID.N.

Who asks gets a blank at once, which says that somebody is there, sends the document's name and ends
its sending; nothing stands for `status`.
"""

from __future__ import annotations

import os
import pwd
import select
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from ndpstack._errors import UserError
from ndpstack._units import parse_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Maker = Callable[[str], Mapping[str, object] | None]
    """Makes the document of a name; None: there is none."""

DEFAULT_SERVICE: Final = "host"
NAME_BYTES_MAX: Final = 32
PID_MAX: Final = 1 << 22
"""Of Linux."""
ASKERS_MAX: Final = 64
"""At once, of one socket; the first makes room for one more."""
_OWNER_SECONDS: Final = 1.0
"""How long who has a name may take to be told of."""
_CREDENTIALS: Final = struct.Struct("3i")


def stack_pid(service: str) -> int | None:
    """The process of a stack's name, PID.N; None: it is a host service's."""
    pid, _, number = service.partition(".")
    return parse_whole(pid, PID_MAX) if number.isdecimal() else None


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
    """Answers root and the user of this process when it was made.

    Args:
        service: Name of the service.
        make: What it tells.

    Raises:
        UserError: Somebody has the name: another service, or who wants to be taken for one.
    """

    def __init__(self, service: str, make: Maker) -> None:
        self._make = make
        self._uid = os.geteuid()
        self._address = socket_address(service)
        self._asking: dict[int, tuple[socket.socket, Iterator[int]]] = {}
        self._epoll = select.epoll()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            if self._address.startswith("/"):
                # The core has taken the service's name by now: whatever is here is left over.
                self._unlink()
            self._socket.bind(self._address)
            self._socket.listen()
            # By edges: a process without a descriptor for an asker sleeps all the same.
            self._epoll.register(self._socket, select.EPOLLIN | select.EPOLLET)
        except OSError as error:
            self._socket.close()
            self._epoll.close()
            remedy = "end it, or take a path for a name, in a folder that only you write to"
            cause = f"{error.strerror}{self._taken_by()}"
            raise UserError(f"{title(service)}: no status socket ({cause}); {remedy}") from error

    def _taken_by(self) -> str:
        with socket.socket(socket.AF_UNIX) as sock, suppress(OSError):
            sock.settimeout(_OWNER_SECONDS)
            sock.connect(self._address)
            return f" by {Owner.of(sock)}"
        return ""

    def fileno(self) -> int:
        """Readable when there is something to answer; -1: closed."""
        return -1 if self._epoll.closed else self._epoll.fileno()

    def answer(self) -> None:
        """Goes on with all who ask and waits for none of them, but for documents to be made."""
        while ready := self._epoll.poll(0, 1):
            ((descriptor, _),) = ready
            if descriptor == self._socket.fileno():
                self._accept()
            else:
                self._go_on(descriptor)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                if Owner.of(connection).uid not in (0, self._uid):
                    connection.close()
                    continue
                if len(self._asking) >= ASKERS_MAX:
                    self._drop(next(iter(self._asking)))
                self._epoll.register(connection, select.EPOLLOUT)
                self._asking[connection.fileno()] = connection, self._serve(connection)

    def _serve(self, connection: socket.socket) -> Iterator[int]:
        """Answers one asker; yields the event that it is to go on at."""
        connection.setblocking(False)
        connection.send(b" ")
        name = b""
        while len(name) <= NAME_BYTES_MAX:
            yield select.EPOLLIN
            chunk = connection.recv(NAME_BYTES_MAX)
            if not chunk:
                break
            name += chunk
        document = self._make(name.decode(errors="replace") or "status")
        if document is None:
            return
        import json  # Not before somebody asks: a stack of a program has this socket, too.

        rest = memoryview(json.dumps(document).encode())
        while rest:
            yield select.EPOLLOUT
            rest = rest[connection.send(rest) :]

    def _go_on(self, descriptor: int) -> None:
        connection, steps = self._asking[descriptor]
        event = 0
        try:
            with suppress(OSError):
                event = next(steps, 0)
        finally:
            if event:
                self._epoll.modify(connection, event)
            else:
                self._drop(descriptor)

    def _drop(self, descriptor: int) -> None:
        connection, _ = self._asking.pop(descriptor)
        self._epoll.unregister(connection)
        with connection, suppress(OSError):
            # A child that was forked meanwhile has the connection, too.
            connection.shutdown(socket.SHUT_RDWR)

    def _unlink(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._address)

    def close(self) -> None:
        """Closes the socket and removes its path. Idempotent."""
        if self._epoll.closed:
            return
        self._epoll.close()
        self._socket.close()
        for connection, _ in self._asking.values():
            connection.close()
        if self._address.startswith("/"):
            self._unlink()
