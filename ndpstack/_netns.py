"""Network namespaces by pyroute2, which is told where the C library is.

Left to itself it asks ldconfig, in each process that it forks to open a socket: that takes longer
than all the rest.
"""

from __future__ import annotations

import ctypes

from pyroute2 import NetNS, netns

_LIBC = ctypes.CDLL(None, use_errno=True)


def create(name: str) -> None:
    """Makes a namespace."""
    netns.create(name, libc=_LIBC)


def remove(name: str) -> None:
    """Removes a namespace; OSError when there is none."""
    netns.remove(name, libc=_LIBC)


def enter(name: str) -> None:
    """Moves this thread, and it alone, into a namespace; OSError when there is none.

    Args:
        name: Of the namespace, or its path.
    """
    netns.setns(name, flags=0, libc=_LIBC)


def netlink(name: str) -> NetNS:
    """Netlink of a namespace; close it. OSError when there is none."""
    return NetNS(name, flags=0, libc=_LIBC)
