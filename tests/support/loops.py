"""Tests on asyncio and uvloop alike, which fail for what a loop would only have logged."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, TypeVar

import uvloop

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


def run(kind: str, main: Coroutine[object, object, T], patience: float = 30) -> T:
    """Runs it on a loop of this kind; whatever goes to the loop's exception handler fails."""
    unhandled: list[dict[str, object]] = []

    async def watched() -> T:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: unhandled.append(context))
        async with asyncio.timeout(patience):
            return await main

    with asyncio.Runner(loop_factory=LOOPS[kind]) as runner:
        result = runner.run(watched())
        gc.collect()
    assert not unhandled, unhandled
    return result
