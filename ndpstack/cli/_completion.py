"""`ndpstack completion`: a script for the shell, from the parsers of all commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack.cli._exit import Exit

if TYPE_CHECKING:
    import argparse

SHELLS = ("bash", "zsh", "fish")


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("shell", choices=SHELLS)


def execute(arguments: argparse.Namespace) -> int:
    """Prints the script."""
    try:
        import shtab
    except ImportError:
        raise UserError("completion needs shtab: pip install 'ndpstack[cli]'") from None
    from ndpstack.cli._main import full_parser

    print(shtab.complete(full_parser(), shell=arguments.shell))
    return Exit.OK
