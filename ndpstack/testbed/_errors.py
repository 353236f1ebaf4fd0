"""The one error of the testbed."""

from __future__ import annotations


class TestbedError(Exception):
    """The testbed cannot do what was asked; the text names the cause and the remedy."""

    __test__ = False
