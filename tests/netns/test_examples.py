"""The example programs over real links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from example import EXAMPLES, printed, shown

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("backend", ["xdp", "packet"])
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_over_a_link(path: Path, backend: str, link: tuple[str, str]) -> None:
    """T9: only the interface is named."""
    configs = [{"name": "e0", "backend": backend, "netns": name} for name in link]
    assert printed(path, configs) == shown(path)
