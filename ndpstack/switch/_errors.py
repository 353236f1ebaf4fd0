"""What a switch cannot do."""

from __future__ import annotations

import os

from ndpstack._core import ffi
from ndpstack._errors import UserError
from ndpstack._reason import reason_of


class SwitchError(UserError):
    """The switch cannot do it; the text names the cause and the remedy.

    Attributes:
        errno: Why, for programs; 0 when the text alone says it.
    """

    def __init__(self, text: str, errno: int = 0) -> None:
        super().__init__(text)
        self.errno = errno


class Failure:
    """Where C puts the reason of a failing call."""

    def __init__(self) -> None:
        self.error = ffi.new("struct nd_error *")

    def check(self, status: int) -> int:
        """The result of a call, or its reason as an exception."""
        if status < 0:
            raise self.exception()
        return status

    def exception(self) -> SwitchError:
        """The reason."""
        text = reason_of(self.error)
        return SwitchError(text or os.strerror(-self.error.code), -self.error.code)
