"""Asks what tells of a core in this network namespace for its documents."""

from __future__ import annotations

import json
import os
import socket
import time
from typing import Final, Self

from ndpstack._errors import UserError
from ndpstack._status import Owner, socket_address

BEGIN_SECONDS: Final = 2.0
"""How long an answer may take to begin, which it does before it is made."""
ANSWER_SECONDS: Final = 60.0
"""How long the rest may then be silent: a hundred thousand rows take seconds."""
DOCUMENT_BYTES_MAX: Final = 1 << 26
_CHUNK: Final = 1 << 16


class Question:
    """A document that was asked for: answer() gives it.

    Args:
        service: Who is asked.
        name: The document's.

    Raises:
        UserError: There is no such service, or it takes no question.
    """

    def __init__(self, service: str, name: str) -> None:
        self._service, self._name = service, name
        self._until = time.monotonic() + BEGIN_SECONDS
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._ask()
        except BaseException:
            self.close()
            raise

    def _ask(self) -> None:
        self._socket.settimeout(BEGIN_SECONDS)
        try:
            self._socket.connect(socket_address(self._service))
            self.owner = Owner.of(self._socket)
            if os.geteuid() not in (0, self.owner.uid):
                raise UserError(
                    f"host {self._service}: {self.owner} has the name; it would answer that user "
                    "and root only"
                )
            self._socket.sendall(self._name.encode())
            self._socket.shutdown(socket.SHUT_WR)
        except (ConnectionRefusedError, FileNotFoundError):
            raise UserError(
                f"host {self._service}: not running in this network namespace; ndpstack host run"
            ) from None
        except OSError as error:
            raise self._silence(error) from error

    def _silence(self, error: OSError) -> UserError:
        return UserError(f"host {self._service}: does not answer ({error}); see its log")

    def answer(self) -> dict[str, object]:
        """Waits for the document.

        Raises:
            UserError: The service does not answer, or has no such document.
        """
        data = bytearray()
        try:
            self._socket.settimeout(max(self._until - time.monotonic(), 1e-3))
            while chunk := self._socket.recv(_CHUNK):
                self._socket.settimeout(ANSWER_SECONDS)
                data += chunk
                if len(data) > DOCUMENT_BYTES_MAX:
                    raise UserError(f"host {self._service}: its answer is too long")
        except OSError as error:
            raise self._silence(error) from error
        return self._read(data)

    def _read(self, data: bytearray) -> dict[str, object]:
        if not data.strip():
            raise UserError(
                f"host {self._service}: no {self._name}; it has ended, or is of another version"
            )
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise UserError(f"host {self._service}: {self.owner} answers, but with no document")
        return document

    def close(self) -> None:
        """Lets go of it, answered or not. Idempotent."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_status(service: str, name: str = "status") -> dict[str, object]:
    """Asks a running host service for one of its documents. Who it is says the kernel, not itself.

    Args:
        service: The service's name.
        name: The document's.

    Raises:
        UserError: There is no such service, or it does not answer.
    """
    with Question(service, name) as question:
        answer, owner = question.answer(), question.owner
        return answer | {"pid": owner.pid, "user": owner.user}
