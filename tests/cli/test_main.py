"""The command's frame: help, version, exit codes, one-line errors."""

from __future__ import annotations

import re
import subprocess
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from ndpstack import __version__
from ndpstack._errors import UserError
from ndpstack.cli import main
from ndpstack.cli._exit import MEANINGS, Exit
from ndpstack.cli._main import COMMANDS, Command, full_parser

if TYPE_CHECKING:
    import argparse
    from pathlib import Path


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


PLAIN = """
import sys
missing = ("numpy", "matplotlib", "rich", "scapy", "uvloop", "zmq", "grpc", "prometheus_client")
sys.modules.update(dict.fromkeys(missing))
from ndpstack.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""The command where no extra is installed."""


def plain(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PLAIN, *words], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "words",
    [
        "run homa-w4",
        "sweep homa-w4 --vary seed=1 --out {here}",
        "reproduce --list",
        "reproduce --quick",
        "bench incast",
        "bench latency --plot x.svg",
        "lab up homa-w4",
        "demo",
    ],
)
def test_what_an_extra_brings_is_named_where_it_is_not(words: str, tmp_path: Path) -> None:
    done = plain(*words.format(here=tmp_path).split())
    assert (done.returncode, done.stdout) == (Exit.USAGE, "")
    assert re.fullmatch(r"ndpstack: .* needs \w+; install it with: pip .*'\n", done.stderr)


def test_completion_knows_all_commands_without_the_extras_of_some() -> None:
    done = plain("completion", "bash")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(name in done.stdout for name in COMMANDS)


def needed(parser: argparse.ArgumentParser) -> list[str]:
    """Words that it cannot do without."""
    return [
        "x" if action.type is None else "1"
        for action in parser._get_positional_actions()
        if action.nargs in (None, "+")
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_json_is_meant_wherever_the_help_offers_it(command: str) -> None:
    parser = full_parser()
    inner = subparsers(subparsers(parser)[command])
    for verb, sub in inner.items():
        words = [command, "--json", verb, *needed(sub)]
        assert parser.parse_args(words).json, words
        if "--json" in sub._option_string_actions:
            words = [command, verb, "--json", *needed(sub)]
            assert parser.parse_args(words).json, words
        assert not parser.parse_args([command, verb, *needed(sub)]).json


def subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Its commands, or none."""
    found = (action.choices for action in parser._get_positional_actions())
    return next((choices for choices in found if isinstance(choices, dict)), {})


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


def complete_bash(redirection: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-c",
         "import sys; from ndpstack.cli import main; sys.exit(main(['completion', 'bash']))"],
        stderr=subprocess.PIPE, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_a_full_disk_is_one_line_and_no_finding() -> None:
    done = complete_bash(">/dev/full")
    assert done.stderr == "ndpstack: cannot write: No space left on device; make room there\n"
    assert done.returncode == Exit.USAGE


def test_a_command_may_have_no_standard_output() -> None:
    done = complete_bash(">&-")
    assert (done.returncode, done.stderr) == (Exit.OK, "")
