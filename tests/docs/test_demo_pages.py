"""The demo's numbers in README and docs: of one run, and written by a tool."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from make_demo import BEGIN, END, page_block, readme_block, rewritten

ROOT = Path(__file__).resolve().parents[2]
README, PAGE = ROOT / "README.md", ROOT / "docs" / "how-to" / "demo.md"

INCAST = {
    "optimum [ms]": 6.84,
    "NDP p50 [ms]": 7.2,
    "NDP p90 [ms]": 7.5,
    "NDP simulated p50 [ms]": 6.5,
    "NDP simulated p90 [ms]": 6.5,
    "TCP p50 [ms]": 6.4,
    "TCP p90 [ms]": 6.7,
    "TCP, 16 packets p50 [ms]": 6.4,
    "TCP, 16 packets p90 [ms]": 1211.6,
    "NDP / optimum": 1.05,
}

DOCUMENT = {
    "on": "netns",
    "machine": "2 CPUs, load 0.5",
    "seconds": 140,
    "tables": {
        "(a), (c)": [{"reply [KB]": size, **INCAST} for size in (10, 30, 100, 300, 1000)],
        "(b)": [
            {"requests": "Homa", "short p50": 1.74, "short p99": 24.2},
            {"requests": "kernel TCP", "short p50": 37.0, "short p99": 6298.4},
        ],
        "(d)": [{"flows": 48, "ended": 48, "lost": 0, "corrupted": 0}],
    },
}


def check_same_run(readme: str, page: str) -> None:
    """What README shows is a part of what the page shows."""
    rows = re.findall(r"^\| (\d+ [KM]B) \| (.*) \|$", readme, re.MULTILINE)
    assert [size for size, _ in rows] == ["10 KB", "100 KB", "1 MB"]
    for size, cells in rows:
        (whole,) = re.findall(rf"^\| {size} \| (.*) \|$", page, re.MULTILINE)
        optimum, ndp, _, simulated, _, _, _, shallow = whole.split(" | ")
        assert cells.split(" | ") == [optimum, ndp, simulated, shallow]
    for name in ("Homa", "kernel TCP"):
        (slow,) = re.findall(rf"^\| {name} \| .* \| (\S+) \|$", page, re.MULTILINE)
        assert re.search(rf"(from|to)\s{slow}\b", readme), slow


def test_readme_and_page_are_of_one_run() -> None:
    check_same_run(README.read_text(), PAGE.read_text())


def test_a_run_is_written_into_both() -> None:
    readme = rewritten(README.read_text(), readme_block(DOCUMENT))
    page = rewritten(PAGE.read_text(), page_block(DOCUMENT))
    check_same_run(readme, page)
    assert "| 1 MB | 6.8 | 7.2 | 6.5 | 1211.6 |" in readme
    assert "A run of 140 s on a machine with 2 CPUs, load 0.5" in page
    assert "48 of 48 messages arrived" in page
    assert rewritten(page, page_block(DOCUMENT)) == page, "a second time changes nothing"
    for before, after in ((README.read_text(), readme), (PAGE.read_text(), page)):
        assert after.partition(BEGIN)[0] == before.partition(BEGIN)[0]
        assert after.partition(END)[2] == before.partition(END)[2]


def test_a_run_over_memory_is_not_written() -> None:
    with pytest.raises(ValueError, match="run it as root"):
        page_block({**DOCUMENT, "on": "memory"})
    with pytest.raises(ValueError, match="no block"):
        rewritten("text", "block")
