"""Runs the commands of README.md and docs/ as they are written, and prints a table of them.

    python docs/_tools/run_commands.py [PAGE ...]

`make docs-commands` does it for all pages. A page's commands run in the page's order, on a
terminal, in network, mount and process namespaces of the page's own, which end with it: as root.
What they print goes to build/docs-commands/.
"""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from page_commands import PAGES, ROOT, Command, commands, files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO

ELSEWHERE = {
    r"make test": (
        ("Makefile", "\ntest: dev test-c test-sanitize test-sanitize-python test-python lint "),
        (
            ".ci/run",
            "\nstep make test-c\nstep make test-sanitize\nstep make test-sanitize-python\n",
        ),
        (".ci/run", "\nstep make test-python\n"),
        (".ci/run", "\nstep $installed -j2 --output-sync=recurse lint "),
    ),
    r"make bench-check": ((".ci/run", " bench-check "),),
    r"ndpstack reproduce --quick": (
        ("Makefile", "$(BIN)/ndpstack reproduce --quick\n"),
        (".ci/run", "$installed reproduce-quick\n"),
    ),
}
"""Commands that CI runs, and the text that shows it."""

NOT_RUN = {
    r"ndpstack reproduce --all": "hours: each part of it is a run of docs/reproduction.md",
    r"pip install .*": "on no index yet: deploy/check-wheel installs the wheel with its extra",
}
"""Commands that nobody runs, and why."""

IN_TREE = {
    "README.md",
    "docs/how-to/c.md",
    "docs/how-to/demo.md",
    "docs/how-to/swarm.md",
    "docs/internals/field-reports.md",
    "docs/internals/requirements.md",
    "docs/operating/running.md",
    "docs/performance.md",
}
"""Pages whose commands name files of the tree; the others' run in an empty folder."""

SWITCH = """
for n in 1 2 3 8 9; do
    ip netns add h$n && ip link add eth$n type veth peer eth1 netns h$n
    ip link set eth$n up && ip -n h$n link set eth1 up && ip -n h$n link set lo up
    ip -n h$n addr add 10.0.0.$n/24 dev eth1
done
(cat /etc/group; echo ndpstack:x:64999:) > /run/group && mount --bind /run/group /etc/group
"""
HOST = """
ip netns add peer && ip link add eth0 type veth peer eth0 netns peer
ip link set eth0 up && ip addr add 10.0.0.1/24 dev eth0
ip -n peer link set eth0 up && ip -n peer link set lo up && ip -n peer addr add 10.0.0.2/24 dev eth0
"""
WORLDS = {
    "README.md": SWITCH + "switchd --config deploy/config/switchd.toml & sleep 10",
    "docs/how-to/captures.md": HOST,
    "docs/how-to/replay.md": HOST,
    "docs/how-to/simulate.md": "ip addr add 10.0.0.1/32 dev lo",
    "docs/how-to/watch.md": HOST
    + "ip netns exec peer ndpstack serve --interface eth0 & ndpstack host run --interface eth0 &"
    " sleep 8; while ndpstack ping --attach host 10.0.0.2; do :; done > /dev/null & sleep 4",
    "docs/operating/running.md": SWITCH + "mkdir -p /run/ndpstack",
}
"""What is there when a page's commands begin, beside the loopback interface."""

SHOWN_IN_TEXT = {"docs/operating/running.md": {"commands.txt": "show version\n"}}
"""Files that a page speaks of and does not show."""

FORMS = {
    "stays": r"switchd --config .*|ndpstack serve .*|dask (scheduler|worker .*)",
    "interrupted": r"switchctl --watch .*|switchctl (top|events)|ndpstack ss --watch .*"
    r"|ndpstack stat -i 1|ndpstack host run .*|tcpdump -i .*",
}
"""Commands that do not end: what stays is interrupted when its page ends, others after seconds."""

ELSEWHERE_ON_THE_NETWORK = {r"ndpstack host run --interface eth1 .*": "ip netns exec h1 "}
"""Commands of another machine than the page's, and how to get there."""

FINDS = r"(ndpstack|switchctl) doctor.*"
"""Commands that may end with 1: they found something."""

TRACEBACK = b"Traceback (most recent call last)"
"""What no command prints, whatever it ends with."""

LOGS_TRACEBACKS = r"dask .*"
"""Commands of others that log tracebacks of themselves when they are interrupted."""

OUTPUT_WITHIN_S, SECONDS, LIMIT_S = 20, 4, 1800
OUTPUT = ROOT / "build" / "docs-commands"


def way(command: Command) -> str:
    """How it is run here: `ends`, `stays`, `interrupted`; or `elsewhere`, or `not run`."""
    if any(re.fullmatch(form, command.plain) for form in ELSEWHERE):
        return "elsewhere"
    if any(re.fullmatch(form, command.plain) for form in NOT_RUN):
        return "not run"
    return next((name for name, form in FORMS.items() if re.fullmatch(form, command.plain)), "ends")


@dataclass
class Terminal:
    """A command on a terminal of its own."""

    command: Command
    started: float
    process: subprocess.Popen[bytes]
    screen: int
    log: IO[bytes]
    output: bytearray = field(default_factory=bytearray)
    ended: float = 0

    @classmethod
    def start(cls, command: Command, folder: Path, log: IO[bytes]) -> Terminal:
        """Runs it as an interactive shell would."""
        prefix = next(
            (to for form, to in ELSEWHERE_ON_THE_NETWORK.items() if re.match(form, command.plain)),
            "",
        )
        screen, keyboard = pty.openpty()
        process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", "bash", "-c", prefix + command.text],
            stdin=keyboard, stdout=keyboard, stderr=keyboard, cwd=folder,
        )  # fmt: skip
        os.close(keyboard)
        log.write(f"\n$ {command.text}\n".encode())
        return cls(command, time.monotonic(), process, screen, log)

    def watch(self, seconds: float, *, until_output: bool = False) -> bool:
        """Reads what it prints, and says whether it has ended."""
        limit = time.monotonic() + seconds
        while (left := limit - time.monotonic()) > 0:
            ready, _, _ = select.select([self.screen], [], [], min(left, 0.1))
            if ready:
                try:
                    got = os.read(self.screen, 65536)
                except OSError:  # Nobody has the terminal open any more.
                    got = b""
                self.log.write(got)
                self.output += got
                if not got:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        self.process.wait(left)  # It ends a moment after it has let go of it.
                if not got or until_output:
                    break
            elif self.process.poll() is not None:
                break
        if self.process.poll() is None and not until_output:
            return False
        return self._has_ended()

    def _has_ended(self) -> bool:
        if self.process.poll() is None:
            return False
        self.ended = self.ended or time.monotonic()
        return True

    def interrupt(self) -> None:
        """Types Ctrl-C."""
        os.write(self.screen, b"\x03")
        if not self.watch(60):
            self.process.kill()
            self.process.wait()

    def allowed(self) -> Sequence[int]:
        """Exit codes that are right."""
        if way(self.command) != "ends":
            return (0, 130)
        return (0, 1) if re.fullmatch(FINDS, self.command.plain) else (0,)

    def is_wrong(self) -> bool:
        """It ended as it may not; a traceback has the exit code of one that found something."""
        if self.process.returncode not in self.allowed():
            return True
        return TRACEBACK in self.output and not re.fullmatch(LOGS_TRACEBACKS, self.command.plain)

    def row(self) -> str:
        """Its line of the table."""
        took = (self.ended or time.monotonic()) - self.started
        verdict = "FAIL" if self.is_wrong() else "ok  "
        return f"{verdict} {self.process.returncode:4d} {took:7.1f} s  {self.command.text}"


def run_page(page: str) -> int:
    """Runs a page's commands where we are; the number of those that failed."""
    there = [command for command in commands() if command.page == page]
    log_file = OUTPUT / (page.replace("/", "-") + ".log")
    failed, staying = 0, []
    with (
        tempfile.TemporaryDirectory(prefix="ndpstack-docs-") as scratch,
        log_file.open("wb") as log,
    ):
        folder = ROOT if page in IN_TREE else Path(scratch)
        added = prepare(page, Path(scratch), folder, log)
        for command in there:
            kind = way(command)
            if kind in ("elsewhere", "not run"):
                print(f"{'-':4s} {'-':>4s} {'-':>7s}    {command.text} ({kind})", flush=True)
                continue
            terminal = Terminal.start(command, folder, log)
            if kind == "ends":
                if not terminal.watch(LIMIT_S):
                    terminal.interrupt()
            else:
                terminal.watch(OUTPUT_WITHIN_S, until_output=True)
                terminal.watch(SECONDS)
                if kind == "stays":
                    staying.append(terminal)
                    continue
                terminal.interrupt()
            failed += told(terminal)
        for terminal in reversed(staying):
            terminal.interrupt()
            failed += told(terminal)
        for path in added:
            path.unlink()
    return failed


def told(terminal: Terminal) -> bool:
    """Prints its row, with the end of its output when it failed; whether it did."""
    print(terminal.row(), flush=True)
    if terminal.is_wrong():
        print(bytes(terminal.output[-2000:]).decode(errors="replace"), flush=True)
    return terminal.is_wrong()


def prepare(page: str, scratch: Path, folder: Path, log: IO[bytes]) -> list[Path]:
    """Builds a page's world and writes its files; the files."""
    os.environ["HOME"] = str(scratch)
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
    world = "set -e\nip link set lo up\n" + WORLDS.get(page, "")
    subprocess.run(["bash", "-c", world], cwd=ROOT, stdout=log, stderr=log, check=True)
    wanted = {name: path.read_text() for name, path in files(ROOT / page).items()}
    wanted |= SHOWN_IN_TEXT.get(page, {})
    for name, text in wanted.items():
        (folder / name).write_text(text)
    return [folder / name for name in wanted]


def run_apart(page: str, environment: Mapping[str, str]) -> int:
    """Runs a page in namespaces of its own."""
    print(f"\n{page}", flush=True)
    apart = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return subprocess.run(
        [*apart, sys.executable, __file__, page], env={**environment, INSIDE: "1"}, check=False
    ).returncode


INSIDE = "NDPSTACK_DOCS_COMMANDS_INSIDE"
"""Set where the namespaces are made."""


def main(arguments: Sequence[str]) -> int:
    """The pages named, or all that have commands."""
    if INSIDE in os.environ:
        return min(run_page(arguments[0]), 100)
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        print("run_commands: wants root and `unshare`, for namespaces of its own", file=sys.stderr)
        return 2
    signal.signal(signal.SIGINT, signal.default_int_handler)
    OUTPUT.mkdir(parents=True, exist_ok=True)
    every = [path.relative_to(ROOT).as_posix() for path in PAGES]
    known = {command.page for command in commands()}
    pages = [page for page in arguments or every if page in known]
    failed = sum(run_apart(page, os.environ) for page in pages)
    print(f"\n{failed} failed; what they printed is in {OUTPUT.relative_to(ROOT)}/")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
