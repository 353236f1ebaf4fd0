"""What a start imports: services must be back at once after they were killed, and tools answer.

Modules are counted, as a time would be the machine's. A limit may be raised for what a start needs;
what it does not need is imported where it is used.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("pyroute2", "numpy", "matplotlib", "scapy", "rich", "shtab", "prometheus_client", "uvloop")
"""Libraries that take long, and that no start needs before it is up."""

PROGRAM = """
import sys
before = set(sys.modules)
import {module}
print(*sorted(set(sys.modules) - before))
"""


def imported(module: str) -> list[str]:
    """All modules that the import of one brings along."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(module=module)],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("module", "most"),
    [
        ("ndpstack", 35),
        ("ndpstack._stack", 75),
        ("ndpstack.cli._host", 115),
        ("switchd._main", 160),
        ("switchd.daemon", 245),
        ("switchd.switchctl", 110),
    ],
)
def test_a_start_imports_little(module: str, most: int) -> None:
    found = imported(module)
    heavy = [name for name in found if name.partition(".")[0] in HEAVY]
    assert not heavy, f"{module} imports {', '.join(heavy)}: import it where it is used"
    assert len(found) <= most, f"{module} imports {len(found)} modules: {' '.join(found)}"


def test_what_moves_packets_waits_for_no_event_loop() -> None:
    assert not {"asyncio", "ssl"} & set(imported("switchd._main"))
    assert not {"asyncio", "ssl"} & set(imported("ndpstack.cli._host"))
