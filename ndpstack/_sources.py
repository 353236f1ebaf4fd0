"""Asks what tells of a core in this network namespace: host services, and programs' stacks."""

from __future__ import annotations

import os
import re
import selectors
import socket
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self, TypeVar

from ndpstack import _json
from ndpstack._errors import UserError
from ndpstack._status import DEFAULT_SERVICE, Owner, socket_address, stack_pid, title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")

BEGIN_SECONDS: Final = 2.0
"""How long an answer may take to begin, which it does before it is made."""
ANSWER_SECONDS: Final = 60.0
"""How long all of it may take: a hundred thousand rows take seconds."""
DOCUMENT_BYTES_MAX: Final = 1 << 26
QUESTIONS_MAX: Final = 256
"""Asked at once."""
CONNECTS_MAX: Final = 1 << 14
"""How many names are looked at for them: anybody may take some that look like stacks."""
_CHUNK: Final = 1 << 16
_LISTENS: Final = re.compile(
    r" 00010000 0001 01 +\d+ @ndpstack/stack/(\d+)\.(\d+)/status$", re.MULTILINE
)
"""A line of /proc/net/unix."""


class UnaskedError(UserError):
    """It was not asked."""

    def __init__(self, text: str, owner: Owner | None = None) -> None:
        super().__init__(text)
        self.owner = owner
        """Who has the name, and is not to be asked."""


class UnavailableError(UnaskedError):
    """It is not there, or not this user's: who asks for all there is does without."""


class StatusAnswer(NamedTuple):
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

    def attributed(self) -> dict[str, object]:
        """The document, with who answers. That says the kernel, not itself."""
        return self.document | {"pid": self.owner.pid, "user": self.owner.user}

    def labels(self) -> dict[str, str | int]:
        """What tells it from other answers in JSON. Who it is says the kernel, not itself."""
        return {
            "service": self.service, "pid": self.owner.pid, "user": self.owner.user,
            "stack": self.stack,
        }  # fmt: skip


class StatusQuestion:
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
        self._data = bytearray()
        self._failure: UserError | None = None
        self._at: float | None = None
        now = time.monotonic()
        self._end, self.until = now + ANSWER_SECONDS, now + BEGIN_SECONDS
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            self._ask()
        except BaseException:
            self.close()
            raise

    def _ask(self) -> None:
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
            text = f"{whose}; it would answer that user and root only"
            raise UnavailableError(text, self.owner)
        if stack_pid(self._service) not in (None, self.owner.pid):
            raise UnaskedError(f"{whose}, which is another process's", self.owner)

    def _silence(self, error: OSError) -> UserError:
        pid = stack_pid(self._service)
        if pid is None:
            return UserError(f"host {self._service}: does not answer ({error}); see its log")
        return UserError(f"PID {pid}: does not answer ({error}); it is stopped, or holds the GIL")

    @property
    def is_finished(self) -> bool:
        """Nothing more is awaited: answer() returns, or raises, at once."""
        return self._at is not None or self._failure is not None

    def fileno(self) -> int:
        """Readable when take() has something to take."""
        return self._socket.fileno()

    def begun(self) -> None:
        """Its process answers."""
        self.until = self._end

    def take(self) -> None:
        """Takes what has come."""
        try:
            chunk = self._socket.recv(_CHUNK)
        except OSError as error:
            self._failure = self._silence(error)
            return
        self._data += chunk
        if not chunk:
            self._at = time.monotonic()
        elif len(self._data) > DOCUMENT_BYTES_MAX:
            self._failure = UserError(f"{title(self._service)}: its answer is too long")

    def give_up(self) -> None:
        """It was waited for until `until`."""
        if self.until < self._end:
            self._failure = self._silence(TimeoutError("timed out"))
        else:
            text = f"{title(self._service)}: {self.owner} takes too long to answer"
            self._failure = UserError(text)

    def answer(self) -> StatusAnswer:
        """Waits for the document.

        Raises:
            UserError: The service does not answer, or has no such document.
        """
        await_all([self])
        if self._failure is not None:
            raise self._failure
        assert self._at is not None
        if not self._data.strip():
            raise UserError(
                f"{title(self._service)}: no {self._name}; it has ended, or is of another version"
            )
        try:
            document = _json.loads(self._data)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise StatusAnswer(self._service, self.owner, self._at, {}).nonsense("document")
        return StatusAnswer(self._service, self.owner, self._at, document)

    def close(self) -> None:
        """Lets go of it, answered or not. Idempotent."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def await_all(questions: Sequence[StatusQuestion]) -> None:
    """Takes all answers as they come, so that none waits for another to be read."""
    with selectors.DefaultSelector() as selector:
        awaited = {question for question in questions if not question.is_finished}
        for question in awaited:
            selector.register(question, selectors.EVENT_READ, question)
        while awaited:
            now = time.monotonic()
            first = min(question.until for question in awaited)
            for key, _ in selector.select(max(first - now, 0.0)):
                _take(key.data, awaited)
            for question in awaited:
                if question.until <= now and not question.is_finished:
                    question.give_up()
            finished = {question for question in awaited if question.is_finished}
            awaited -= finished
            for question in finished:
                selector.unregister(question)


def _take(question: StatusQuestion, awaited: set[StatusQuestion]) -> None:
    """Takes what has come for one; its process may make answers one after the other."""
    question.take()
    for other in awaited:
        if other.owner.pid == question.owner.pid:
            other.begun()


def find_stacks() -> list[str]:
    """PID.N of the stacks that programs tell of in this thread's network namespace, in order."""
    try:
        table = Path("/proc/thread-self/net/unix").read_text(errors="replace")
    except OSError:
        return []
    found = sorted({(int(pid), int(number)) for pid, number in _LISTENS.findall(table)})
    return [f"{pid}.{number}" for pid, number in found]


def ask(service: str, name: str) -> StatusAnswer:
    """Asks one host service, or stack, for one of its documents.

    Raises:
        UserError: There is none of that name, or it does not answer.
    """
    with StatusQuestion(service, name) as question:
        return question.answer()


def ask_all(name: str, read: Callable[[StatusAnswer], T]) -> tuple[list[T], list[str]]:
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
    notes = _Notes()
    names = [DEFAULT_SERVICE, *find_stacks()]
    tried = 0
    with ExitStack() as held:
        questions: list[StatusQuestion] = []
        while tried < min(len(names), CONNECTS_MAX) and len(questions) < QUESTIONS_MAX:
            with notes.noting():
                questions.append(held.enter_context(StatusQuestion(names[tried], name)))
            tried += 1
        await_all(questions)
        for question in questions:
            with notes.noting():
                found.append(read(question.answer()))
    problems, absent = list(notes.problems.values()), list(notes.absent.values())
    if tried < len(names):
        problems.append(f"{len(names) - tried} more stacks are not asked; name one: PID.N")
    if not found:
        if len(names) == 1:
            absent.append("and no program here has a stack open: ndpstack.Stack()")
        raise UserError("; ".join(problems + absent))
    return found, problems


class _Notes:
    """A line for each that does not answer: one for all names of an owner who is not asked."""

    def __init__(self) -> None:
        self.problems: dict[object, str] = {}
        self.absent: dict[object, str] = {}

    @contextmanager
    def noting(self) -> Iterator[None]:
        try:
            yield
        except UnavailableError as error:
            self.absent.setdefault(error.owner or error, str(error))
        except UnaskedError as error:
            self.problems.setdefault(error.owner, str(error))
        except UserError as error:
            self.problems[error] = str(error)


def read_status(service: str) -> dict[str, object]:
    """What a running host service says of itself.

    Raises:
        UserError: There is no such service, or it does not answer.
    """
    return ask(service, "status").attributed()
