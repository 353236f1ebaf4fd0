"""`ndpstack completion`: a script for the shell, from the parsers of all commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ndpstack.cli._exit import Exit
from ndpstack.cli._extra import need

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    Ways = Mapping[str, Mapping[str, object]]
    """What shtab takes for each shell, by metavar."""

SHELLS: Final = ("bash", "zsh", "fish")

INSTALL: Final = """\
bash  in ~/.bashrc: eval "$({command} completion bash)"
zsh   in ~/.zshrc, after compinit: eval "$({command} completion zsh)"
fish  in ~/.config/fish/config.fish: {command} completion fish | source"""
"""What the help says of it."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.description = f"{parser.description}\n\n{INSTALL.format(command='ndpstack')}"
    parser.add_argument("shell", choices=SHELLS)


def execute(arguments: argparse.Namespace) -> int:
    """Prints the script."""
    from ndpstack.cli._main import full_parser

    print(completion_script(full_parser(), arguments.shell))
    return Exit.OK


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """A script that completes the words of a parser.

    What an argument's metavar says in the help is what it is completed with: FILE, DIR, IF,
    SCENARIO; a type that has `names` with those.

    Args:
        parser: Of the command; it is changed, and of no use for parsing afterwards.
        shell: One of SHELLS.

    Raises:
        UserError: shtab is not installed.
    """
    need("completion", "cli", "shtab")
    import shtab

    _mark(
        parser,
        {
            "FILE": shtab.FILE,
            "DIR": shtab.DIRECTORY,
            "IF": shtab.cmd("ls /sys/class/net"),
            "SCENARIO": _scenarios(),
        },
    )
    script: str = shtab.complete(parser, shell)
    return script


def _mark(parser: argparse.ArgumentParser, ways: Ways) -> None:
    """Says of each argument, those of subcommands too, what completes it."""
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for sub in action.choices.values():
                _mark(sub, ways)
        elif names := getattr(action.type, "names", None):
            action.choices = names
        elif action.metavar in ways:
            action.complete = ways[str(action.metavar)]  # type: ignore[attr-defined]


def _scenarios() -> dict[str, object]:
    """Those that come with ndpstack, and files."""
    from ndpstack.scenario import shipped_scenarios

    name, words = "_ndpstack_scenarios", " ".join(shipped_scenarios())
    return {
        "bash": name,
        "zsh": name,
        "fish": f"({name})",
        "preamble": {
            "bash": f'{name}() {{ compgen -W "{words}" -- "$1"; compgen -f -- "$1"; }}',
            "zsh": f"{name}() {{ compadd {words}; _files }}",
            "fish": f"function {name}; printf '%s\\n' {words}; "
            "__fish_complete_path (commandline -ct); end",
        },
    }
