"""Questions to the core: the handle of an address, or the address of a handle."""

from __future__ import annotations

import errno
import time
from typing import TYPE_CHECKING

from ndpstack import _core
from ndpstack._dispatch import patience_s
from ndpstack._event import FAILED
from ndpstack._target import Answer
from ndpstack.errors import make_error

if TYPE_CHECKING:
    from ndpstack._dispatch import Dispatcher
    from ndpstack._event import Event
    from ndpstack.errors import NdpError

lib, ffi = _core.lib, _core.ffi


class Question:
    """One that was asked; `answer` is to be waited for, then finish() or forget() called.

    Args:
        dispatcher: The stack's.
        address: As the core takes it, or nothing.
        peer: The handle whose address is wanted, or 0.
        text: The address as the user wrote it, for errors.

    Raises:
        NdpError: It cannot be asked.
    """

    def __init__(
        self, dispatcher: Dispatcher, address: bytes, peer: int, text: str | None = None
    ) -> None:
        self.answer = Answer()
        self._dispatcher = dispatcher
        self._text = text
        dispatcher.give_key(self.answer)
        code = lib.nd_app_send(
            dispatcher.app, lib.ND_PROTO_OTHER, lib.ND_STACK_COMMAND_PEER, 0, peer, 0, 0,
            self.answer.key, 0, address, len(address),
        )  # fmt: skip
        if code < 0:
            self.forget()
            raise make_error(-code, "cannot ask the core")

    def forget(self) -> None:
        """Nobody waits for the answer any more."""
        self._dispatcher.by_key.pop(self.answer.key, None)

    def __del__(self) -> None:
        try:
            self.forget()
        except AttributeError:  # An interrupted __init__() leaves neither.
            return

    def finish(self) -> Event:
        """The core's answer, which was waited for.

        Raises:
            NdpError: It is no.
        """
        self.forget()
        event = self.answer.event
        assert event is not None
        if event.kind == FAILED:
            reason = ffi.string(lib.nd_stack_unreachable_text(event.detail)).decode()
            raise make_error(
                -event.error, "cannot resolve the peer", peer=self._text, remedy=f"{reason}."
            )
        return event

    def late(self) -> NdpError:
        """The error of one that was not answered in time."""
        state = "its way is being asked for" if self._text else "the core does not answer"
        return make_error(errno.ETIMEDOUT, "cannot resolve the peer", peer=self._text, state=state)


def ask_core(
    dispatcher: Dispatcher,
    address: bytes,
    peer: int,
    text: str | None = None,
    until: float | None = None,
) -> Event:
    """Asks, and waits for the answer.

    Args:
        dispatcher: This and the next three are as of Question.
        address: See there.
        peer: See there.
        text: See there.
        until: When to give up, as of time.monotonic(), or None.

    Raises:
        Timeout: There was no answer in time.
        NdpError: As of Question.
    """
    question = Question(dispatcher, address, peer, text)
    try:
        if not dispatcher.wait(question.answer, time.monotonic() + patience_s(until)):
            raise question.late()
    finally:
        question.forget()
    return question.finish()
