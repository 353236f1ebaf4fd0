"""Where console scripts begin: an interrupt ends them quietly also while they are imported."""

from importlib import import_module

TYPE_CHECKING = False
"""As of typing, whose import takes longer than all else here."""

if TYPE_CHECKING:
    from collections.abc import Callable

INTERRUPTED = 130


def run(module: str) -> int:
    """Imports a command's module and calls its main(); the exit code."""
    try:
        main: Callable[[], int] = import_module(module).main
        return main()
    except KeyboardInterrupt:
        return INTERRUPTED


def ndpstack() -> int:
    """`ndpstack`."""
    return run("ndpstack.cli")
