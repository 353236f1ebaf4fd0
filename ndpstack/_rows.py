"""Rows that a core shows of itself, a bounded number of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ndpstack._core import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ndpstack import _core
    from ndpstack._dispatch import Dispatcher

ROWS: Final = 256
"""Taken from the core at once."""


def indices(dispatcher: Dispatcher, take: Callable[[_core.Pointer[int]], int]) -> Iterator[int]:
    """Where the core's rows lie, as it is asked for them; each is valid until the next one.

    Raises:
        NdpError: The core is in another process.
    """
    cursor = ffi.new("uint64_t *")
    while cursor[0] != lib.ND_NEVER:
        count = take(cursor)
        dispatcher.check(count, "cannot look into the core")
        yield from range(count)


def raw_peers(dispatcher: Dispatcher) -> Iterator[_core.nd_stack_peer]:
    """Hosts that the core knows beside its own; each row is valid until the next one.

    Raises:
        NdpError: The core is in another process.
    """
    out = ffi.new("struct nd_stack_peer[]", ROWS)
    for index in indices(dispatcher, lambda at: lib.nd_app_peers(dispatcher.app, at, out, ROWS)):
        yield out[index]
