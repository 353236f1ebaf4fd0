"""A client that blocks: what command-line tools and plain threads need."""

from __future__ import annotations

import select
import socket
import time
from typing import TYPE_CHECKING, Self

from ndpstack._errors import UserError
from ndpstack._units import parse_whole
from ndpstack.control._wire import (
    API_VERSION,
    FEED_BYTES,
    Call,
    Message,
    Notification,
    Reply,
    Splitter,
    WireError,
    encode,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

PORT_MAX = 0xFFFF

REPLY_BYTES_MAX = 64 * 2**20
"""Longest reply that is read: a forwarding database of a million addresses."""


WAITING_MAX = 65536
"""Notifications that may come before an answer; more come of no daemon of ours."""


class ControlError(UserError):
    """The daemon refused a call; `code` says how."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class UnreachableError(UserError):
    """The daemon cannot be reached, or is gone."""


def parse_address(address: str) -> str | tuple[str, int]:
    """A UNIX path, or the host and the port of ADDRESS:PORT.

    Raises:
        ValueError: It is neither.
    """
    host, _, text = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if "\0" not in address:
        if address.startswith(("/", ".")):
            return address
        port = parse_whole(text, PORT_MAX)
        if host and port:
            return host, port
    raise ValueError(f"{address!r} is neither a path nor ADDRESS:PORT")


def connect(address: str, timeout_seconds: float) -> socket.socket:
    """A socket to a UNIX path, or to ADDRESS:PORT.

    Raises:
        UnreachableError: With what to look at.
    """
    try:
        target = parse_address(address)
    except ValueError as error:
        raise UnreachableError(str(error)) from None
    family = socket.AF_UNIX
    if not isinstance(target, str):
        family = socket.AF_INET6 if ":" in target[0] else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.settimeout(timeout_seconds)
    try:
        sock.connect(target)
    except OSError as error:
        sock.close()
        raise UnreachableError(f"{address}: {_remedy(error)}") from error
    return sock


def _remedy(error: OSError) -> str:
    if isinstance(error, FileNotFoundError | ConnectionRefusedError):
        return f"{error.strerror}: switchd does not run there; start it: systemctl start switchd"
    if isinstance(error, PermissionError):
        return f"{error.strerror}: run it as root or as a member of the daemon's control-group"
    return str(error)


class Client:
    """A connection; one thread at a time."""

    def __init__(
        self, address: str, timeout_seconds: float = 10.0, bytes_max: int = REPLY_BYTES_MAX
    ) -> None:
        """Connects and checks that both sides speak the same version.

        Args:
            address: Path of a UNIX socket, or ADDRESS:PORT.
            timeout_seconds: Longest time that a call may take.
            bytes_max: Longest message that is read.

        Raises:
            UnreachableError: There is nobody, or not the right one.
        """
        self._address, self._timeout = address, timeout_seconds
        self._socket = connect(address, timeout_seconds)
        self._splitter = Splitter(bytes_max)
        self._waiting: list[Message] = []
        self._id = 0
        try:
            theirs = self.call("version")
        except UserError:
            self.close()
            raise
        if not isinstance(theirs, dict) or theirs.get("api") != API_VERSION:
            self.close()
            raise UnreachableError(
                f"{address}: the daemon speaks version {theirs!r}, this tool {API_VERSION}; "
                "use those of one release"
            )

    def close(self) -> None:
        """Hangs up; may be called again."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        """Readable when notifications may be there."""
        return self._socket.fileno()

    def call(self, method: str, **params: object) -> object:
        """Asks and waits for the answer.

        Raises:
            ControlError: The daemon refused.
            UnreachableError: The daemon is gone or silent.
            UserError: A value cannot be sent.
        """
        self._id += 1
        try:
            data = encode(Call(self._id, method, params))
        except (OverflowError, ValueError) as error:
            text = f"{method}: cannot be sent: {error}; numbers have 64 bits, texts are UTF-8"
            raise UserError(text) from None
        self._send(data)
        deadline = time.monotonic() + self._timeout
        while True:
            for index, message in enumerate(self._waiting):
                if isinstance(message, Reply) and message.id == self._id:
                    del self._waiting[index]
                    return _result(message)
            self._receive(deadline)

    def notifications(self, timeout_seconds: float | None = None) -> Iterator[Notification]:
        """Those that have arrived, after waiting for the first one.

        Args:
            timeout_seconds: How long to wait; for ever when None, not at all when 0.
        """
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        while not self._waiting:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([self._socket], [], [], left)[0]:
                return
            self._receive(time.monotonic() + self._timeout)
        waiting, self._waiting = self._waiting, []
        yield from (message for message in waiting if isinstance(message, Notification))

    def _send(self, data: bytes) -> None:
        try:
            self._socket.settimeout(self._timeout)
            self._socket.sendall(data)
        except OSError as error:
            raise UnreachableError(f"{self._address}: the daemon is gone: {error}") from error

    def _receive(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        try:
            if left <= 0:
                raise TimeoutError(f"no answer within {self._timeout:g} s")
            self._socket.settimeout(left)
            data = self._socket.recv(FEED_BYTES)
            if not data:
                raise ConnectionResetError("it hung up")
            self._waiting.extend(self._splitter.feed(data))
            if len(self._waiting) > WAITING_MAX:
                raise WireError(f"more than {WAITING_MAX} messages that nobody asked for")
        except (OSError, WireError) as error:
            raise UnreachableError(f"{self._address}: {error}") from error


def _result(reply: Reply) -> object:
    if reply.error is None:
        return reply.result
    code, message = reply.error.get("code"), reply.error.get("message")
    raise ControlError(str(code), str(message))
