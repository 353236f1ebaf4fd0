"""Does things inside a network namespace without moving the caller there."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

from pyroute2 import netns

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")


def call_inside(namespace: str, function: Callable[[], _T]) -> _T:
    """Calls function in a thread of its own that has entered the namespace.

    What it opens there, a socket for example, stays in the namespace and may be used from outside.
    """
    results: list[_T] = []
    errors: list[BaseException] = []

    def inside() -> None:
        try:
            netns.setns(namespace)
            results.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=inside, name=f"in-{namespace}")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
