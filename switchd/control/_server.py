"""The control socket: bounded in clients, bytes and calls, and unmoved by hostile ones."""

from __future__ import annotations

import asyncio
import contextlib
import grp
import logging
import os
import pwd
import socket
import struct
import time
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Protocol

from ndpstack._errors import UserError
from ndpstack.control import (
    FEED_BYTES,
    MESSAGE_BYTES_MAX,
    Call,
    Notification,
    Reply,
    Splitter,
    WireError,
    encode,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from ndpstack.control import Message
    from switchd._sockets import Access

log = logging.getLogger("switchd.control")

BACKLOG_BYTES_MAX = 8 * 2**20
"""Bytes that wait for a client to read; one that lets more gather is hung up on."""
BURST_SECONDS = 0.2
"""CPU time that a client's calls may take at once before its share counts."""
MESSAGE_SECONDS_MAX = 10.0
"""How long the rest of a message may take."""
SEND_SECONDS_MAX = 10.0
"""How long a client may leave an answer unread."""
_CREDENTIALS = struct.Struct("3i")


@dataclass
class ServerCounters:
    """What the control plane counts."""

    clients: int = field(default=0, metadata={"help": "Clients that were let in."})
    calls: int = field(default=0, metadata={"help": "Calls answered."})
    errors: int = field(default=0, metadata={"help": "Calls refused with an error."})
    slowed: int = field(default=0, metadata={"help": "Times that a client had to wait its turn."})
    refused_full: int = field(
        default=0, metadata={"help": "Clients refused because there were too many."}
    )
    refused_permission: int = field(
        default=0, metadata={"help": "Clients refused by their credentials."}
    )
    refused_malformed: int = field(
        default=0,
        metadata={"help": "Clients hung up on because of what they sent or did not end."},
    )
    refused_unread: int = field(
        default=0, metadata={"help": "Clients hung up on because they did not read answers."}
    )

    @property
    def refused(self) -> int:
        """Clients refused for any reason."""
        return sum(getattr(self, item.name) for item in fields(self) if "refused" in item.name)


class Handler(Protocol):
    """What answers calls."""

    async def call(self, session: Session, method: str, params: object) -> object:
        """The result; raises UserError with the reason for which there is none."""

    def closed(self, session: Session) -> None:
        """A client is gone."""


class CallError(UserError):
    """A refused call, with its code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Session:
    """A client."""

    def __init__(self, writer: asyncio.StreamWriter, counters: ServerCounters, peer: str) -> None:
        self.peer = peer
        self._writer, self._counters = writer, counters

    def notify(self, method: str, params: dict[str, object]) -> bool:
        """Sends a notification; False when the client does not read, and is hung up on."""
        return self._write(encode(Notification(method, params)))

    async def reply(self, reply: Reply) -> None:
        """Answers, at the speed at which the client reads."""
        if self._write(encode(reply)):
            await self.drained()

    async def drained(self) -> None:
        """Returns when the client has read most of what waits for it.

        Raises:
            TimeoutError: It does not read.
        """
        # wait_for would lose a cancellation that comes as the drain ends, and a daemon its end.
        async with asyncio.timeout(SEND_SECONDS_MAX):
            await self._writer.drain()

    def hang_up(self) -> None:
        """Closes the connection without waiting."""
        self._writer.transport.abort()

    @property
    def backlog(self) -> int:
        """Bytes that wait to be read by the client."""
        return self._writer.transport.get_write_buffer_size()

    def _write(self, data: bytes) -> bool:
        if self._writer.is_closing():
            return False
        if self.backlog + len(data) > BACKLOG_BYTES_MAX + FEED_BYTES and self.backlog:
            self._counters.refused_unread += 1
            self.hang_up()
            return False
        self._writer.write(data)
        return True


class Budget:
    """A token bucket of CPU time: a client has a share of a CPU, whatever it asks for."""

    def __init__(self, share: float, now: float) -> None:
        self._share, self._left, self._filled = share, BURST_SECONDS, now

    def wait_seconds(self, now: float) -> float:
        """How long to wait until nothing is owed."""
        self._left = min(BURST_SECONDS, self._left + (now - self._filled) * self._share)
        self._filled = now
        return max(0.0, -self._left / self._share)

    def spend(self, seconds: float) -> None:
        """Takes what a call has cost, which may be more than there is."""
        self._left -= seconds


class _Meter:
    """What a client's doings cost, and its waits for that."""

    def __init__(self, share: float, counters: ServerCounters) -> None:
        self._loop, self._counters = asyncio.get_running_loop(), counters
        self._budget = Budget(share, self._loop.time())

    async def turn(self) -> float:
        """Returns when nothing is owed: how long that took."""
        wait = self._budget.wait_seconds(self._loop.time())
        if wait:
            self._counters.slowed += 1
            await asyncio.sleep(wait)
        return wait

    @contextlib.contextmanager
    def charged(self) -> Iterator[None]:
        """What others do meanwhile counts as well: many who call at once get less each."""
        began = time.thread_time()
        yield
        self._budget.spend(time.thread_time() - began)


@dataclass(frozen=True)
class Limits:
    """Of one server."""

    clients: int
    cpu: float
    """Share of a CPU that each of them may have."""
    access: Access
    """Who may connect."""
    message_bytes: int = MESSAGE_BYTES_MAX
    """Longest message that is read."""
    items: int = 4096
    """Longest list or map in one: the settings of a call."""


class Server:
    """Listens, reads calls, has them answered one after another for each client."""

    def __init__(self, limits: Limits) -> None:
        self.counters = ServerCounters()
        self.sessions: set[Session] = set()
        self._limits = limits
        self._handler: Handler | None = None
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, sock: socket.socket, handler: Handler) -> None:
        """Lets clients in, who waited until now."""
        self._handler = handler
        unix = sock.family == socket.AF_UNIX
        start = asyncio.start_unix_server if unix else asyncio.start_server
        self._server = await start(self._accept, sock=sock)

    async def close(self) -> None:
        """Hangs up on everybody."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reason = self._refusal(writer)
        if reason:
            log.warning("control client refused: %s", reason)
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _refusal(self, writer: asyncio.StreamWriter) -> str:
        if len(self.sessions) >= self._limits.clients:
            self.counters.refused_full += 1
            return f"there are {self._limits.clients} already"
        sock = writer.get_extra_info("socket")
        if not self._limits.access.anybody and sock.family == socket.AF_UNIX:
            _, uid, gid = credentials(sock)
            if not may_connect(uid, gid, self._limits.access.group):
                self.counters.refused_permission += 1
                return f"user {uid} is not in group {self._limits.access.group!r}"
        return ""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = Session(writer, self.counters, _peer(writer))
        self.sessions.add(session)
        self.counters.clients += 1
        try:
            await self._read(session, reader)
        except WireError as error:
            self.counters.refused_malformed += 1
            log.warning("control client %s: %s", session.peer, error)
            session.notify("error", {"code": "malformed", "message": str(error)})
        except TimeoutError:
            self.counters.refused_unread += 1
            session.hang_up()
        except ConnectionError:
            pass
        finally:
            self.sessions.discard(session)
            if self._handler is not None:
                self._handler.closed(session)
            writer.close()

    async def _read(self, session: Session, reader: asyncio.StreamReader) -> None:
        meter = _Meter(self._limits.cpu, self.counters)
        splitter = Splitter(self._limits.message_bytes, self._limits.items)
        async for message in _messages(reader, splitter, meter):
            with meter.charged():
                await self._answer(session, message)
            del message  # It may be large, and a client that owes something waits.

    async def _answer(self, session: Session, message: Message) -> None:
        if not isinstance(message, Call):
            raise WireError("clients call; they do not reply or notify")
        assert self._handler is not None
        self.counters.calls += 1
        try:
            result = await self._handler.call(session, message.method, message.params)
            reply = Reply(message.id, None, result)
        except UserError as error:
            self.counters.errors += 1
            code = getattr(error, "code", "refused")
            reply = Reply(message.id, {"code": code, "message": str(error)})
        except Exception as error:
            log.exception("call %s of %s failed", message.method, session.peer)
            self.counters.errors += 1
            text = f"{type(error).__name__}: {error}; the daemon's log has the details"
            reply = Reply(message.id, {"code": "internal", "message": text})
        await session.reply(reply)


async def _messages(
    reader: asyncio.StreamReader, splitter: Splitter, meter: _Meter
) -> AsyncIterator[Message]:
    """What a client says, as long as it ends what it has begun; reading it has its price, too."""
    loop = asyncio.get_running_loop()
    end: float | None = None
    while data := await _received(reader, end):
        messages = splitter.feed(data)
        while True:
            # Before the next message is made of bytes: it takes many times their memory.
            waited = await meter.turn()
            end = None if end is None else end + waited
            with meter.charged():
                message = next(messages, None)
            if message is None:
                break
            end = None
            yield message
            del message
            if splitter.is_whole:
                break
        if splitter.is_whole:
            end = None
        elif end is None:
            end = loop.time() + MESSAGE_SECONDS_MAX
    if not splitter.is_whole:
        raise WireError("the connection ended within a message")


async def _received(reader: asyncio.StreamReader, end: float | None) -> bytes:
    """Bytes that came; those of a message that was begun come in time."""
    try:
        async with asyncio.timeout_at(end):
            return await reader.read(FEED_BYTES)
    except TimeoutError:
        raise WireError(f"no end of a message within {MESSAGE_SECONDS_MAX:g} s") from None


def _peer(writer: asyncio.StreamWriter) -> str:
    sock = writer.get_extra_info("socket")
    if sock.family == socket.AF_UNIX:
        pid, uid, _ = credentials(sock)
        return f"pid {pid} uid {uid}"
    # Who has hung up already has no name.
    return "{}:{}".format(*(writer.get_extra_info("peername") or ("?", 0))[:2])


def credentials(sock: socket.socket) -> tuple[int, int, int]:
    """Process, user and group at the other end of a UNIX socket."""
    data = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, gid = _CREDENTIALS.unpack(data)
    return pid, uid, gid


def may_connect(uid: int, gid: int, group: str) -> bool:
    """Root, the daemon's own user, and members of the group may."""
    if uid in (0, os.geteuid()):
        return True
    try:
        wanted = grp.getgrnam(group).gr_gid
        groups = os.getgrouplist(pwd.getpwuid(uid).pw_name, gid)
    except KeyError:
        return False
    return wanted in groups
