"""Network namespaces of tests: one for each, gone afterwards."""

from __future__ import annotations

import os
import secrets
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ndpstack import _netns

if TYPE_CHECKING:
    from collections.abc import Iterator


class Namespace:
    """A network namespace for one test."""

    def __init__(self) -> None:
        self.name = f"ndst{os.getpid()}{secrets.token_hex(2)}"
        self._before = -1

    def __enter__(self) -> None:
        """Puts this thread into it."""
        self._before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        _netns.enter(self.name)

    def __exit__(self, *_: object) -> None:
        _netns.enter(f"/proc/self/fd/{self._before}")
        os.close(self._before)

    def ip(self, *words: str) -> str:
        command = ["ip", "-n", self.name, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def make_anew(self) -> None:
        """Gives the name to another namespace."""
        for what in ("del", "add"):
            subprocess.run(["ip", "netns", what, self.name], check=True, capture_output=True)

    def batch(self, lines: list[str]) -> None:
        command = ["ip", "-n", self.name, "-batch", "-"]
        subprocess.run(command, input="\n".join(lines), check=True, capture_output=True, text=True)


@contextmanager
def namespace_of_its_own() -> Iterator[Namespace]:
    """Makes a namespace, and removes it however the test ends."""
    made = Namespace()
    subprocess.run(["ip", "netns", "add", made.name], check=True, capture_output=True)
    try:
        yield made
    finally:
        subprocess.run(["ip", "netns", "del", made.name], check=True, capture_output=True)
