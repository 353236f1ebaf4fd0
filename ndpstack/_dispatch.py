"""Events of a stack, taken in batches and handed to the sockets that wait for them.

One thread at a time leads: it blocks in the core for events, without the GIL, and wakes the
others, which wait on locks of their own. A thread that has what it came for passes the lead on.
Event loops are woken by the stack's descriptor and lead for one batch at a time.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
import weakref
from math import inf
from typing import TYPE_CHECKING, Final, TypeVar

from ndpstack import _core, _messages
from ndpstack._event import (
    ACCEPTED,
    FAILED,
    HOMA,
    NDP,
    OPENED,
    Event,
    event_at,
)
from ndpstack._waitable import Never, Release, Waitable
from ndpstack.errors import make_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from ndpstack._address import Peer
    from ndpstack._target import Accepting, Keyed, Loop, Named, Target

    Message = bytes | _core.Pointer[bytes]
    """Data as the core takes them."""

lib, ffi = _core.lib, _core.ffi

BATCH: Final = 128
"""Events taken in one crossing."""

SLICE_NS: Final = lib.ND_APP_SLICE
"""Longest time in C without a look at signals: Ctrl-C works within it."""

ROOM_RETRY_S: Final = 0.0005
"""A full ring makes no event when it empties, so a sender looks again this often."""

CORE_PATIENCE_S: Final = 25.0
"""The core itself refuses what has waited 20 seconds for a way; silence beyond that is its end."""

CORE_MOMENT_S: Final = 0.01
"""Within it the core tells what it knows, also to those who must not wait for it to find out."""

FOLLOW_NS: Final = 1_000_000_000
"""A follower looks again this often, should the leader have died with an exception."""

DROPPED: Final = lib.ND_APP_DROPPED
"""The kind of an event whose message was given back before an interrupt."""

_UNSENT: Final = lib.ND_APP_UNSENT
_SENT: Final = lib.ND_APP_SENT

_request: Final = lib.nd_app_request
_take_message: Final = lib.nd_app_take
"""Looked up once: an attribute of `lib` takes as long as a function call."""

BATCHES_MASK: Final = 0xFFFFFFFF
"""The count of batches that the core's side keeps too."""


T = TypeVar("T")


class Dispatcher(_messages.Inbox):
    """The event side of one stack handle, and the way to its submit side."""

    def __init__(self, app: _core.nd_app, name: str) -> None:
        self._events = ffi.new("struct nd_event[]", BATCH)
        self._view = memoryview(ffi.buffer(self._events))
        pointers = (app, lib.nd_app_verbs(), self._events)
        super().__init__(app, *(int(ffi.cast("uintptr_t", each)) for each in pointers))
        self.name = name
        self.by_key: dict[int, Target] = {}
        self.by_connection: dict[int, Target] = {}
        self.peers: dict[str, Peer] = {}
        """Those that were resolved, by their addresses."""
        self.loops: list[Loop] = []
        self.forked = False
        """This is a fork's child: all that is open is the parent's."""
        self._reply = ffi.new("struct nd_app_reply *")
        self._reply_data = memoryview(ffi.buffer(self._reply.data))
        self._asking: Keyed | None = None
        """What the reply is of, until it has been read."""
        message = ffi.new("struct nd_app_message *")
        self._message: _core.nd_app_message | None = message
        """None until what is in it has been read."""
        self._message_data = memoryview(ffi.buffer(message.data))
        self._new_lead()
        self._followers: list[Callable[[], object]] = []
        self._polled = False
        self._keeps_back = False
        """The leader may have read words that others began to wait for since."""
        _open.add(self)

    def _new_lead(self) -> None:
        self._lead = threading.RLock()
        self._try_to_lead = self._lead.acquire
        self._leads: Callable[[], bool] = self._lead._is_owned  # type: ignore[attr-defined]
        """True when this thread holds the lead."""

    # ---- commands ----

    def give_key(self, target: Named) -> None:
        """A key, under which events come to the target until `by_key` forgets it.

        The target keeps the key, whatever interrupts this.
        """
        key = self.next_key()
        self.by_key[key], target.key = target, key

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

    def cancel_rpc(self, identity: int) -> None:
        """Ends an RPC at both ends."""
        self.tell(HOMA, lib.ND_COMMAND_CANCEL, identity=identity)

    def wait_for_core(self, answer: Waitable) -> None:
        """Waits for what the core answers at once.

        Raises:
            Timeout: It does not.
        """
        if not self.wait(answer, time.monotonic() + CORE_PATIENCE_S):
            raise make_error(errno.ETIMEDOUT, "the core does not answer")

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
        while not (target.is_ready() or self._lead_for(target, until)):
            self.check_alive()
            if not _slice_ns(until):
                return target.is_ready()
            self._follow(target, until)
        return True

    def _lead_for(self, target: Waitable, until: float | None) -> bool:
        """Takes events until the target is ready, if no other thread does; true when it is.

        It ends before when the time has come or the stack has ended.
        """
        led = False
        try:
            led = self._lead.acquire(blocking=False)
            while led and self.ended is None:
                wait_ns = _slice_ns(until)
                self._take(wait_ns)
                if target.is_ready():
                    return True
                if not wait_ns:
                    break
        finally:
            self._stop_leading(led)
        return False

    def _stop_leading(self, led: bool) -> None:
        # Not `led` alone: an interrupt can come between the lock and the variable.
        if led or self._leads():
            self._lead.release()
            if self._followers or self.loops or self._polled:
                self._pass_on()

    def run_alone(self, work: Callable[[], object]) -> None:
        """Runs it while no thread hands out events; leaves it out where one does, also this one."""
        if self._leads():
            return
        led = False
        try:
            led = self._try_to_lead(False)
            if led:
                work()
        finally:
            self._stop_leading(led)

    def exchange(
        self,
        call: Keyed,
        priority: int,
        peer: int,
        port: int,
        until: float | None,
        data: Message,
        size: int,
    ) -> memoryview | None:
        """Sends a request and takes its reply, in one crossing, when no other thread leads.

        Args:
            call: It gets the request's key, and in the end the reply, if that has yet to come.
            priority: Of the request.
            peer: The handle of its server.
            port: Where it is served.
            until: When to give up, or None.
            data: What is sent.
            size: Its length.

        Returns:
            The reply, or None when it has yet to come; the call has no key if nothing was sent.
        """
        led, got, reply = False, -1, self._reply
        end = inf if until is None else until
        try:
            led = self._try_to_lead(False)
            # A signal handler may ask where this thread has not read its reply yet.
            if not led or self.ended is not None or self._asking is not None:
                return None
            self._asking = call
            try:
                try:
                    got = _request(
                        self.app, priority, peer, port, end, data, size, self._events, BATCH,
                        self.batches, reply,
                    )  # fmt: skip
                finally:
                    if got < 0 and reply.state == _SENT:
                        reply.state, call.key, call.buffer = _UNSENT, reply.key, reply.buffer
                        self.by_call[call.key] = call
                if got >= 0:
                    return memoryview(bytearray(self._reply_data[:got]))
            finally:
                self._asking = None
            if call.key:
                self._hand_out(reply.count)
            return None
        finally:
            self._stop_leading(led)

    def take(
        self,
        protocol: int,
        subject: int,
        until: float | None,
        source: Accepting[T],
    ) -> T | None:
        """Waits for a message, in one crossing, when no other thread leads.

        Args:
            protocol: Of the message.
            subject: The port or connection that it comes to.
            until: When to give up, or None.
            source: Where it goes if it is not short, or not all that came.

        Returns:
            What the source made of it; None: nothing came, or the source has it.
        """
        led, taken, message = False, None, None
        end = inf if until is None else until
        try:
            try:
                led = self._try_to_lead(False)
                if not led or self.ended is not None or source.is_ready():
                    return None
                message, self._message = self._message, None
                if message is None:  # A signal handler, as in exchange().
                    return None
                batches = self.batches
                self._keeps_back = True  # Whoever begins to wait now says so.
                self._keeps_back = alone = not (self._followers or self.loops or self._polled)
                got = _take_message(
                    self.app, protocol, subject, end, alone, self._events, BATCH, batches,
                    message,
                )  # fmt: skip
                self._keeps_back = False
                if got < 0:
                    self._hand_out(message.count)
                    return None
                taken = source.accept(message, self._message_data[:got], batches)
                if taken is None:
                    self._take(0)
            finally:
                if message is not None:
                    self._message = message
                self._stop_leading(led)
        except BaseException:
            if taken is not None:
                source.put_back(taken)
            raise
        return taken

    def _follow(self, target: Waitable, until: float | None) -> None:
        """Waits until the leader has something for us, or leaves the lead to us."""
        lock = threading.Lock()
        lock.acquire()
        waiter = Release(lock)
        target.add_waiter(waiter)
        self._followers.append(waiter)
        try:
            # Whoever leads now has seen us; if nobody does, nobody would wake us.
            if target.is_ready() or self._lead_for(target, until):
                return
            self._interrupt_leader()
            lock.acquire(timeout=_slice_ns(until, FOLLOW_NS) / 1e9)
        finally:
            target.remove_waiter(waiter)
            try:
                self._followers.remove(waiter)
            except ValueError:  # The lead was left to us.
                if target.is_ready() or sys.exc_info()[0] is not None:
                    self._pass_on()

    def _interrupt_leader(self) -> None:
        """Has it hand out what it keeps back, for somebody who has just begun to wait."""
        if self._keeps_back:
            self.nudge()

    def _pass_on(self) -> None:
        """After leading: lets another thread, or the event loops, look for events."""
        if not self._wake_follower() and (self.loops or self._polled):
            self.settle()

    def _wake_follower(self) -> bool:
        try:
            waiter = self._followers.pop()
        except IndexError:
            return False
        waiter()
        return True

    def settle(self) -> None:
        """Makes the descriptor tell of the next event, and takes those that are there."""
        while self.poll() == BATCH and self.ended is None:
            pass

    def poll(self, woken: bool = False) -> int:
        """Sends, and takes one batch without waiting.

        Args:
            woken: The descriptor is readable.

        Returns:
            How many events it had; there may be more if that are BATCH.
        """
        if self._leads():
            return 0  # A destructor runs in the middle of a batch.
        led = False
        try:
            led = self._lead.acquire(blocking=False)
            if not led:
                self._leave_to_leader()
                return 0
            if self.ended is not None:
                return 0
            count = lib.nd_app_poll(self.app, self._events, BATCH, self.batches, woken)
            self._hand_out(count)
            return count
        finally:
            if led or self._leads():
                self._lead.release()
                # They began to wait meanwhile, and the loop may have other things to do.
                if self._followers:
                    self._wake_follower()

    def _leave_to_leader(self) -> None:
        """It takes what comes, and is to send what has been left for poll()."""
        lib.nd_app_look_away(self.app)
        lib.nd_app_push(self.app)
        self._interrupt_leader()

    def add_loop(self, loop: Loop) -> None:
        """From now on it looks for events when the descriptor is readable."""
        self.loops.append(loop)
        self._drive()

    def remove_loop(self, loop: Loop) -> None:
        """It does not any more; others do in its place."""
        self.loops.remove(loop)
        self._drive()
        for other in self.loops:
            other.kick()

    def _drive(self) -> None:
        """One loop alone runs the core's rounds: several would all be woken by each packet."""
        lib.nd_app_drive(self.app, len(self.loops) == 1 and not self._polled)
        if not self.ended:
            self.settle()

    # ---- events ----

    def _take(self, timeout_ns: int) -> int:
        """Takes a batch, waiting for it, and hands it out; returns how many. The caller leads.

        An exception, such as Ctrl-C, may end this anywhere: the core's events are then still in
        the buffer, and the next call goes on where this one was.
        """
        if self._asking is not None:
            self._adopt(self._asking, self._reply)
        count = lib.nd_app_batch(self.app, self._events, BATCH, timeout_ns, self.batches)
        self._hand_out(count)
        return count

    def _adopt(self, call: Keyed, reply: _core.nd_app_reply) -> None:
        """In a signal handler that broke into exchange(): its reply may be among what comes."""
        if reply.state == _SENT:
            reply.state, call.key, call.buffer = _UNSENT, reply.key, reply.buffer
            self.by_call[call.key] = call

    def _hand_out(self, count: int) -> None:
        """Gives each event of the batch in the buffer to its target, once.

        Args:
            count: As of nd_app_batch(): a negative error number ends the stack.
        """
        if count > 0:
            self.hand_out()
        elif count not in (0, -errno.EINTR):
            self.fail(-count, f"stack {self.name}")
        else:
            self.let_go()

    def give(self, at: int, again: bool) -> None:
        """Hands out what is no message of Homa's.

        Args:
            at: Which event of the batch.
            again: An interrupt came while it was handed out before.
        """
        event = event_at(self._view, at)
        target = self._target_of(event)
        if target is not None:
            target.on_event(event, again)
        elif event.kind == FAILED and event.id & 1 and event.protocol == HOMA:
            self.cancel_rpc(event.id)  # The core may have refused the reply, and the client waits.
        else:
            self.drop_current()

    def drop_current(self) -> None:
        """Gives back the message of the event that is handed out, if nobody owns it, once."""
        if not self.owned:
            lib.nd_app_drop(self.app, ffi.addressof(self._events, self.at))

    def _target_of(self, event: Event) -> Target | None:
        kind, key = event.kind, event.cookie
        if kind == DROPPED:
            return None
        if event.protocol == NDP:
            if kind not in (OPENED, ACCEPTED):
                return self.by_connection.get(event.id) or self.by_key.get(key)
        elif event.protocol == HOMA:
            if event.id & 1:
                reference = self.by_rpc.get(event.id)
                return reference() if reference is not None else None
            return self.by_call.get(key) or self.by_key.get(key)
        return self.by_key.get(key)

    # ---- the end ----

    def check_alive(self) -> None:
        """Raises when the stack is closed, its core has ended, or this is a fork's child."""
        if self.ended is not None:
            raise make_error(*self.ended)

    def fail(self, code: int, what: str) -> None:
        """Ends every wait with this error, now and from now on."""
        self.ended = (code, what)
        served = [reference() for reference in list(self.by_rpc.values())]
        # Each in one step: other threads add and remove some.
        for target in [
            *self.by_key.values(),
            *self.by_call.values(),
            *self.by_connection.values(),
            *self.by_port.values(),
            *served,
        ]:
            if target is not None:
                target.on_end()
        for loop in list(self.loops):
            loop.kick()
        while self._wake_follower():
            pass

    def close(self) -> None:
        """Closes the handle; leased messages stay readable."""
        if self.ended is None:
            self.fail(errno.EBADF, f"stack {self.name} is closed")
        with self._lead:
            lib.nd_app_close(self.app, self.batches)
        self.let_go()
        _open.discard(self)

    def disown(self) -> None:
        """In the child of a fork: refuses everything."""
        lib.nd_app_disown(self.app)
        self.forked = True
        self._new_lead()
        self._followers = []
        self.loops = []
        self.ended = (errno.ECHILD, f"stack {self.name} was opened before a fork")

    def descriptor(self) -> int:
        """As raw_descriptor(), but from now on it is kept armed."""
        self._polled = True
        self._drive()
        return self.raw_descriptor()

    def raw_descriptor(self) -> int:
        """For poll(2): readable when there are events. The caller closes it.

        Whoever uses it keeps it armed by settle() and poll().

        Raises:
            NdpError: The stack has ended, or there are no descriptors left.
        """
        descriptor = lib.nd_app_descriptor(self.app)
        if descriptor < 0:
            self.check_alive()
            raise make_error(-descriptor, "cannot watch the stack")
        return descriptor

    def pause(self, until: float | None) -> None:
        """Takes events for as long as a full ring may take to empty, at most until then."""
        retry = time.monotonic() + ROOM_RETRY_S
        self.wait(Never(), retry if until is None else min(retry, until))


def _slice_ns(until: float | None, longest: int = SLICE_NS) -> int:
    """How long to wait at once for something that may come until then."""
    if until is None:
        return longest
    left = int((until - time.monotonic()) * 1e9)
    return longest if left > longest else left if left > 0 else 0


def patience_s(until: float | None) -> float:
    """Seconds to wait for an answer of the core.

    Args:
        until: When to give up, as of time.monotonic(), or None.
    """
    if until is None:
        return CORE_PATIENCE_S
    return min(max(until - time.monotonic(), CORE_MOMENT_S), CORE_PATIENCE_S)


_open: weakref.WeakSet[Dispatcher] = weakref.WeakSet()


def _after_fork() -> None:
    for dispatcher in list(_open):
        dispatcher.disown()


os.register_at_fork(after_in_child=_after_fork)
