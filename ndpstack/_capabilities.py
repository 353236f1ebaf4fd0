"""Capabilities of this process by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

BITS: Final = {
    "CAP_NET_ADMIN": 12,
    "CAP_NET_RAW": 13,
    "CAP_IPC_LOCK": 14,
    "CAP_SYS_ADMIN": 21,
    "CAP_BPF": 39,
}
"""As the kernel numbers them."""


def effective() -> int:
    """The bits of CapEff of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16)
    return 0


def missing(held: int, names: Iterable[str]) -> list[str]:
    """Those of the names whose bits are not held."""
    return [name for name in names if not held >> BITS[name] & 1]
