# What bindings/messages/ makes for CPython: see messages.h there.
import asyncio
import collections
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from typing_extensions import Buffer

from ndpstack import _core
from ndpstack._address import Peer
from ndpstack._homa import HomaSocket
from ndpstack._served import Request as _Request
from ndpstack._target import Ending, Keyed, Target
from ndpstack._waitable import Bell

_R = TypeVar("_R", bound=_Request)

def complete(loop: asyncio.AbstractEventLoop, future: asyncio.Future[None]) -> None: ...
def settle(future: asyncio.Future[None]) -> None: ...
def new_future(loop: asyncio.AbstractEventLoop) -> asyncio.Future[None]: ...

class Waitable:
    waiters: Final[list[Callable[[], object]]]
    _bell: Bell | None
    _raised: Callable[[], object] | None

class Inbox:
    app: Final[_core.nd_app]
    by_call: Final[dict[int, Keyed]]
    by_port: Final[dict[int, Ending]]
    by_rpc: Final[dict[int, Callable[[], Target | None]]]
    ended: tuple[int, str] | None
    batches: int
    message_bytes_max: int
    owned: bool
    at: Final[int]

    def __init__(self, app: _core.nd_app, handle: int, verbs: int, events: int) -> None: ...
    def hand_out(self) -> None: ...
    def let_go(self) -> None: ...
    def next_key(self) -> int: ...

class Lease(Buffer):
    held: bool

    def __init__(
        self, inbox: Inbox, protocol: int, identity: int, message: int, size: int, payload: int
    ) -> None: ...

class Call(Waitable):
    view: memoryview | None
    key: int
    buffer: int
    owner: int
    peer: Peer
    port: int
    until: float | None
    _id: int
    _failure: tuple[int, str] | None

    def __init__(
        self,
        inbox: Inbox,
        future: asyncio.Future[None] | None = ...,
        loop: asyncio.AbstractEventLoop | None = ...,
    ) -> None: ...
    def ask(
        self,
        owner: int,
        peer: Peer,
        port: int,
        data: Buffer,
        until: float | None,
        priority: int,
        later: bool,
    ) -> int: ...
    def complete(self) -> bool: ...

class Service(Waitable, Generic[_R]):
    _queue: collections.deque[_R]
    _closed: bool

    def __init__(
        self, inbox: Inbox, socket: HomaSocket, make: type[_R], queue: collections.deque[_R]
    ) -> None: ...
    def take(self) -> _R | None: ...
    def made(self, peer: int, identity: int, data: memoryview) -> _R: ...

class Request(Waitable):
    id: Final[int]
    data: Final[memoryview]
    failed: int
    done: bool
    _peer: Final[int]

    @property
    def _socket(self) -> HomaSocket: ...
    def answer(self, data: Buffer, later: bool) -> int: ...
    def end(self) -> None: ...
