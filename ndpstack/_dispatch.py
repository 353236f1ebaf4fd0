"""Events of a stack, taken in batches and handed to the sockets that wait for them.

One thread at a time leads: it blocks in the core for events, without the GIL, and wakes the
others, which wait on locks of their own. A thread that has what it came for passes the lead on.
Event loops are woken by the stack's descriptor and lead for one batch at a time.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import struct
import threading
import time
import weakref
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ndpstack import _core
from ndpstack._address import unpack
from ndpstack.errors import make_error

if TYPE_CHECKING:
    from collections.abc import Callable

lib, ffi = _core.lib, _core.ffi

BATCH: Final = 128
"""Events taken in one crossing."""

SLICE_NS: Final = 50_000_000
"""Longest time in C without a look at signals: Ctrl-C works within it."""

ROOM_RETRY_S: Final = 0.0005
"""A full ring makes no event when it empties, so a sender looks again this often."""

CORE_PATIENCE_S: Final = 8.0
"""The core answers within microseconds, or it is gone."""

FOLLOW_NS: Final = 1_000_000_000
"""A follower looks again this often, should the leader have died with an exception."""

RECEIVED: Final = frozenset({lib.ND_EVENT_MESSAGE, lib.ND_EVENT_REQUEST, lib.ND_EVENT_RESPONSE})
"""Kinds of events that bring a message, which has to be released."""

BATCHES_MASK: Final = 0xFFFFFFFF
"""The count of batches that the core's side keeps too."""

_KEY_MASK: Final = (1 << 40) - 1

_EVENT: Final = struct.Struct("<BBHiIHBBIIQQQQ")


class Event(NamedTuple):
    """One struct nd_event; payload is an address."""

    kind: int
    priority: int
    app: int
    error: int
    peer: int
    port: int
    protocol: int
    spare: int
    bytes: int
    detail: int
    id: int
    message: int
    cookie: int
    payload: int


class Waitable:
    """Something that a thread or a task waits for."""

    __slots__ = ("_bell", "_waiters")

    def __init__(self) -> None:
        self._waiters: list[Callable[[], object]] = []
        self._bell = -1

    def is_ready(self) -> bool:
        """True when there is nothing to wait for any more."""
        raise NotImplementedError

    def add_waiter(self, waiter: Callable[[], object]) -> None:
        """Calls it when this may have become ready, from any thread, once."""
        self._waiters.append(waiter)

    def remove_waiter(self, waiter: Callable[[], object]) -> None:
        """Forgets it, called or not."""
        if waiter in self._waiters:
            self._waiters.remove(waiter)

    def ring(self, bell: int) -> None:
        """From now on makes an eventfd readable while this may be ready; -1: none."""
        self._bell = bell
        if bell >= 0 and self.is_ready():
            os.eventfd_write(bell, 1)

    def hush(self) -> None:
        """Silences the eventfd; is_ready() is to be asked again after it."""
        if self._bell >= 0:
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(self._bell)

    def wake(self) -> None:
        """Calls all who wait; they look for themselves."""
        if self._bell >= 0:
            os.eventfd_write(self._bell, 1)
        while self._waiters:
            self._waiters.pop()()


class _Never(Waitable):
    """What is waited for only to let time pass."""

    def is_ready(self) -> bool:
        return False

    def add_waiter(self, waiter: Callable[[], object]) -> None:
        """Nobody will call it."""

    def remove_waiter(self, waiter: Callable[[], object]) -> None:
        """It was never kept."""


_NEVER: Final = _Never()


class Target(Protocol):
    """Who gets the events of a key, a connection, a port or an RPC."""

    def on_event(self, event: Event, again: bool) -> None:
        """Takes an event, which may come again after an interrupt.

        Args:
            event: What happened. The payload of a received message is the target's from now on.
            again: The call before this one was cut short: what it did must not be done twice.
        """

    def on_end(self) -> None:
        """The stack is closed or gone: whoever waits is to look again."""


class Loop(Protocol):
    """An event loop that serves this stack."""

    def kick(self) -> None:
        """Makes it look for events soon; from any thread."""


class Answer(Waitable):
    """The answer to a command; later events of its key go to another target."""

    __slots__ = ("_then", "event")

    def __init__(self, then: Target | None = None) -> None:
        super().__init__()
        self.event: Event | None = None
        self._then = then

    def is_ready(self) -> bool:
        return self.event is not None

    def on_event(self, event: Event, again: bool) -> None:
        if self.event is None or again:
            self.event = self.event or event
            self.wake()
        elif self._then is not None:
            self._then.on_event(event, again)

    def on_end(self) -> None:
        self.wake()
        if self._then is not None:
            self._then.on_end()


class Dispatcher:
    """The event side of one stack handle, and the way to its submit side."""

    def __init__(self, app: _core.nd_app, name: str) -> None:
        self.app = app
        self.name = name
        self.by_key: dict[int, Target] = {}
        self.by_connection: dict[int, Target] = {}
        self.by_port: dict[int, Target] = {}
        self.by_rpc: dict[int, Target] = {}
        self.loops: list[Loop] = []
        self._ended: tuple[int, str] | None = None
        self._keys = itertools.count(1)
        self._events = ffi.new("struct nd_event[]", BATCH)
        self._view = memoryview(ffi.buffer(self._events))
        self._lead = threading.RLock()
        self._batches = 0
        self._at = 0
        self._began = False
        self._followers: list[Callable[[], object]] = []
        self._polled = False
        _open.add(self)

    # ---- commands ----

    def new_key(self, target: Target) -> int:
        """A key under which events come to the target until `by_key` forgets it."""
        key = next(self._keys) & _KEY_MASK
        self.by_key[key] = target
        return key

    def check(self, code: int, what: str) -> None:
        """Raises for the result of a crossing if it is an error."""
        if code < 0:
            raise make_error(-code, what)

    def tell(
        self,
        protocol: int,
        kind: int,
        *,
        port: int = 0,
        identity: int = 0,
        message: int = 0,
        key: int = 0,
        deadline: int = 0,
    ) -> int:
        """Hands over a command without payload; 0 or a negative error number."""
        return lib.nd_app_tell(self.app, protocol, kind, port, identity, message, key, deadline)

    def begin_ask(self, payload: bytes, peer: int) -> tuple[Answer, int]:
        """Asks the core for the handle of an address, or the address of a handle.

        Returns:
            What to wait for, and the key to forget when it is done.
        """
        answer = Answer()
        key = self.new_key(answer)
        code = lib.nd_app_send(
            self.app,
            lib.ND_PROTO_OTHER,
            lib.ND_STACK_COMMAND_PEER,
            0,
            peer,
            0,
            0,
            key,
            0,
            payload,
            len(payload),
        )
        if code < 0:
            self.by_key.pop(key, None)
            raise make_error(-code, "cannot ask the core")
        return answer, key

    def finish_ask(self, answer: Answer, key: int, peer: str | None = None) -> Event:
        """The core's answer.

        Args:
            answer: What was waited for.
            key: Its key.
            peer: The address that was asked for, for the error.

        Raises:
            NdpError: There is none, or it is no.
        """
        self.by_key.pop(key, None)
        event = answer.event
        if event is None:
            raise make_error(errno.ETIMEDOUT, "the core does not answer")
        if event.kind == lib.ND_EVENT_FAILED:
            reason = ffi.string(lib.nd_stack_unreachable_text(event.detail)).decode()
            raise make_error(
                -event.error, "cannot resolve the peer", peer=peer, remedy=f"{reason}."
            )
        return event

    def ask_core(self, payload: bytes, peer: int) -> Event:
        """Asks as begin_ask(), and waits for the answer."""
        answer, key = self.begin_ask(payload, peer)
        try:
            self.wait(answer, time.monotonic() + CORE_PATIENCE_S)
        finally:
            self.by_key.pop(key, None)
        return self.finish_ask(answer, key, unpack(payload) if payload else None)

    def nudge(self) -> None:
        """Has the core make an event, after all those of commands before."""
        lib.nd_app_send(
            self.app, lib.ND_PROTO_OTHER, lib.ND_STACK_COMMAND_PEER, 0, 0, 0, 0, 0, 0, b"", 0
        )

    # ---- waiting ----

    def wait(self, target: Waitable, until: float | None) -> bool:
        """Blocks until the target is ready; false when the time has come first.

        Args:
            target: What to wait for.
            until: Seconds on the clock of time.monotonic(), or None for ever.

        Raises:
            NdpError: The stack was closed, or its core has ended.
        """
        while not target.is_ready():
            self.check_alive()
            left = _left_ns(until)
            if not self._lead_for(target, until) and left:
                self._follow(target, until)
            if not left:
                return target.is_ready()
        return True

    def _lead_for(self, target: Waitable, until: float | None) -> bool:
        """Takes events until the target is ready or the time has come; false if another leads."""
        led = False
        try:
            led = self._lead.acquire(blocking=False)
            while led:
                left = _left_ns(until)
                self._take(min(left, SLICE_NS))
                if not left or target.is_ready() or self._ended:
                    break
        finally:
            # Not `led`: an interrupt can come between the lock and the variable.
            if self._leads():
                self._lead.release()
                self._pass_on()
        return led

    def _leads(self) -> bool:
        """True when this thread holds the lead."""
        owned: bool = self._lead._is_owned()  # type: ignore[attr-defined]
        return owned

    def _follow(self, target: Waitable, until: float | None) -> None:
        """Waits until the leader has something for us, or leaves the lead to us."""
        lock = threading.Lock()
        lock.acquire()
        waiter = _Release(lock)
        target.add_waiter(waiter)
        self._followers.append(waiter)
        try:
            # Whoever leads now has seen us; if nobody does, nobody would wake us.
            if target.is_ready() or self._lead_for(target, until):
                return
            lock.acquire(timeout=min(_left_ns(until), FOLLOW_NS) / 1e9)
        finally:
            target.remove_waiter(waiter)
            if waiter in self._followers:
                self._followers.remove(waiter)

    def _pass_on(self) -> None:
        """After leading: lets another thread, or the event loops, look for events."""
        if self._followers:
            self._followers.pop()()
        elif self.loops or self._polled:
            self.settle()

    def settle(self) -> None:
        """Makes the descriptor tell of the next event, and takes those that are there."""
        while self.poll():
            pass

    def poll(self) -> bool:
        """Takes one batch without waiting; true when there may be more."""
        if self._leads():
            return False  # A destructor runs in the middle of a batch.
        try:
            if not self._lead.acquire(blocking=False):
                return False
            full = self._take(0) == BATCH
            return not self._ended and (full or not lib.nd_app_arm(self.app))
        finally:
            if self._leads():
                self._lead.release()

    # ---- events ----

    def _take(self, timeout_ns: int) -> int:
        """Takes a batch, waiting for it, and hands it out; returns how many. The caller leads.

        An exception, such as Ctrl-C, may end this anywhere: the core's events are then still in
        the buffer, and the next call goes on where this one was.
        """
        count = lib.nd_app_batch(self.app, self._events, BATCH, timeout_ns, self._batches)
        if count > 0:
            self._hand_out(count)
        elif count < 0 and count != -errno.EINTR:
            self.fail(-count, f"stack {self.name}")
            return 0
        return count

    def _hand_out(self, count: int) -> None:
        """Gives each event of the batch in the buffer to its target, once."""
        raw = self._view[self._at * _EVENT.size : count * _EVENT.size]
        for event in map(Event._make, _EVENT.iter_unpack(raw)):
            again, self._began = self._began, True
            self._route(event, again)
            # No call stands between these, so no interrupt can.
            self._began = False
            self._at += 1
        self._at = 0
        self._batches = (self._batches + 1) & BATCHES_MASK

    def _route(self, event: Event, again: bool) -> None:
        target = self._target_of(event)
        if target is not None:
            target.on_event(event, again)
        elif event.kind in RECEIVED and not again:
            lib.nd_app_release(self.app, event.protocol, event.id, event.message)

    def _target_of(self, event: Event) -> Target | None:
        if event.kind == lib.ND_EVENT_OPENED:
            return self.by_key.get(event.cookie)
        if event.protocol == lib.ND_PROTO_NDP:
            if event.kind == lib.ND_EVENT_ACCEPTED:
                return self.by_key.get(event.cookie)
            return self.by_connection.get(event.id) or self.by_key.get(event.cookie)
        if event.kind == lib.ND_EVENT_REQUEST:
            return self.by_port.get(event.port)
        if event.id & 1:
            return self.by_rpc.get(event.id)
        return self.by_key.get(event.cookie)

    # ---- the end ----

    @property
    def ended(self) -> bool:
        """True when nothing more will come."""
        return self._ended is not None

    def check_alive(self) -> None:
        """Raises when the stack is closed, its core has ended, or this is a fork's child."""
        if self._ended is not None:
            raise make_error(*self._ended)

    def fail(self, code: int, what: str) -> None:
        """Ends every wait with this error, now and from now on."""
        self._ended = (code, what)
        targets = [*self.by_key.values(), *self.by_connection.values(), *self.by_port.values()]
        for target in targets:
            target.on_end()
        for loop in list(self.loops):
            loop.kick()
        while self._followers:
            self._followers.pop()()

    def close(self) -> None:
        """Closes the handle; leased messages stay readable."""
        if self._ended is None:
            self.fail(errno.EBADF, f"stack {self.name} is closed")
        with self._lead:
            lib.nd_app_close(self.app)
        _open.discard(self)

    def disown(self) -> None:
        """In the child of a fork: refuses everything."""
        lib.nd_app_disown(self.app)
        self._lead = threading.RLock()
        self._followers = []
        self.loops = []
        self._ended = (errno.ECHILD, f"stack {self.name} was opened before a fork")

    def descriptor(self) -> int:
        """For poll(2): readable when there are events; from now on it is kept armed."""
        self._polled = True
        self.settle()
        return self.raw_descriptor()

    def raw_descriptor(self) -> int:
        """The descriptor; whoever uses it keeps it armed by settle() and poll()."""
        return lib.nd_app_descriptor(self.app)

    def pause(self, until: float | None) -> None:
        """Takes events for as long as a full ring may take to empty, at most until then."""
        retry = time.monotonic() + ROOM_RETRY_S
        self.wait(_NEVER, retry if until is None else min(retry, until))


class _Release:
    """Wakes a follower; it may be called twice."""

    __slots__ = ("_lock",)

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock

    def __call__(self) -> None:
        if self._lock.locked():
            try:
                self._lock.release()
            except RuntimeError:  # Another thread was quicker.
                return


def _left_ns(until: float | None) -> int:
    if until is None:
        return SLICE_NS * 1000
    return max(0, int((until - time.monotonic()) * 1e9))


_open: weakref.WeakSet[Dispatcher] = weakref.WeakSet()


def _after_fork() -> None:
    for dispatcher in list(_open):
        dispatcher.disown()


os.register_at_fork(after_in_child=_after_fork)
