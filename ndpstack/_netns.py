"""Network namespaces by pyroute2, imported where it is used.

It is told where the C library is. Left to itself it asks ldconfig, in each process that it
forks to open a socket: that takes longer than all the rest. And it is told to be patient: after
two seconds it takes such a process for dead, which on a busy machine only waits for its turn.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable

    from pyroute2 import NetNS

_T = TypeVar("_T")

_CLONE_NEWNET: Final = 0x40000000
_PATIENCE_SECONDS: Final = 60


@cache
def _libc() -> ctypes.CDLL:
    """The C library, as pyroute2 is told; and that it waits."""
    import ctypes

    from pyroute2 import config

    config.default_communicate_timeout = _PATIENCE_SECONDS
    return ctypes.CDLL(None, use_errno=True)


def create(name: str) -> None:
    """Makes a namespace."""
    from pyroute2 import netns

    netns.create(name, libc=_libc())


def remove(name: str) -> None:
    """Removes a namespace; OSError when there is none."""
    from pyroute2 import netns

    netns.remove(name, libc=_libc())


def netlink(name: str) -> NetNS:
    """Netlink of a namespace; close it. OSError when there is none."""
    from pyroute2 import NetNS

    return NetNS(name, flags=0, libc=_libc())


def enter(name: str) -> None:
    """Puts the calling thread into a namespace.

    Args:
        name: Of the namespace, or its path.
    """
    from pyroute2 import netns

    netns.setns(name, flags=0, libc=_libc())


def call_inside(namespace: str, function: Callable[[], _T]) -> _T:
    """Calls function in a thread of its own that has entered the namespace.

    What it opens there, a socket for example, stays in the namespace and may be used from outside.
    """
    results: list[_T] = []
    errors: list[BaseException] = []

    def inside() -> None:
        try:
            enter(namespace)
            results.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=inside, name=f"in-{namespace}")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
