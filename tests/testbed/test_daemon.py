"""The switchd of a fabric: where it cannot be started, that is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ndpstack.testbed import TestbedError
from ndpstack.testbed._daemon import Switchd

if TYPE_CHECKING:
    from pathlib import Path

    from ndpstack.toml import Table

NO_SETTINGS: Table = {}


@pytest.mark.parametrize("characters", [100, 200])
def test_a_folder_too_deep_for_sockets_is_refused(tmp_path: Path, characters: int) -> None:
    """Of 107 characters at most is the path of a socket; a TMPDIR of a job may have more."""
    folder = tmp_path / ("d" * characters)
    folder.mkdir()
    with pytest.raises(TestbedError, match="set TMPDIR to a shorter one"):
        Switchd(folder, NO_SETTINGS)
    assert not list(folder.iterdir())
