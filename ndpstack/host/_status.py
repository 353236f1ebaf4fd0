"""What a host service tells about itself: one JSON document for each connection to its socket.

Who asks sends the document's name and ends its sending; nothing stands for `status`.
"""

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
DOCUMENT_BYTES_MAX: Final = 1 << 26
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
        documents: What makes each document, by its name.

    Raises:
        UserError: Another host service of this name runs here.
    """

    def __init__(
        self, service: str, documents: Mapping[str, Callable[[], Mapping[str, object]]]
    ) -> None:
        self._documents = documents
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
        """Answers all who ask; who does not read, or asks for what is not there, gets nothing."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                if self._is_welcome(connection):
                    connection.settimeout(PATIENCE_SECONDS)
                    try:
                        self._serve(connection)
                    except OSError:
                        continue

    def _serve(self, connection: socket.socket) -> None:
        name = b""
        while len(name) <= NAME_BYTES_MAX and (chunk := connection.recv(NAME_BYTES_MAX)):
            name += chunk
        make = self._documents.get(name.decode(errors="replace") or "status")
        if make is not None:
            connection.sendall(json.dumps(make()).encode())

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


def read_status(service: str, name: str = "status") -> dict[str, object]:
    """Asks a running host service for one of its documents.

    Args:
        service: The service's name.
        name: The document's.

    Raises:
        UserError: There is no such service, or it does not answer.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(PATIENCE_SECONDS)
        try:
            sock.connect(socket_address(service))
            sock.sendall(name.encode())
            sock.shutdown(socket.SHUT_WR)
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
        raise UserError(
            f"host {service}: no answer; it answers its own user and root only, "
            f"and an older one does not know of {name!r}"
        )
    document: dict[str, object] = json.loads(data)
    return document
