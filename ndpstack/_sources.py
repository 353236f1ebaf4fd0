"""Asks what tells of a core in this network namespace: host services, and programs' stacks."""

from __future__ import annotations

import json
import os
import re
import socket
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self, TypeVar

from ndpstack._errors import UserError
from ndpstack._status import Owner, socket_address, stack_pid, title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

DEFAULT_SERVICE: Final = "host"
BEGIN_SECONDS: Final = 2.0
"""How long an answer may take to begin, which it does before it is made."""
ANSWER_SECONDS: Final = 60.0
"""How long the rest may then be silent: a hundred thousand rows take seconds."""
DOCUMENT_BYTES_MAX: Final = 1 << 26
STACKS_MAX: Final = 256
"""Asked at once."""
_CHUNK: Final = 1 << 16
_LISTENS: Final = re.compile(
    r" 00010000 0001 01 +\d+ @ndpstack/stack/(\d+)\.(\d+)/status$", re.MULTILINE
)
"""A line of /proc/net/unix."""


class UnavailableError(UserError):
    """It is not there, or not this user's: who asks for all there is does without."""


class Answer(NamedTuple):
    """A document, and whose it is."""

    service: str
    """What has been asked: the name of a host service, or PID.N of a stack."""
    owner: Owner
    at: float
    """When it was here: CLOCK_MONOTONIC, seconds."""
    document: dict[str, object]

    @property
    def stack(self) -> str:
        """Interface of the core, or the name of its link."""
        return str(self.document.get("stack"))

    def nonsense(self, what: str) -> UserError:
        """That it has not what was asked for."""
        return UserError(f"{title(self.service)}: {self.owner} answers, but with no {what}")

    def labels(self) -> dict[str, str | int]:
        """What tells it from other answers in JSON. Who it is says the kernel, not itself."""
        return {
            "service": self.service, "pid": self.owner.pid, "user": self.owner.user,
            "stack": self.stack,
        }  # fmt: skip


class Question:
    """A document that was asked for: answer() gives it.

    Args:
        service: Who is asked: the name of a host service, or PID.N of a stack.
        name: The document's.

    Raises:
        UserError: It takes no question.
        UnavailableError: It is not there, or not this user's.
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
            self._check_owner()
            self._socket.sendall(self._name.encode())
            self._socket.shutdown(socket.SHUT_WR)
        except (ConnectionRefusedError, FileNotFoundError):
            remedy = "ndpstack host run" if stack_pid(self._service) is None else "it has ended"
            text = f"{title(self._service)}: not running in this network namespace; {remedy}"
            raise UnavailableError(text) from None
        except OSError as error:
            raise self._silence(error) from error

    def _check_owner(self) -> None:
        whose = f"{title(self._service)}: {self.owner} has the name"
        if os.geteuid() not in (0, self.owner.uid):
            raise UnavailableError(f"{whose}; it would answer that user and root only")
        if stack_pid(self._service) not in (None, self.owner.pid):
            raise UserError(f"{whose}, which is another process's")

    def _silence(self, error: OSError) -> UserError:
        pid = stack_pid(self._service)
        if pid is None:
            return UserError(f"host {self._service}: does not answer ({error}); see its log")
        return UserError(f"PID {pid}: does not answer ({error}); it is stopped, or holds the GIL")

    def answer(self) -> Answer:
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
                    raise UserError(f"{title(self._service)}: its answer is too long")
        except OSError as error:
            raise self._silence(error) from error
        now = time.monotonic()
        if not data.strip():
            raise UserError(
                f"{title(self._service)}: no {self._name}; it has ended, or is of another version"
            )
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise Answer(self._service, self.owner, now, {}).nonsense("document")
        return Answer(self._service, self.owner, now, document)

    def close(self) -> None:
        """Lets go of it, answered or not. Idempotent."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def find_stacks() -> list[str]:
    """PID.N of the stacks that programs tell of in this thread's network namespace, in order."""
    try:
        table = Path("/proc/thread-self/net/unix").read_text(errors="replace")
    except OSError:
        return []
    found = sorted({(int(pid), int(number)) for pid, number in _LISTENS.findall(table)})
    return [f"{pid}.{number}" for pid, number in found]


def ask(service: str, name: str) -> Answer:
    """Asks one host service, or stack, for one of its documents.

    Raises:
        UserError: There is none of that name, or it does not answer.
    """
    with Question(service, name) as question:
        return question.answer()


def ask_all(name: str, read: Callable[[Answer], T]) -> tuple[list[T], list[str]]:
    """Asks the host service and all stacks of programs, at once, for one of their documents.

    Args:
        name: The document's.
        read: Makes of each what is wanted; UserError: it is not what it should be.

    Returns:
        What was read, and a line for each that does not answer.

    Raises:
        UserError: None answers.
    """
    found: list[T] = []
    problems: list[str] = []
    absent: list[str] = []
    stacks = find_stacks()
    with ExitStack() as held:
        questions = []
        for service in (DEFAULT_SERVICE, *stacks[:STACKS_MAX]):
            with _noting(problems, absent):
                questions.append(held.enter_context(Question(service, name)))
        for question in questions:
            with _noting(problems, absent):
                found.append(read(question.answer()))
    if len(stacks) > STACKS_MAX:
        problems.append(f"{len(stacks) - STACKS_MAX} more stacks are not asked; name one: PID.N")
    if not found:
        if not stacks:
            absent.append("and no program here has a stack open: ndpstack.Stack()")
        raise UserError("; ".join(problems + absent))
    return found, problems


@contextmanager
def _noting(problems: list[str], absent: list[str]) -> Iterator[None]:
    try:
        yield
    except UnavailableError as error:
        absent.append(str(error))
    except UserError as error:
        problems.append(str(error))


def read_status(service: str) -> dict[str, object]:
    """What a running host service says of itself.

    Raises:
        UserError: There is no such service, or it does not answer.
    """
    answer = ask(service, "status")
    return answer.document | {"pid": answer.owner.pid, "user": answer.owner.user}
