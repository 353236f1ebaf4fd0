"""`completion`: what shells make of the scripts."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from typing import TYPE_CHECKING

import pytest

from ndpstack.cli._completion import SHELLS, completion_script
from ndpstack.cli._main import full_parser
from switchd.switchctl._main import build_parser

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

IN_BASH = """
source "$1"
read -ra COMP_WORDS <<< "$2"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE=$2
_shtab_${COMP_WORDS[0]}; printf '%s\\n' "${COMPREPLY[@]}"
"""
IN_FISH = "source $argv[1]; complete -C $argv[2]"
ASK = {
    "bash": ("--norc", "-c", IN_BASH, "bash"),
    "fish": ("--no-config", "-c", IN_FISH),
}
"""What shows how a script completes a line, without a terminal; zsh needs one."""


def shell_of(name: str) -> str:
    """Its program."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name}: deploy/install-packages")
    return found


@cache
def script_of(program: str, shell: str) -> str:
    parser = full_parser() if program == "ndpstack" else build_parser()
    return completion_script(parser, shell)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("program", "word"), [("ndpstack", "swarm"), ("switchctl", "watermarks")])
def test_it_is_a_script_of_that_shell(shell: str, program: str, word: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(script_of(program, shell))
    assert word in script.read_text()
    done = subprocess.run(
        [shell_of(shell), "-n", str(script)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", ASK)
@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("ndpstack rep", {"replay", "reproduce"}),
        ("ndpstack decode et", {"eth0.pcap"}),
        ("ndpstack replay et", {"eth0.pcap"}),
        ("ndpstack run homa-w", {"homa-w4"}),
        ("ndpstack run et", {"eth0.pcap"}),
        ("ndpstack lab up et", {"eth0.pcap"}),
        ("ndpstack doctor l", {"lo"}),
        ("ndpstack ping -i l", {"lo"}),
        ("ndpstack bench latency --plot et", {"eth0.pcap"}),
        ("ndpstack bench latency --against u", {"udp", "uvloop"}),
        ("ndpstack bench incast --against t", {"tcp"}),
        ("switchctl batch et", {"eth0.pcap"}),
        ("switchctl show run", {"running-config", "runtime"}),
    ],
)
def test_arguments_are_completed(shell: str, tmp_path: Path, line: str, wanted: set[str]) -> None:
    (tmp_path / "eth0.pcap").touch()
    script = tmp_path / "script"
    script.write_text(script_of(line.split()[0], shell))
    words = [shell_of(shell), *ASK[shell], str(script), line]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
    # Fish puts the help behind each.
    assert {row.split("\t")[0] for row in done.stdout.splitlines()} == wanted, done.stderr


def test_files_are_told_by_what_the_help_calls_them() -> None:
    """An argument with another metavar completes nothing."""

    def check(parser: argparse.ArgumentParser) -> None:
        for action in parser._actions:
            if isinstance(action.choices, dict):
                for sub in action.choices.values():
                    check(sub)
            elif getattr(action.type, "__name__", "") == "Path":
                assert action.metavar in ("FILE", "DIR"), (parser.prog, action.dest)
            elif action.dest in ("interface", "scenario", "file"):
                assert action.metavar in ("IF", "SCENARIO", "FILE"), (parser.prog, action.dest)

    check(full_parser())
