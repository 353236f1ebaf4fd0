"""The folder that --out names."""

from __future__ import annotations

from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from ndpstack._errors import UserError

if TYPE_CHECKING:
    from pathlib import Path


def make_folder(folder: Path) -> None:
    """Makes it before anything runs: whether it can be is found out then, and not after hours.

    Raises:
        UserError: It cannot be made, or no file in it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{folder}: cannot be made: {error.strerror}; choose another folder with --out"
        ) from None
    try:
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(
            f"{folder}: cannot write there: {error.strerror}; choose another folder with --out"
        ) from None
