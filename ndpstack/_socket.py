"""What both kinds of sockets have in common: timeouts, closing, buffers in, room to send."""

from __future__ import annotations

import errno
import operator
import select
import time
import warnings
from enum import Enum
from typing import TYPE_CHECKING, Final, Generic, Self, TypeVar, TypeVarTuple

from ndpstack import _core
from ndpstack._address import PORT_MAX, Peer, check_port
from ndpstack._single import Single
from ndpstack._waitable import Bell, Owned, Waitable
from ndpstack.errors import MessageTooLong, NdpError, WouldBlock, make_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from ndpstack._dispatch import Dispatcher, Message
    from ndpstack._stack import Stack

lib, ffi = _core.lib, _core.ffi

Address = tuple["str | Peer", int]
"""A host, by IP address or resolved by `Stack.peer`, and a port."""

PRIORITY_MAX: Final = 7

NEVER: Final = (1 << 64) - 1

FOREVER_S: Final = 1e9
"""A timeout beyond is none."""


class Unset(Enum):
    """The type of UNSET."""

    UNSET = 0


UNSET: Final = Unset.UNSET
"""A timeout that was not given: the socket's own counts."""

Timeout = float | None | Unset
"""Seconds, None for ever, or UNSET."""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Source(Waitable, Generic[T]):
    """Things that come in, one after the other: ready when there is one, or never will be."""

    def take(self) -> T | None:
        """The next one, or None when another thread was quicker."""
        raise NotImplementedError


def as_message(data: Buffer, limit: int) -> tuple[Message, int]:
    """What the core takes for a message, and its length in bytes.

    Raises:
        MessageTooLong: It exceeds the limit.
        BufferError: The buffer is not contiguous.
    """
    raw: Message = data if type(data) is bytes else ffi.from_buffer("char[]", data)
    size = len(raw)
    if size > limit:
        raise MessageTooLong(
            errno.EMSGSIZE,
            f"message of {size} bytes, the limit is {limit}",
            remedy="Send several messages, or raise send_bytes and receive_bytes of the stack.",
        )
    return raw, size


def check_priority(priority: int) -> int:
    """The priority if it can be one.

    Raises:
        TypeError: It is no whole number.
        ValueError: It is not in 0..7.
    """
    number = operator.index(priority)
    if not 0 <= number <= PRIORITY_MAX:
        raise ValueError(f"priority {priority} is not in 0..{PRIORITY_MAX}")
    return number


def is_forgotten(address: Address, error: NdpError) -> bool:
    """True after the core refused, unsent, what is for a host that it can be asked for again.

    The host made room for others since its address was resolved. A Peer is a handle, and stays one.
    """
    return error.errno == errno.ESTALE and isinstance(address[0], str)


def until_of(seconds: float, name: str = "timeout") -> float | None:
    """The time, as of time.monotonic(), by which a call has to end that may take so long.

    Args:
        seconds: How long.
        name: What they are to the caller.

    Returns:
        It, None for never, or 0 where the call must not wait.

    Raises:
        ValueError: It is negative, or no number.
    """
    if 0 < seconds < FOREVER_S:
        return time.monotonic() + seconds
    if seconds == 0:
        return 0.0
    if seconds > 0:
        return None
    raise ValueError(f"{name} {seconds} is negative, or no number")


def deadline_ns(until: float | None) -> int:
    """A time of time.monotonic() as the core counts it, to which 0 is none."""
    return NEVER if until is None else int(until * 1e9) or 1


class Socket(Single):
    """Base of NdpSocket and HomaSocket."""

    def __init__(self, stack: Stack) -> None:
        self.stack: Final = stack
        """The stack that it was opened on."""
        self.dispatcher: Final[Dispatcher] = stack.dispatcher
        self._timeout: float | None = None
        self._closed = False
        self._poll: select.epoll | None = None
        self._bell: Bell | None = None
        self._polled: Waitable | None = None
        self._events: Owned | None = None
        """The stack's descriptor."""

    # ---- timeouts ----

    def settimeout(self, seconds: float | None) -> None:
        """Sets how long calls may take: None for ever, 0 not at all.

        Raises:
            ValueError: It is negative, or no number.
        """
        if seconds is not None:
            self.until(seconds)
        self._timeout = seconds

    def gettimeout(self) -> float | None:
        """Seconds that calls may take, or None."""
        return self._timeout

    def until(self, timeout: Timeout) -> float | None:
        """As until_of(), with the socket's own timeout where none was given."""
        seconds = self._timeout if timeout is UNSET else timeout
        if seconds is None:
            return None
        if 0 < seconds < FOREVER_S:  # The usual case without another call.
            return time.monotonic() + seconds
        return until_of(seconds)

    def wait_for(self, target: Waitable, until: float | None, what: str) -> None:
        """Blocks until the target is ready.

        Raises:
            Timeout: The time has passed.
            WouldBlock: The socket does not block.
        """
        bell = self._bell
        if bell is not None:
            target.hush()
        if self.dispatcher.wait(target, until):
            if bell is not None:
                bell.ring()
            return
        raise self.late(what, until)

    def late(self, what: str, until: float | None) -> NdpError:
        """The error of a call that was not done in time.

        Args:
            what: What did not happen.
            until: When to give up, as of until().
        """
        peer, identity, state = self.where()
        if until == 0:
            what = f"{what}: nothing there now"
            return WouldBlock(errno.EAGAIN, what, peer=peer, rpc=identity, state=state)
        return make_error(errno.ETIMEDOUT, what, peer=peer, rpc=identity, state=state)

    def where(self) -> tuple[str | None, int | None, str]:
        """For errors: the peer that it talks to, the connection's id, and its state."""
        return None, None, ""

    def next_of(self, source: Source[T], until: float | None, what: str) -> T:
        """Blocks until something has come, and takes it.

        Args:
            source: Where it comes.
            until: When to give up, as of time.monotonic().
            what: What did not happen then.

        Raises:
            Timeout: Nothing came in time.
            WouldBlock: The socket does not block.
            Closed: The socket is closed.
        """
        while True:
            self.wait_for(source, until, what)
            self.check_open()
            taken = source.take()
            if taken is not None:
                return taken

    def poll_descriptor(self, target: Waitable) -> int:
        """A descriptor that is readable when the target may be ready, or the stack has events."""
        poll = self._poll or self._begin_polling(target)
        if self._closed:  # By another thread, which perhaps found nothing to close.
            self._stop_polling()
            self.check_open()
        return poll.fileno()

    def _begin_polling(self, target: Waitable) -> select.epoll:
        events, bell, poll = Owned(self.dispatcher.descriptor()), Bell(), select.epoll()
        poll.register(bell.descriptor, select.EPOLLIN)
        poll.register(events.descriptor, select.EPOLLIN)
        # No call stands between these, so one of several threads does it.
        if self._poll is None:
            self._poll, self._bell, self._polled, self._events = poll, bell, target, events
            target.ring(bell)
        return self._poll

    # ---- sending ----

    def peer_of(self, address: Address, until: float | None) -> tuple[Peer, int]:
        """The resolved peer and the port of an address."""
        peer, port = address
        if type(peer) is not Peer:
            peer = self.stack.resolve(peer, until)
        if not 0 < port <= PORT_MAX:
            check_port(port)
        return peer, port

    def submit(self, send: Callable[[*Ts], int], command: tuple[*Ts], until: float | None) -> int:
        """Hands a command to the core, waiting for room.

        Args:
            send: What hands it over: a negative error number, or anything else.
            command: Its arguments.
            until: When to give up, as of time.monotonic().

        Returns:
            What `send` returned.

        Raises:
            Timeout: The time has passed, and nothing was sent.
            WouldBlock: The socket does not block.
            NdpError: It failed for another reason.
        """
        while (code := send(*command)) < 0:
            self.make_room(code, until)
        return code

    def make_room(self, code: int, until: float | None) -> None:
        """After a command failed: waits a moment if that was for want of room."""
        self.check_room(code)
        if until is not None and time.monotonic() >= until:
            raise self.late("no room to send", until)
        self.dispatcher.pause(until)

    def check_room(self, code: int) -> None:
        """Raises for a command that failed, unless it was for want of room."""
        if code not in (-errno.EAGAIN, -errno.ENOBUFS):
            self.dispatcher.check_alive()
            raise make_error(-code, "cannot send")

    # ---- the end ----

    def check_open(self) -> None:
        """Raises Closed when the socket is closed."""
        if self._closed:
            raise make_error(errno.EBADF, "socket is closed")
        if self.dispatcher.ended is not None:
            self.dispatcher.check_alive()

    @property
    def closed(self) -> bool:
        """True after close()."""
        return self._closed

    def close(self) -> None:
        """Closes the socket. Closing twice is no error."""
        if not self._closed:
            self._closed = True
            self._end()
            self._stop_polling()

    def _stop_polling(self) -> None:
        if self._poll is None or self._polled is None:
            return
        self._polled.ring(None)
        self._poll.close()
        self._bell = self._events = None

    def _end(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_closed", True):
            return
        warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
        self.close()
