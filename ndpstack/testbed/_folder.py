"""The folder of a testbed that has none of its own, and those that dead processes left behind.

A lock on the folder says that its process lives: the kernel lets go of it however that ends.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX: Final = "ndpstack-testbed-"


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that goes when the block ends."""
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name:
        descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            yield Path(name)
        finally:
            os.close(descriptor)


def left_folders() -> list[Path]:
    """Folders of this user whose processes died."""
    return [
        each for each in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*")) if _is_left(each)
    ]


def _is_left(folder: Path) -> bool:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:  # It went meanwhile, or is another user's.
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(descriptor).st_uid == os.geteuid()
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
