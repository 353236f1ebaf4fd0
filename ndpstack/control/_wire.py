"""msgpack-RPC messages, with a limit on everything that a peer can send.

A message is one msgpack array, and messages follow one another without anything between them:

    [0, id, method, [params]]     call; params is at most one map
    [1, id, error, result]        reply; error is nil or a map of `code` and `message`
    [2, method, [params]]         notification
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgpack

if TYPE_CHECKING:
    from collections.abc import Iterator

API_VERSION = 1
"""Raised when a message that was right before becomes wrong."""

MESSAGE_BYTES_MAX = 2**20
"""Longest message that is read."""

FEED_BYTES = 65536
"""Bytes that come at once: they may begin messages after the one that they end."""

METHOD_CHARACTERS_MAX = 64

_TOO_LONG = "a message is longer than is read"

Params = Mapping[str, object]


class WireError(Exception):
    """What arrived is not this protocol."""


@dataclass(frozen=True)
class Call:
    """A question, answered by a reply of the same id."""

    id: int
    method: str
    params: Params = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """The answer: a result, or an error."""

    id: int
    error: Params | None = None
    result: object = None


@dataclass(frozen=True)
class Notification:
    """Something that nobody answers."""

    method: str
    params: Params = field(default_factory=dict)


Message = Call | Reply | Notification


def encode(message: Message) -> bytes:
    """The message as bytes."""
    match message:
        case Call():
            body: list[object] = [0, message.id, message.method, [message.params]]
        case Reply():
            body = [1, message.id, message.error, message.result]
        case Notification():
            body = [2, message.method, [message.params]]
    data: bytes = msgpack.packb(body, use_bin_type=True)
    return data


class Splitter:
    """Cuts a stream of bytes into messages."""

    def __init__(self, bytes_max: int = MESSAGE_BYTES_MAX, items_max: int | None = None) -> None:
        """Begins with no bytes.

        Args:
            bytes_max: Longest message.
            items_max: Longest list or map in it; an item of one byte takes up to 64 in memory.
        """
        items_max = bytes_max if items_max is None else items_max
        self._bytes_max = bytes_max
        self._unpacker = msgpack.Unpacker(
            max_buffer_size=bytes_max + FEED_BYTES,
            raw=False,
            strict_map_key=True,
            unicode_errors="strict",
            max_str_len=bytes_max,
            max_bin_len=bytes_max,
            max_array_len=items_max,
            max_map_len=items_max,
            max_ext_len=0,
        )
        self._fed = self._ended = 0
        """Bytes that came, and those of whole messages."""

    @property
    def is_whole(self) -> bool:
        """Whether no message waits for its end."""
        return self._fed == self._ended

    def feed(self, data: bytes) -> Iterator[Message]:
        """Messages that are whole with these bytes.

        Raises:
            WireError: This is not the protocol; nothing after it can be read.
        """
        try:
            self._unpacker.feed(data)
            self._fed += len(data)
            for item in self._unpacker:
                self._end(self._unpacker.tell())
                yield _message(item)
            self._check(self._fed)
        except WireError:
            raise
        except msgpack.BufferFull:
            raise WireError(_TOO_LONG) from None
        except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
            raise WireError(f"not msgpack: {error}") from None

    def _end(self, position: int) -> None:
        self._check(position)
        self._ended = position

    def _check(self, position: int) -> None:
        """Refuses a message that is longer: the unpacker only counts what it has not read yet."""
        if position - self._ended > self._bytes_max:
            raise WireError(_TOO_LONG)


def _message(item: object) -> Message:
    match item:
        case [0, int(number), str(method), params] if _is_id(number):
            return Call(number, _method(method), _params(params))
        case [1, int(number), error, result] if _is_id(number):
            if error is None:
                return Reply(number, None, result)
            return Reply(number, _params([error]), result)
        case [2, str(method), params]:
            return Notification(_method(method), _params(params))
    raise WireError("a message is [0, id, method, [params]], [1, id, error, result] or [2, ...]")


def _is_id(number: int) -> bool:
    return not isinstance(number, bool) and 0 <= number < 2**32


def _method(method: str) -> str:
    if not 0 < len(method) <= METHOD_CHARACTERS_MAX:
        raise WireError(f"a method's name has 1 to {METHOD_CHARACTERS_MAX} characters")
    return method


def _is_params(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def _params(value: object) -> Params:
    match value:
        case []:
            return {}
        case [dict(params)] if _is_params(params):
            return params
    raise WireError("params are a list of at most one map with texts as keys")
