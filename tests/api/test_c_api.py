"""The C library as others build against it: installed, found by pkg-config, used by an example."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]
STRICT = ["-std=c11", *WARNINGS]
EXAMPLES = sorted((ROOT / "examples").glob("*.c"))
IN_TREE = [f"-I{ROOT / 'csrc' / name}" for name in ("include", "")]

NAMES = """#include <ndpstack.h>
int main(void)
{
    const struct nd_counters_table *homa_table = &nd_homa_counters_table;
    const struct nd_counters_table *ndp_table = &nd_ndp_counters_table;
    struct nd_homa_config homa = nd_homa_config_default(1000000000, 1500);
    struct nd_ndp_config ndp = nd_ndp_config_default(1000000000, 1500);
    struct nd_stack_config config = { { { ND_PORT_MEMORY } } };
    struct nd_event event = { ND_EVENT_FAILED };
    const char *why = 0;

    config.homa_config = &homa;
    config.ndp_config = &ndp;
    if (nd_homa_config_check(&homa, &why) || nd_ndp_config_check(&ndp, &why))
        return 1;
    event.detail = ND_HOMA_SERVICE | 3u << 8;
    return nd_homa_failed_state(&event) != ND_HOMA_SERVICE || ND_NDP_OPEN != 3 ||
        nd_homa_failed_attempts(&event) != 3 || homa_table->count == ndp_table->count ||
        nd_frame_config_default().ndp_port != ND_NDP_UDP_PORT || config.port_count;
}
"""
"""A program with what an event's detail, an exchange's state and a stack's config are made of."""


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


def wants(*tools: str) -> None:
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is missing")


@pytest.fixture(scope="module")
def flags(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What pkg-config says of the installed library, and nothing of this tree."""
    wants("cc", "meson", "ninja", "pkg-config")
    folder = tmp_path_factory.mktemp("library")
    build, prefix = folder / "build", folder / "prefix"
    options = ["-Dbindings=false", "-Dlibrary=true", "-Doptimization=0", f"--prefix={prefix}"]
    run("meson", "setup", build, ROOT, *options)
    run("meson", "install", "-C", build, "--quiet")
    found = str(next(prefix.rglob("ndpstack.pc")).parent)
    assert run("pkg-config", "--modversion", "ndpstack", PKG_CONFIG_PATH=found).strip()
    said = run("pkg-config", "--cflags", "--libs", "ndpstack", PKG_CONFIG_PATH=found)
    assert str(ROOT) not in said
    return said.split()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_build_against_the_installed_library(
    path: Path, flags: list[str], tmp_path: Path
) -> None:
    """A stranger's build: strict C11 with what pkg-config says; they print what the page says."""
    program = tmp_path / path.stem
    run("cc", *STRICT, path, *flags, "-o", program)
    shown = re.search(
        rf"examples/{path.name}\n:language: c\n:start-at: (.*)\n```\n\n```text\n((?:[^`].*\n)+)```",
        (ROOT / "docs" / "how-to" / "c.md").read_text(),
    )
    assert shown is not None
    assert f"\n{shown[1]}" in path.read_text()
    assert run(program) == shown[2]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("compiler", ["cc", "g++", "clang++"])
def test_all_that_the_header_speaks_of_is_installed(
    compiler: str, flags: list[str], tmp_path: Path
) -> None:
    wants(compiler)
    language = ["-xc++", "-std=c++17", *WARNINGS] if "++" in compiler else ["-xc", *STRICT]
    source, program = tmp_path / "names.c", tmp_path / "names"
    source.write_text(NAMES)
    run(compiler, *language, "-Wno-missing-field-initializers", source, "-xnone", *flags,
        "-o", program)  # fmt: skip
    run(program)


def test_the_snippet_on_latency_compiles(tmp_path: Path) -> None:
    """What surrounds it there is left out on the page: the headers, the error, what handles."""
    wants("cc")
    page = (ROOT / "docs" / "how-to" / "latency.md").read_text()
    (snippet,) = re.findall(r"^```c\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    source = tmp_path / "snippet.c"
    source.write_text(
        "#include <ndpstack.h>\n"
        "extern struct nd_error error;\n"
        "void handle(struct nd_stack *stack, const struct nd_event *event);\n"
        f"int main(void)\n{{\n{snippet}}}\n"
    )
    run("cc", *STRICT, "-fsyntax-only", *IN_TREE, source)
