"""What the tools say when they were asked for something that cannot be done."""

from __future__ import annotations


class UserError(Exception):
    """What was asked cannot be done; the text names the cause and the remedy in one line."""
