"""Listening on a port, for both protocols: the one command whose answer is waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ndpstack import _core
from ndpstack._target import Answer
from ndpstack.errors import make_error

if TYPE_CHECKING:
    from ndpstack._dispatch import Dispatcher
    from ndpstack._target import Target

lib = _core.lib


def listen(
    dispatcher: Dispatcher,
    protocol: int,
    port: int,
    then: Target | None = None,
    backlog: int = 0,
) -> int:
    """Listens; returns the key under which events come to `then`.

    Args:
        dispatcher: The stack's.
        protocol: The engine that is to listen.
        port: Where.
        then: Who gets what comes there.
        backlog: Most connections of peers at once; 0: as the engine is configured.

    Raises:
        AddressInUse: An application of this host listens there.
        LimitReached: The core has no room for the listener or its backlog.
    """
    answer = Answer(then)
    try:
        dispatcher.give_key(answer)
        code = dispatcher.tell(
            protocol, lib.ND_COMMAND_LISTEN, port=port, message=backlog, key=answer.key
        )
        if code < 0:
            raise make_error(-code, "cannot listen")
        dispatcher.wait_for_core(answer)
        if answer.event is not None and answer.event.error:
            raise make_error(-answer.event.error, f"cannot listen on port {port}")
    except BaseException:
        dispatcher.by_key.pop(answer.key, None)
        raise
    if then is None:
        dispatcher.by_key.pop(answer.key, None)
    return answer.key
