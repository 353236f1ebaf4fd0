"""When nothing is under way any more."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ndpstack

PATIENCE_S = 20


def settle(*stacks: ndpstack.Stack) -> None:
    """Waits until no request is known any more; a message that stays held fails."""
    until = time.monotonic() + PATIENCE_S
    for stack in stacks:
        known = stack.dispatcher
        while known.by_key or known.by_call or known.by_rpc or stack.held:
            assert time.monotonic() < until
            stack.dispatcher.pause(None)
            gc.collect()
