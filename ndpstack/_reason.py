"""What C says of a call that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ndpstack._core import ffi

if TYPE_CHECKING:
    from ndpstack import _core


def reason_of(error: _core.nd_error) -> str:
    """Its sentence for people; names in it may be no UTF-8, or cut where the text is full."""
    return ffi.string(error.text).decode(errors="replace")
