"""`serve`, `call`, `ping` and `completion`: what a first user types."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMAND = (sys.executable, "-c", "import sys; from ndpstack.cli import main; sys.exit(main())")


def ndpstack(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def server() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`ndpstack serve` on a link in memory, and the link's name."""
    name = f"test-try-{os.getpid()}-{time.monotonic_ns()}"
    process = subprocess.Popen(
        [*COMMAND, "serve", "--memory", name], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("serving echo, add")
        yield name, process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_first_try(server: tuple[str, subprocess.Popen[str]]) -> None:
    """T3, T7: the commands of the first page, one after another on one link."""
    name, process = server
    done = ndpstack("call", "--memory", name, "10.0.0.1", "add", "1", "2.5")
    assert (done.returncode, done.stdout) == (0, "3.5\n"), done.stderr
    done = ndpstack("call", "-m", name, "10.0.0.1", "echo", '{"a": [1, "b"]}')
    assert json.loads(done.stdout) == {"a": [1, "b"]}
    done = ndpstack("call", "-m", name, "--stream", "10.0.0.1", "count", "3")
    assert done.stdout == "0\n1\n2\n"
    done = ndpstack("ping", "-m", name, "--json", "-c", "3", "--interval", "0", "10.0.0.1")
    summary = json.loads(done.stdout)
    assert (summary["answered"], summary["sent"]) == (3, 3)
    assert 0 < summary["min_us"] <= summary["median_us"] <= summary["max_us"]
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=10) == 0
    assert process.stdout is not None
    assert "add: 1 calls, 0 errors" in process.stdout.read()


def test_mistakes_are_one_line(server: tuple[str, subprocess.Popen[str]]) -> None:
    name, _ = server
    done = ndpstack("call", "-m", name, "10.0.0.1", "nothing")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "ndpstack: the method raised LookupError: service try has no method nothing\n"
    )
    done = ndpstack("call", "-m", name, "-p", "4001", "10.0.0.1", "echo", "1")
    assert done.returncode == 2
    assert "Connection refused" in done.stderr
    assert "Start the server" in done.stderr
    assert done.stderr.count("\n") == 1
    done = ndpstack("call", "-m", name, "nowhere", "echo", "1")
    assert done.returncode == 2
    assert "nowhere" in done.stderr


def test_a_host_that_is_not_there() -> None:
    """T28: ping says what it waited for, and fails."""
    name = f"test-try-{os.getpid()}-{time.monotonic_ns()}"
    done = ndpstack("ping", "-i", name, "10.0.0.1")
    assert done.returncode == 2
    assert name in done.stderr
    with_nobody = ("serve", "--interface", name, "--address", "10.0.0.1")
    assert ndpstack(*with_nobody).returncode == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_that_shell(shell: str, tmp_path: Path) -> None:
    done = ndpstack("completion", shell)
    assert done.returncode == 0
    for word in ("serve", "ping", "--memory", "reproduce"):
        assert word.lstrip("-") in done.stdout
    if shutil.which(shell) is None:
        return
    script = tmp_path / "script"
    script.write_text(done.stdout)
    check = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stderr
