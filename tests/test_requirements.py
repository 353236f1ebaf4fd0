"""Every requirement that a list in tests/requirements/ demands is named by at least one test.

`python tests/test_requirements.py` takes off the pending lists what tests have come to name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LISTS = sorted((ROOT / "tests" / "requirements").glob("*.txt"))
C_TESTS = sorted((ROOT / "csrc" / "test").glob("test_*.c"))
CASE = re.compile(r"^(?:/\*(?:[^*]|\*(?!/))*\*/\n)?TEST\(\w+\)\n\{.*?^\}$", re.M | re.S)
"""A test in C, with the comment right above it."""
STRAY = re.compile(r"^(/\*(?:[^*]|\*(?!/))*\*/)\n(?=/\*)", re.M)
"""A comment that stands above another one: its test has gone elsewhere."""
ID = re.compile(r"(?<![\w#.-])(?:[RE]-[A-Z]+\d*(?:-?[A-Z0-9]+)*|(?:HM|GH)#\d+|[TUX]\d+)(?![\w-])")


@dataclass(frozen=True)
class Requirements:
    """One list: what is demanded, and what of it no test names yet."""

    demanded: frozenset[str]
    pending: frozenset[str]


def read_list(text: str) -> Requirements:
    """Parses a list: ids separated by white space, `#` comments, `pending:` begins the rest."""
    # An id may hold a number sign (HM#4); a comment begins with one at the start of a line.
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    demanded, _, pending = "\n".join(lines).partition("pending:")
    return Requirements(frozenset(demanded.split()), frozenset(pending.split()))


def named(text: str) -> set[str]:
    """Ids that a test's text names."""
    return set(ID.findall(text))


def named_in_c(text: str) -> set[str]:
    """Ids that tests name in the comment above them or in their body; nothing else counts."""
    return {name for case in CASE.findall(text) for name in named(case)}


def covered() -> set[str]:
    """Ids named by any test of the tree."""
    ids: set[str] = set()
    for path in C_TESTS:
        ids |= named_in_c(path.read_text(encoding="utf-8"))
    for path in (ROOT / "csrc" / "test" / "pkt").glob("*.pkt"):
        ids |= named(path.read_text(encoding="utf-8"))
    for path in (ROOT / "tests").rglob("*.py"):
        if path.name != Path(__file__).name:
            ids |= named(path.read_text(encoding="utf-8"))
    return ids


def test_ids_are_recognised_in_comments() -> None:
    text = "/* R-NSW-04, E-N02: HM#4 (T1). R-H31-1; R-B-CP, X15 R-DCT-1: MT1 T1x pre-R-PQ-1 */"
    assert named(text) == {
        "R-NSW-04", "E-N02", "HM#4", "T1", "R-H31-1", "R-B-CP", "X15", "R-DCT-1",
    }  # fmt: skip
    assert read_list("# no\nT1 HM#4\n\npending:\nT1\n") == Requirements(
        frozenset({"T1", "HM#4"}), frozenset({"T1"})
    )


def test_an_id_in_c_counts_where_a_test_follows() -> None:
    text = "/* T1 */\n/* T2 */\nTEST(a__b)\n{\n\tCHECK(1); /* T3 */\n}\n\n/* T4 */\nint x;\n"
    assert named_in_c(text) == {"T2", "T3"}
    assert STRAY.findall(text) == ["/* T1 */"]


@pytest.mark.parametrize("path", C_TESTS, ids=lambda path: path.stem)
def test_no_comment_with_an_id_has_lost_its_test(path: Path) -> None:
    stray = [each for each in STRAY.findall(path.read_text(encoding="utf-8")) if named(each)]
    assert not stray, f"{path.name}: {stray}: take them to their tests"


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_every_requirement_is_named_by_a_test(path: Path) -> None:
    requirements = read_list(path.read_text(encoding="utf-8"))
    ids = covered()
    missing = requirements.demanded - requirements.pending - ids
    assert not missing, f"no test names {sorted(missing)}: name each above the test that proves it"
    stray = requirements.pending - requirements.demanded
    assert not stray, f"{path.name}: pending ids that nothing demands: {sorted(stray)}"
    done = requirements.pending & ids
    assert not done, f"{path.name}: run tests/test_requirements.py, which takes off {sorted(done)}"
    unknown = {name for name in requirements.demanded if not ID.fullmatch(name)}
    assert not unknown, f"{path.name}: not an id: {sorted(unknown)}"


def shrink(path: Path) -> None:
    """Rewrites a list without the pending ids that tests name."""
    text = path.read_text(encoding="utf-8")
    pending = sorted(read_list(text).pending - covered())
    rows = [" ".join(pending[i : i + 10]) for i in range(0, len(pending), 10)]
    head = text.partition("pending:")[0]
    path.write_text("\n".join([f"{head}pending:", *rows]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for each in LISTS:
        shrink(each)
