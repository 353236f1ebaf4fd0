"""What no compiler or linter holds: the shape of the tree, and habits that rot when nobody looks.

Each rule fails with the file, the line and the remedy. Limits are ratchets: what is over the limit
today is listed with its size, may shrink, and leaves the list when it is within the limit.
"""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]

LAYERS = {
    "base": {"base"},
    "wire": {"base", "wire"},
    "transport": {"base", "wire", "transport"},
    "queue": {"base", "wire", "queue"},
    "port": {"base", "wire", "transport", "queue", "port"},
    "host": {"base", "wire", "transport", "queue", "port", "host"},
    "switch": {"base", "wire", "transport", "queue", "port", "switch"},
    "sim": {"base", "wire", "transport", "queue", "port", "sim"},
}
"""Which folders of csrc/ a folder may include: base <- wire <- transport, queue <- port <- ..."""

ENGINES = ("base", "wire", "queue", "transport")
"""Folders whose code does no I/O, reads no clock and allocates nothing."""

BANNED = {
    "memory": "malloc calloc realloc reallocarray free aligned_alloc posix_memalign alloca mmap",
    "clocks": "time clock clock_gettime gettimeofday nanosleep usleep sleep",
    "I/O": "printf fprintf sprintf snprintf vsnprintf puts putchar fopen open read write ioctl",
    "network": "socket send sendto sendmsg recv recvfrom recvmsg bind connect poll epoll_wait",
    "chance": "rand srand random drand48 getrandom",
    "unbounded strings": "strcpy strcat gets sprintf strtok",
    "processes": "system fork exec getenv exit signal pthread_create",
}
"""Calls that engines must not make, by what they would bring in."""

ENGINE_EXCEPTIONS = {
    "csrc/base/assert.c": {"fprintf"},  # The last words before abort().
    "csrc/base/error.h": {"vsnprintf"},  # Errors of set-up code, which is no engine.
    "csrc/base/trace.c": {"vsnprintf"},  # Prints what was traced, on the reader's side.
}

ENGINE_SYMBOLS = {
    "memcpy", "memmove", "memset", "memcmp", "strlen", "strnlen", "strchr", "strcmp", "strncmp",
    "__stack_chk_fail", "__tls_get_addr", "_GLOBAL_OFFSET_TABLE_", "__cpu_model",
    "__cpu_features2", "__popcountdi2",
}  # fmt: skip
"""All that engines' objects may ask of libc and the compiler."""

OBJECT_EXCEPTIONS = {
    "base_assert.c.o": {"abort", "stderr", "fprintf"},
    "base_trace.c.o": {"vsnprintf"},
}

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
FILE_BYTES_MAX = 200_000

LONG_FILES: dict[str, int] = {}
LONG_FUNCTIONS: dict[str, int] = {}

ROWS = {"nacks_sent": "acks_sent", "pulls_sent": "acks_sent"}
"""Counters that are found by their distance from the first of a row."""

GENERATED = {"ndpstack/_core.pyi", "bindings/core.cdef.h"}
DATA = ("data/", "tests/data/", "csrc/test/data/")


def tracked(*suffixes: str) -> list[Path]:
    """Files under version control with one of the suffixes; all of them without suffixes."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    names = [name for name in done.stdout.split("\0") if name]
    return [
        ROOT / name
        for name in names
        if (not suffixes or name.endswith(suffixes)) and (ROOT / name).is_file()
    ]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def engine_files() -> list[Path]:
    folders = {f"csrc/{folder}" for folder in ENGINES}
    return [path for path in tracked(".c", ".h") if name_of(path.parent) in folders]


def without_comments(text: str) -> str:
    """C source with comments and the contents of strings blanked, line numbers kept."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def test_includes_point_one_way() -> None:
    wrong = []
    for path in tracked(".c", ".h"):
        folder = path.parent.name
        if name_of(path.parent) != f"csrc/{folder}" or folder not in LAYERS:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = re.match(r'#include "(\w+)/', line)
            if match and match[1] not in LAYERS[folder]:
                wrong.append(f"{name_of(path)}:{number}: {folder}/ must not include {match[1]}/")
    assert not wrong, "\n".join(wrong)


def banned_calls(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, function and what it brings in, for each banned call in C source."""
    words = {word: kind for kind, names in BANNED.items() for word in names.split()}
    # A call, not a member (ops->connect) or a longer word.
    pattern = re.compile(r"(?<![\w>.])(" + "|".join(words) + r")\s*\(")
    code = without_comments(text)
    own = set(re.findall(r"^static [\w \*]*?\b(\w+)\(", code, re.MULTILINE))
    for match in pattern.finditer(code):
        if match[1] not in own:
            yield code.count("\n", 0, match.start()) + 1, match[1], words[match[1]]


def test_engines_call_nothing_that_does_io() -> None:
    """R-NHA-10, in the sources."""
    wrong = [
        f"{name_of(path)}:{number}: {call}() brings in {kind}"
        for path in engine_files()
        for number, call, kind in banned_calls(path.read_text(encoding="utf-8"))
        if call not in ENGINE_EXCEPTIONS.get(name_of(path), set())
    ]
    assert not wrong, "\n".join(wrong)


def test_banned_calls_are_found_where_they_are() -> None:
    source = (
        "/* malloc() */\nstatic void send(int x)\n{\n\tfoo(malloc(3));\n}\n"
        '\tops->connect(1); text = "time(0)"; runtime(2); send(3);\n\tnow = time (NULL);\n'
    )
    assert list(banned_calls(source)) == [(4, "malloc", "memory"), (7, "time", "clocks")]


def core_archive() -> Path:
    for build in ("build/python", "build-gcc", "build-clang"):
        archive = ROOT / build / "csrc" / "libndpstack_core.a"
        if archive.exists():
            return archive
    pytest.skip("the C core is not built here: make dev")


def test_engines_need_nothing_from_outside() -> None:
    """R-NHA-10, in the objects: no libc time, net, memory or I/O symbols."""
    archive = core_archive()
    listing = subprocess.run(
        ["nm", "--print-file-name", str(archive)], capture_output=True, text=True, check=True
    ).stdout
    undefined: list[tuple[str, str]] = []
    defined: set[str] = set()
    for line in listing.splitlines():
        where, _, rest = line.rpartition(":")
        kind, symbol = rest.split()[-2:]
        member = Path(where.rpartition(":")[2]).name
        if not member.startswith(tuple(f"{folder}_" for folder in ENGINES)):
            continue
        if kind == "U":
            undefined.append((member, symbol))
        else:
            defined.add(symbol)
    assert defined, f"nm found no engine objects in {archive}"
    wrong = [
        f"{member} needs {symbol}"
        for member, symbol in undefined
        if symbol not in defined | ENGINE_SYMBOLS | OBJECT_EXCEPTIONS.get(member, set())
    ]
    assert not wrong, "\n".join(wrong)


def c_functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and lines of each function; kernel style puts its braces in the first column."""
    start, name = 0, "?"
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
            head = " ".join(lines[max(0, number - 6) : number - 1])
            found = re.findall(r"\b(\w+)\(", head)
            name = next((word for word in reversed(found) if word != "format"), "?")
        elif line == "}" and start:
            yield name, number - start + 1
            start = 0


def python_functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            yield node.name, node.end_lineno - node.lineno + 1


def ratchet(sizes: dict[str, int], limit: int, known: dict[str, int], remedy: str) -> list[str]:
    """What grew beyond the limit or its listed size, and entries that are no longer needed."""
    wrong = [
        f"{name}: {size} lines, at most {max(limit, known.get(name, 0))}: {remedy}"
        for name, size in sorted(sizes.items())
        if size > max(limit, known.get(name, 0))
    ]
    wrong += [
        f"{name}: within the limit now: take it off the list"
        for name in known
        if sizes.get(name, 0) <= limit
    ]
    return wrong


def test_functions_are_measured(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(
        "static int one(int a)\n{\n\tif (a) {\n\t}\n}\n\nint two(int a,\n\tint b)\n{\n}\n"
    )
    assert list(c_functions(tmp_path / "a.c")) == [("one", 4), ("two", 2)]
    (tmp_path / "a.py").write_text("def f():\n    def g():\n        pass\n    g()\n")
    assert sorted(python_functions(tmp_path / "a.py")) == [("f", 4), ("g", 2)]


def test_ratchet_only_tightens() -> None:
    assert not ratchet({"a": 10, "b": 12}, 10, {"b": 12}, "split it")
    assert len(ratchet({"a": 11, "b": 13}, 10, {"b": 12}, "split it")) == 2
    assert "off the list" in ratchet({"b": 9}, 10, {"b": 12}, "split it")[0]


def test_files_are_short() -> None:
    sizes = {
        name_of(path): len(path.read_text(encoding="utf-8").splitlines())
        for path in tracked(".c", ".h", ".py", ".pyi")
        if name_of(path) not in GENERATED
    }
    wrong = ratchet(sizes, FILE_LINES_MAX, LONG_FILES, "split it by noun")
    assert not wrong, "\n".join(wrong)


def test_functions_are_short() -> None:
    sizes: dict[str, int] = {}
    for path in tracked(".c", ".h", ".py"):
        functions = python_functions(path) if path.suffix == ".py" else c_functions(path)
        for name, lines in functions:
            key = f"{name_of(path)}:{name}"
            sizes[key] = max(lines, sizes.get(key, 0))
    wrong = ratchet(sizes, FUNCTION_LINES_MAX, LONG_FUNCTIONS, "split it")
    assert not wrong, "\n".join(wrong)


def counter_lists() -> Iterator[tuple[Path, str, dict[str, str]]]:
    """Each list of counters in the core: its header, its text, and name and sentence of each."""
    for path in tracked(".h"):
        text = path.read_text(encoding="utf-8")
        for block in re.findall(r"#define ND_\w+_COUNTERS\(X\)((?:.*\\\n)+.*)", text):
            entries = re.findall(r"\bX\((\w+),\s*((?:\"[^\"]*\"[\s\\]*)+)\)", block)
            assert len(entries) == block.count("X("), f"{name_of(path)}: a counter has no text"
            sentences = {n: "".join(re.findall(r'"([^"]*)"', text)) for n, text in entries}
            yield path, block, sentences


def test_every_counter_is_documented() -> None:
    wrong, count = [], 0
    for path, _, sentences in counter_lists():
        count += len(sentences)
        for name, sentence in sentences.items():
            if not (sentence[:1].isupper() and sentence.endswith(".") and " " in sentence):
                wrong.append(f"{name_of(path)}: {name}: write a sentence, not {sentence!r}")
    assert count > 50, "no counters found: has their macro a new name?"
    assert not wrong, "\n".join(wrong)


def test_every_counter_counts() -> None:
    """A counter that nothing bumps is read as good news."""
    sources = {
        path: path.read_text(encoding="utf-8")
        for path in tracked(".c", ".h")
        if name_of(path).startswith("csrc/") and "/test/" not in name_of(path)
    }
    wrong = []
    for path, block, sentences in counter_lists():
        code = "\n".join(sources.values()).replace(block, "")
        used = set(re.findall(r"(?:->|\.|\bND_WIRE_|_counters, )(\w+)", code))
        for name in sentences:
            row = re.sub(r"_[1-7]$", "_0", name)  # Of a row, code names the first.
            if not {name, row, ROWS.get(name)} & used:
                wrong.append(f"{name_of(path)}: {name}: count it where it happens, or remove it")
    assert not wrong, "\n".join(wrong)


def test_nothing_is_left_for_later() -> None:
    """T2, in sources and documents."""
    # Spelled so that this file does not find itself.
    words = re.compile(r"\b(" + "|".join(["FIX" + "ME", "TO" + "DO", "X" + "XX"]) + r")\b")
    wrong = []
    for path in tracked():
        if path.suffix in {".png", ".ico", ".gz", ".npz", ".pcap", ".pcapng"}:
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if words.search(line) and "mkstemp" not in line and "X" * 6 not in line:
                wrong.append(f"{name_of(path)}:{number}: do it now, or file it: {line.strip()}")
    assert not wrong, "\n".join(wrong)


def test_a_clone_is_whole() -> None:
    """U8: nothing to fetch from other repositories before it builds."""
    assert not [name_of(path) for path in tracked() if path.name == ".gitmodules"]


def test_no_file_is_a_blob() -> None:
    wrong = [
        f"{name_of(path)}: {path.stat().st_size} bytes, at most {FILE_BYTES_MAX}"
        for path in tracked()
        if path.stat().st_size > FILE_BYTES_MAX and not name_of(path).startswith(DATA)
    ]
    assert not wrong, "\n".join(wrong)


def test_c_sources_name_their_licence_and_purpose() -> None:
    wrong = []
    for path in tracked(".c", ".h"):
        if name_of(path).startswith("bindings/core."):
            continue  # Parsed by cffi, which takes no licence line.
        first, second = [*path.read_text(encoding="utf-8").splitlines(), "", ""][:2]
        if "SPDX-License-Identifier: Apache-2.0" not in first:
            wrong.append(f"{name_of(path)}: the first line must be the SPDX line")
        elif not second.startswith("/*"):
            wrong.append(f"{name_of(path)}: the second line must begin to say what it is for")
    assert not wrong, "\n".join(wrong)


def test_no_path_of_the_machine_it_was_written_on() -> None:
    machine = re.compile(r"(?<![\w./])/(?:" + "|".join(["wo" + "rk", "ro" + "ot"]) + r")/")
    wrong = []
    for path in tracked():
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if machine.search(line):
                wrong.append(f"{name_of(path)}:{number}: {line.strip()}")
    assert not wrong, "\n".join(wrong)
