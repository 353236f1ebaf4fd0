"""A fork's child has no threads of switches: whoever waits for one there waits for ever."""

from __future__ import annotations

import errno
import os
import weakref
from typing import Protocol

from ndpstack.switch._errors import SwitchError


class Inherited(Protocol):
    """What the child of a fork finds."""

    def disown(self) -> None:
        """In the child: takes new locks, which threads of the parent may hold, and lets all go."""


_known: weakref.WeakSet[Inherited] = weakref.WeakSet()


def tell_of_forks(one: Inherited) -> None:
    """Has it disown itself in each child."""
    _known.add(one)


def forked(what: str) -> SwitchError:
    """What it answers there.

    Args:
        what: Kind and name.
    """
    text = "was made before a fork; make one in the child, or start processes by `spawn`"
    return SwitchError(f"{what} {text}", errno.ECHILD)


def _after_fork() -> None:
    for one in list(_known):
        one.disown()


os.register_at_fork(after_in_child=_after_fork)
