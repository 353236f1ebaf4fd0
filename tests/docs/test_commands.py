"""U9: every command of README and docs/ is one, and those that can be run here are, as written."""

from __future__ import annotations

import re
import secrets
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
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

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md"] + [
    path for path in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in path.parts
]
OURS = ("ndpstack", "switchd", "switchctl", "make")
GENERATED = ("docs/operating/commands.md", "docs/reference/commands.md")

NOT_RUN = {
    r"make .*": "CI's own steps run the targets",
    r"ndpstack reproduce (?!--list).*": "minutes to hours; CI's own step runs the quick part",
    r"ndpstack swarm .*": "minutes; tests/test_swarm.py runs short ones, and CI the rest",
    r"ndpstack bench .*": "minutes on a quiet machine; tests/bench has small ones",
    r"ndpstack run servers-incast .*": "20 s each; tests/netns/test_run_worlds.py is quicker",
    r"ndpstack run homa-w4.*": "seconds; deploy/check-wheel runs a shorter one",
    r"ndpstack (run|sweep) incast.toml .*": "the file is the page's; tests/cli has such runs",
    r"ndpstack (decode|replay|host run) .*": "want an interface or what was recorded there",
    r"ndpstack lab .*": "test_the_lab_page_works does",
    r"ndpstack (?!doctor$|reproduce --list$).*": "tests/cli and tests/netns run such",
    r"switchctl --socket \S+/labs/demo/\S+ .*": "test_the_lab_page_works does",
    r"switchd --config .*": "tests/switchd/test_whole.py starts daemons",
    r"switchctl top": "wants a terminal; tests/switchd/test_switchctl.py has its screen",
    r"switchctl --watch .*": "does not end",
}
"""Commands that are parsed and not run here, and why."""

ENDLESS = ("capture", "events")
"""Commands of switchctl that run until they are interrupted, or for --seconds."""


@dataclass(frozen=True)
class Command:
    """A command as a page has it."""

    page: str
    text: str

    @property
    def words(self) -> list[str]:
        """Its words, up to a pipe or another file."""
        words = shlex.split(self.text, comments=True)
        ends = [index for index, word in enumerate(words) if word in ("|", ">", ">>", "&&", "&")]
        return words[: min(ends, default=len(words))]

    @property
    def reason(self) -> str:
        """Why it is not run here; empty when it is."""
        plain = " ".join(self.words)
        return next((why for form, why in NOT_RUN.items() if re.fullmatch(form, plain)), "")


def shell_lines(text: str) -> Iterator[str]:
    """Lines of a page's blocks, fenced or indented."""
    fenced = re.findall(r"^```(?:sh|console)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for block in [*fenced, *re.findall(r"(?:^    \S.*\n)+", outside, re.MULTILINE)]:
        yield from block.splitlines()


def commands() -> list[Command]:
    """All of them."""
    found = []
    for path in PAGES:
        page = path.relative_to(ROOT).as_posix()
        if page in GENERATED:
            continue
        for line in shell_lines(path.read_text().replace("\\\n", "")):
            command = line.strip().removeprefix("$ ")
            if command.split(" ", 1)[0] in OURS:
                found.append(Command(page, command))
    return found


COMMANDS = commands()


def label(command: Command) -> str:
    return f"{Path(command.page).stem}: {' '.join(command.words)}"


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
    for form in NOT_RUN:
        assert any(re.fullmatch(form, " ".join(command.words)) for command in COMMANDS), form


@pytest.mark.parametrize("command", COMMANDS, ids=label)
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
    "command", [command for command in COMMANDS if not command.reason], ids=label
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


@pytest.mark.skipif(bool(why_unavailable()), reason=str(why_unavailable()))
def test_the_lab_page_works(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """All of its lab, in order, under another name."""
    name = secrets.token_hex(3)
    wanted = [
        [word.replace("demo", name) for word in command.words]
        for command in COMMANDS
        if command.page == "docs/how-to/lab.md" and "demo" in command.text
    ]
    # What is done in the lab stands below the block that ends with its end.
    wanted.sort(key=lambda words: words[1:3] == ["lab", "down"])
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
