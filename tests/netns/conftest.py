"""Tests that need network namespaces; each skips with its reason where it cannot run."""

from __future__ import annotations

import os
import secrets
import subprocess
from typing import TYPE_CHECKING

import pytest
from carrier import wait_for_carrier

from ndpstack.testbed.pytest_plugin import lab as lab

if TYPE_CHECKING:
    from collections.abc import Iterator


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture
def link() -> Iterator[tuple[str, str]]:
    """Two namespaces with a veth pair `e0` and addresses 10.9.0.1 and 10.9.0.2 between them."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    names = [f"nds-{secrets.token_hex(3)}-{end}" for end in (1, 2)]
    try:
        for name in names:
            ip("netns", "add", name)
        ip("-n", names[0], "link", "add", "e0", "type", "veth", "peer", "name", "e0", "netns",
           names[1])  # fmt: skip
        for number, name in enumerate(names, 1):
            ip("-n", name, "address", "add", f"10.9.0.{number}/24", "dev", "e0")
            ip("-n", name, "link", "set", "e0", "up")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no namespaces here: {error.stderr.decode().strip()}")
    try:
        for name in names:
            wait_for_carrier(name, "e0")
        yield names[0], names[1]
    finally:
        for name in names:
            ip("netns", "delete", name)
