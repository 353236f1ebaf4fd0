"""The command's frame: help, version, exit codes, one-line errors."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from ndpstack import __version__
from ndpstack._errors import UserError
from ndpstack.cli import main
from ndpstack.cli._exit import MEANINGS, Exit
from ndpstack.cli._main import COMMANDS, Command

if TYPE_CHECKING:
    import argparse


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("fake_command")

    def configure(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--mistake", action="store_true")
        parser.add_argument("--interrupt", action="store_true")

    def execute(arguments: argparse.Namespace) -> int:
        if arguments.mistake:
            raise UserError("the file is missing; name another")
        if arguments.interrupt:
            raise KeyboardInterrupt
        return Exit.FAILED

    module.configure = configure  # type: ignore[attr-defined]
    module.execute = execute  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fake_command", module)
    monkeypatch.setitem(COMMANDS, "fake", Command("fake_command", "Does nothing"))


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(["--version"])
    assert exit_info.value.code == 0
    assert capsys.readouterr().out == f"ndpstack {__version__}\n"


def test_help_names_every_command_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert all(name in text for name in COMMANDS)
    assert all(meaning.split(";")[0][:40] in text for meaning in MEANINGS.values())


def test_help_imports_nothing_heavy() -> None:
    heavy = {"numpy", "cffi", "_cffi_backend", "ndpstack._core", "matplotlib", "asyncio"}
    script = (
        "import sys, contextlib, ndpstack.cli as c\n"
        "with contextlib.suppress(SystemExit): c.main(['--help'])\n"
        "print(sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    # An editable install imports meson-python's loader; it is not the command's.
    assert heavy.isdisjoint(eval(done.stderr))


def test_no_command_prints_help_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == Exit.USAGE
    assert "commands:" in capsys.readouterr().err


@pytest.mark.usefixtures("fake")
def test_the_commands_own_code_is_returned() -> None:
    assert main(["fake"]) == Exit.FAILED


@pytest.mark.usefixtures("fake")
def test_a_user_mistake_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fake", "--mistake"]) == Exit.USAGE
    assert capsys.readouterr().err == "ndpstack: the file is missing; name another\n"


@pytest.mark.usefixtures("fake")
def test_an_interrupt_is_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fake", "--interrupt"]) == Exit.INTERRUPTED
    assert capsys.readouterr().err == "ndpstack: interrupted\n"
