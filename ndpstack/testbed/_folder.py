"""The folder of a testbed that has none of its own, and those that dead processes left behind.

A lock on the folder says that its process lives: the kernel lets go of it however that ends.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
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
    folder, descriptor = _make()
    try:
        yield folder
    finally:
        try:
            shutil.rmtree(folder)
        finally:
            os.close(descriptor)  # Not before: half of it would look left behind.


def left_folders() -> list[Path]:
    """Folders of this user whose processes died."""
    return [
        each for each in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*")) if _is_left(each)
    ]


def remove_folder(folder: Path) -> None:
    """Removes one of left_folders().

    Raises:
        OSError: It cannot be removed. EBUSY: its process lives, and had only begun.
    """
    with _claimed(folder) as is_left:
        if not is_left:
            raise OSError(errno.EBUSY, "its process lives")
        shutil.rmtree(folder)


def _make() -> tuple[Path, int]:
    """A new folder, and the descriptor that has its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        try:
            descriptor = _open(folder)
        except FileNotFoundError:
            continue  # Without a lock it looked left behind, and was removed.
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        if folder.exists():
            return folder, descriptor
        os.close(descriptor)


def _open(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


@contextmanager
def _claimed(folder: Path) -> Iterator[bool]:
    """True where it was left behind; its process, had it only begun, waits meanwhile."""
    descriptor = _open(folder)
    try:
        is_left = os.fstat(descriptor).st_uid == os.geteuid()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            is_left = False
        yield is_left
    finally:
        os.close(descriptor)


def _is_left(folder: Path) -> bool:
    try:
        with _claimed(folder) as is_left:
            return is_left
    except OSError:  # It went meanwhile, or is another user's.
        return False
