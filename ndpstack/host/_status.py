"""What a host service tells about itself: one JSON document for each connection to its socket."""

from __future__ import annotations

import json
import os
import socket
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ndpstack._errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PATIENCE_SECONDS: Final = 2.0
DOCUMENT_BYTES_MAX: Final = 1 << 20
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
        describe: Makes the document.

    Raises:
        UserError: Another host service of this name runs here.
    """

    def __init__(self, service: str, describe: Callable[[], Mapping[str, object]]) -> None:
        self._describe = describe
        self._address = socket_address(service)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            if self._address.startswith("/"):
                # The core has taken the service's name by now: whatever is here is left over.
                Path(self._address).unlink(missing_ok=True)
            self._socket.bind(self._address)
            self._socket.listen()
        except OSError as error:
            self._socket.close()
            text = f"host {service}: no status socket ({error.strerror}); is another one running?"
            raise UserError(text) from error

    def fileno(self) -> int:
        """Readable when somebody asks."""
        return self._socket.fileno()

    def answer(self) -> None:
        """Answers all who ask; who does not read gets nothing."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                if self._is_welcome(connection):
                    connection.settimeout(PATIENCE_SECONDS)
                    try:
                        connection.sendall(json.dumps(self._describe()).encode())
                    except OSError:
                        continue

    @staticmethod
    def _is_welcome(connection: socket.socket) -> bool:
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        _, user, _ = _CREDENTIALS.unpack(raw)
        return user in (0, os.geteuid())

    def close(self) -> None:
        """Closes the socket and removes its path. Idempotent."""
        if self._socket.fileno() < 0:
            return
        self._socket.close()
        if self._address.startswith("/"):
            Path(self._address).unlink(missing_ok=True)


def read_status(service: str) -> dict[str, object]:
    """Asks a running host service.

    Raises:
        UserError: There is none of this name, or it does not answer.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(PATIENCE_SECONDS)
        try:
            sock.connect(socket_address(service))
            data = b""
            while chunk := sock.recv(65536):
                data += chunk
                if len(data) > DOCUMENT_BYTES_MAX:
                    raise UserError(f"host {service}: its answer is too long")
        except (ConnectionRefusedError, FileNotFoundError):
            text = f"host {service}: not running in this network namespace; ndpstack host run"
            raise UserError(text) from None
        except OSError as error:
            raise UserError(f"host {service}: does not answer ({error}); see its log") from error
    if not data:
        raise UserError(f"host {service}: it answers its own user and root only")
    document: dict[str, object] = json.loads(data)
    return document
