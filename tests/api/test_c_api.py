"""The C library as others build against it: installed, found by pkg-config, used by an example."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STRICT = ["-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror", "-pedantic"]


def run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(400)
def test_an_example_builds_against_the_installed_library(tmp_path: Path) -> None:
    """A stranger's build: strict C11 with what pkg-config says, and nothing of this tree."""
    for tool in ("cc", "meson", "ninja", "pkg-config"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is missing")
    build, prefix = tmp_path / "build", tmp_path / "prefix"
    options = ["-Dbindings=false", "-Dlibrary=true", "-Doptimization=0", f"--prefix={prefix}"]
    run("meson", "setup", build, ROOT, *options)
    run("meson", "install", "-C", build, "--quiet")
    found = str(next(prefix.rglob("ndpstack.pc")).parent)
    flags = run("pkg-config", "--cflags", "--libs", "ndpstack", PKG_CONFIG_PATH=found).split()
    assert str(ROOT) not in " ".join(flags)
    program = tmp_path / "echo"
    run("cc", *STRICT, ROOT / "examples" / "echo.c", *flags, "-o", program)
    assert run(program) == "hello\n"
    assert run("pkg-config", "--modversion", "ndpstack", PKG_CONFIG_PATH=found).strip()


def test_the_snippet_on_latency_compiles(tmp_path: Path) -> None:
    """What surrounds it there is left out on the page: the headers, the error, what handles."""
    if shutil.which("cc") is None:
        pytest.skip("cc is missing")
    page = (ROOT / "docs" / "how-to" / "latency.md").read_text()
    (snippet,) = re.findall(r"^```c\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    source = tmp_path / "snippet.c"
    source.write_text(
        "#include <ndpstack.h>\n"
        "extern struct nd_error error;\n"
        "void handle(struct nd_stack *stack, const struct nd_event *event);\n"
        f"int main(void)\n{{\n{snippet}}}\n"
    )
    folders = [f"-I{ROOT / 'csrc' / name}" for name in ("include", "")]
    run("cc", *STRICT, "-fsyntax-only", *folders, source)
