"""Libraries that only some commands need, and that an extra of the package brings."""

from __future__ import annotations

from importlib.util import find_spec

from ndpstack._errors import UserError


def need(what: str, extra: str, *modules: str) -> None:
    """Looks for what a command is about to import.

    Raises:
        UserError: One of the modules is not installed; the text names the extra that brings it.
    """
    for module in modules:
        if find_spec(module) is None:
            raise UserError(
                f"{what} needs {module}; install it with: pip install 'ndpstack[{extra}]'"
            )
