"""What a process tells `ndpstack ss` and `stat` of the stacks that it runs itself.

One thread answers for all stacks of the process. It is blocked in the kernel until somebody asks,
so it costs nothing, and a core without a service goes on lending its rounds to whoever waits.
"""

from __future__ import annotations

import os
import select
import threading
import weakref
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack._status import StatusSocket

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

    from ndpstack._stack import Stack


class Teller:
    """The thread, and the sockets that it answers on."""

    def __init__(self) -> None:
        # A destructor may close a stack anywhere, in this module as well.
        self._lock = threading.RLock()
        self._epoll = select.epoll()
        self._sockets: dict[int, StatusSocket] = {}
        self._busy: StatusSocket | None = None
        threading.Thread(target=self._run, name="ndpstack-teller", daemon=True).start()

    def add(self, status: StatusSocket) -> None:
        """From now on it is answered on; OSError: there is no room, and it is closed."""
        with self._lock:
            try:
                self._epoll.register(status, select.EPOLLIN)
            except OSError:
                status.close()
                raise
            self._sockets[status.fileno()] = status

    def remove(self, status: StatusSocket) -> None:
        """Closes it; the thread does, if it is just answering there. Idempotent."""
        with self._lock:
            if self._sockets.pop(status.fileno(), None) is not None:
                self._epoll.unregister(status)
                if status is not self._busy:
                    status.close()

    def _run(self) -> None:
        while True:
            for descriptor, _ in self._epoll.poll():
                self._answer(descriptor)

    def _answer(self, descriptor: int) -> None:
        with self._lock:
            status = self._busy = self._sockets.get(descriptor)
        if status is None:
            return
        try:
            status.answer()
        except Exception:
            _log().exception("cannot tell of a stack")
        with self._lock:
            self._busy = None
            if descriptor not in self._sockets:
                status.close()

    def disown(self) -> None:
        """In the child of a fork: the sockets are its parent's, whose names they would keep."""
        self._lock = threading.RLock()
        self._epoll.close()
        for status in self._sockets.values():
            status.close()
        self._sockets.clear()


class Told:
    """A stack that is told of; close() it before the stack.

    Args:
        stack: It may go unclosed: it is not held.
        namespace: Where it is seen, since abstract names belong to a network namespace.

    Raises:
        UserError: Somebody has the name.
        OSError: There is no such namespace, or no descriptor left.
        RuntimeError: There is no thread left.
    """

    def __init__(self, stack: Stack, namespace: str | None) -> None:
        name = f"{os.getpid()}.{next(_numbers)}"
        make = partial(_document, weakref.ref(stack))
        self._teller = _of_this_process()
        if namespace is None:
            self._status = StatusSocket(name, make)
        else:
            from ndpstack._netns import call_inside

            self._status = call_inside(namespace, lambda: StatusSocket(name, make))
        self._teller.add(self._status)

    def close(self) -> None:
        """Nobody is told of it any more. Idempotent."""
        self._teller.remove(self._status)


def _document(reference: Callable[[], Stack | None], name: str) -> dict[str, object] | None:
    from ndpstack._documents import document  # Not before somebody asks.

    stack = reference()
    return None if stack is None else document(stack, name)


def tell_of(stack: Stack, namespace: str | None) -> Told | None:
    """Tells of the stack from now on; None: that cannot be done, and the stack does without."""
    try:
        return Told(stack, namespace)
    except (UserError, OSError, RuntimeError) as error:
        _log().debug("`ndpstack ss` does not see %r: %s", stack, error)
        return None


def _log() -> logging.Logger:
    import logging  # Not before there is something to say.

    return logging.getLogger("ndpstack.teller")


_numbers = count(1)
_teller: Teller | None = None
_making = threading.Lock()


def _of_this_process() -> Teller:
    global _teller
    with _making:
        if _teller is None:
            _teller = Teller()
        return _teller


def _after_fork() -> None:
    global _teller, _making
    _making = threading.Lock()
    if _teller is not None:
        _teller.disown()
        _teller = None


os.register_at_fork(after_in_child=_after_fork)
