"""What is wrong with a configuration."""

from __future__ import annotations

from ndpstack._errors import UserError


class ConfigError(UserError):
    """A configuration that cannot be used; `lines` has every mistake in it."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
