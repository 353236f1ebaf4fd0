"""The demo's tables in README.md and docs/how-to/demo.md, from what one run of it printed.

    ndpstack demo --json > build/demo.json
    python docs/_tools/make_demo.py build/demo.json

`make demo-docs` does both. What stands between the marks is written anew, all else stays.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- written by make demo-docs -->", "<!-- to here -->"

README_SIZES = (10, 100, 1000)
"""Replies [KB] that the README shows."""


def rewritten(text: str, block: str) -> str:
    """The page with another block between the marks."""
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page has no block from {BEGIN} to {END}")
    return f"{before}{BEGIN}\n{block.strip()}\n{END}{after}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def size_text(kilobytes: object) -> str:
    """As pages write sizes of replies."""
    number = int(cast("int", kilobytes))
    return f"{number // 1000} MB" if number >= 1000 else f"{number} KB"


def _number(row: Mapping[str, object], name: str, form: str = ".1f") -> str:
    return format(cast("float", row[name]), form)


def _tables(document: Mapping[str, object]) -> list[list[Mapping[str, object]]]:
    """Incasts, requests, the cable that breaks."""
    tables = list(cast("Mapping[str, list[Mapping[str, object]]]", document["tables"]).values())
    if document["on"] != "netns" or len(tables) != 3:
        raise ValueError("the pages show the demo in namespaces: run it as root")
    return tables


def page_block(document: Mapping[str, object]) -> str:
    """What docs/how-to/demo.md shows."""
    incast, requests, (failure,) = _tables(document)
    columns = (
        "optimum [ms]",
        *(
            f"{name} {part} [ms]"
            for name in ("NDP", "NDP simulated", "TCP", "TCP, 16 packets")
            for part in ("p50", "p90")
            if (name, part) != ("NDP simulated", "p90")
        ),
    )
    header = ("reply", *(name.removesuffix(" [ms]") for name in columns))
    rows = [
        [size_text(row["reply [KB]"]), *(_number(row, name) for name in columns)] for row in incast
    ]
    slow = [
        [str(row["requests"]), _number(row, "short p50"), _number(row, "short p99", ",.0f")]
        for row in requests
    ]
    return f"""
A run of {document["seconds"]} s on a machine with {document["machine"]}; times in ms:

{table(header, rows)}

{table(("requests of W4", "short p50", "short p99"), slow)}

With the cable down {failure["ended"]} of {failure["flows"]} messages arrived, {failure["lost"]}
lost, {failure["corrupted"]} changed.
"""


def readme_block(document: Mapping[str, object]) -> str:
    """What README.md shows of the same run."""
    incast, (homa, tcp), _ = _tables(document)
    columns = {
        "optimum": "optimum [ms]",
        "NDP": "NDP p50 [ms]",
        "NDP, simulated": "NDP simulated p50 [ms]",
        "kernel TCP with 16-packet buffers, p90": "TCP, 16 packets p90 [ms]",
    }
    rows = [
        [size_text(row["reply [KB]"]), *(_number(row, name) for name in columns.values())]
        for row in incast
        if row["reply [KB]"] in README_SIZES
    ]
    return f"""
{table(("reply", *columns), rows)}

and beside kernel TCP the p99 slowdown of short requests at 80 % load falls from
{_number(tcp, "short p99", ",.0f")} to {_number(homa, "short p99", ",.0f")} with Homa.
"""


def main() -> int:
    """Rewrites both pages."""
    document = json.loads(Path(sys.argv[1]).read_text())
    pages = {"README.md": readme_block, "docs/how-to/demo.md": page_block}
    for name, block in pages.items():
        path = ROOT / name
        path.write_text(rewritten(path.read_text(), block(document)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
