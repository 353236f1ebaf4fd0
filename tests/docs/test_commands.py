"""U9: every command of README and docs/ is one, and those that can be run here are, as written."""

from __future__ import annotations

import io
import itertools
import os
import re
import secrets
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from page_commands import PAGES, ROOT, Command, commands
from run_commands import (
    ELSEWHERE,
    FORMS,
    IN_TREE,
    LOGS_TRACEBACKS,
    NOT_RUN,
    SHOWN_IN_TEXT,
    WORLDS,
    Terminal,
    told,
)
from running_daemon import CONFIG, RunningDaemon

from ndpstack.cli import main as ndpstack
from ndpstack.cli._main import build_parser as ndpstack_parser
from ndpstack.testbed import labs, why_unavailable
from switchd._main import build_parser as switchd_parser
from switchd._main import main as switchd
from switchd.switchctl import build_parser as switchctl_parser
from switchd.switchctl import main as switchctl
from switchd.switchctl._main import expand

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMANDS = commands()

IN_TESTS = {
    "switchd --check-config deploy/config/switchd.toml",
    "switchctl show ports",
    "switchctl diff",
    "switchctl reload",
    "switchctl show drops --nonzero",
    "switchctl show trim",
    "switchctl -o json show ports",
    "switchctl mirror tor0 m0 --source h1 h2 --file m0.pcapng",
    "switchctl show port tor0/h1",
    "switchctl show counters --nonzero",
    "switchctl events",
    "switchctl doctor",
    "switchctl batch -e commands.txt",
    "switchctl fault tor0/h1 loss=1% delay=5us",
    "ndpstack doctor",
    "ndpstack reproduce --list",
}
"""Commands that run here as well, in a fraction of a second; `make docs-commands` runs them all."""

ENDLESS = ("capture", "events")
"""Commands of switchctl that run until they are interrupted, or for --seconds."""


def label(command: Command) -> str:
    return f"{Path(command.page).stem}: {command.plain}"


def parse(words: list[str]) -> None:
    """Refuses what the program would refuse."""
    program, *rest = words
    if program == "ndpstack":
        ndpstack_parser(rest[0]).parse_args(rest)
    elif program == "switchd":
        switchd_parser().parse_args(rest)
    elif program == "switchctl":
        switchctl_parser().parse_args(expand(rest))
    else:
        makefile = (ROOT / "Makefile").read_text()
        heads = re.findall(r"^([\w -]+):(?!=)", makefile, re.MULTILINE)
        assert rest[0] in " ".join(heads).split()


def test_pages_have_commands() -> None:
    assert {command.page for command in COMMANDS} >= {
        "README.md",
        "docs/how-to/lab.md",
        "docs/how-to/swarm.md",
        "docs/operating/running.md",
    }
    assert {command.plain for command in COMMANDS} >= IN_TESTS


def test_every_command_is_run_somewhere() -> None:
    """What `make docs-commands` leaves out has a reason, or a step of CI that has its text."""
    for form in (*NOT_RUN, *ELSEWHERE, *FORMS.values(), LOGS_TRACEBACKS):
        assert any(re.fullmatch(form, command.plain) for command in COMMANDS), form
    for file, text in itertools.chain(*ELSEWHERE.values()):
        assert text in (ROOT / file).read_text(), (file, text)
    pages = {command.page for command in COMMANDS}
    assert pages >= WORLDS.keys() | IN_TREE | SHOWN_IN_TEXT.keys()


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.is_ours], ids=label)
def test_every_command_is_one(command: Command) -> None:
    parse(command.words)


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningDaemon]:
    """One with the ports that the pages speak of, where switchctl looks for it."""
    made = RunningDaemon(tmp_path)
    made.write(CONFIG)
    made.start()
    monkeypatch.setenv("SWITCHD_SOCKET", str(tmp_path / "control.sock"))
    monkeypatch.chdir(ROOT)
    yield made
    made.stop()


@pytest.mark.parametrize(
    "command", [command for command in COMMANDS if command.plain in IN_TESTS], ids=label
)
def test_it_works_as_written(
    command: Command, daemon: RunningDaemon, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    program, *rest = command.words
    if program == "ndpstack":
        # 1: it found something, which a doctor may.
        assert ndpstack(rest) in ((0, 1) if rest[0] == "doctor" else (0,))
        return
    if program == "switchd":
        assert switchd(rest) == 0
        return
    if "batch" in rest:
        (daemon.folder / "commands.txt").write_text("show version\n")
        rest[-1] = str(daemon.folder / "commands.txt")
    if rest[0] in ENDLESS:
        rest += ["--seconds", "0.1"]
    assert switchctl(rest) in ((0, 1) if rest[0] == "doctor" else (0,)), capfdbinary.readouterr()


@pytest.mark.parametrize(
    ("script", "wrong"),
    [
        ("echo 'fail  xdp: it is held'; exit 1", False),
        ("python3 -c 'int(\"xdp\")'", True),
        ("echo 'usage: doctor'; exit 2", True),
    ],
)
def test_a_traceback_is_no_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, *, wrong: bool
) -> None:
    """Both end with 1."""
    (tmp_path / "ndpstack").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "ndpstack").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    terminal = Terminal.start(Command("page.md", "ndpstack doctor"), tmp_path, io.BytesIO())
    assert terminal.watch(60)
    os.close(terminal.screen)
    assert told(terminal) is wrong


@pytest.mark.skipif(bool(why_unavailable()), reason=str(why_unavailable()))
def test_the_lab_page_works(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """All of its lab, in order, under another name."""
    name = secrets.token_hex(3)
    wanted = [
        [word.replace("demo", name) for word in command.words]
        for command in COMMANDS
        if command.page == "docs/how-to/lab.md" and "demo" in command.text
    ]
    programs = {"ndpstack": ndpstack, "switchctl": switchctl}
    try:
        for program, *rest in wanted:
            assert programs[program](rest) == 0, (rest, capfdbinary.readouterr())
    finally:
        if name in labs():
            ndpstack(["lab", "down", name])
    assert len(wanted) > 5


def test_the_readmes_python_works() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", block], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "hello\n", done.stderr


BUILT = {"configuration.md", "commands.md", "metrics.md", "control-api.md", "scenario.md", "api.md"}
"""Pages that the build writes."""


def test_every_link_leads_somewhere() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in PAGES
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text())
        if not (path.parent / target).exists() and Path(target).name not in BUILT
    ]
    assert not wrong, wrong
