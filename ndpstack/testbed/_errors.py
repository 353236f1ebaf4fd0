"""The one error of the testbed."""

from __future__ import annotations

from ndpstack._errors import UserError


class TestbedError(UserError):
    """The testbed cannot do what was asked; the text names the cause and the remedy."""

    __test__ = False
