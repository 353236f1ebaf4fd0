"""Links are up a while after they are set up: the kernel may take a second to see a carrier."""

from __future__ import annotations

import time

from ndpstack import _netns
from ndpstack._netlink import Netlink

SECONDS_MAX = 20


def wait_for_carrier(namespace: str, *names: str) -> None:
    """Waits until interfaces of a namespace carry frames."""

    def wait() -> None:
        deadline = time.monotonic() + SECONDS_MAX
        with Netlink() as netlink:
            while not set(names) <= {link.name for link in netlink.links() if link.up}:
                assert time.monotonic() < deadline, f"{names}: no carrier"
                time.sleep(0.005)

    _netns.call_inside(namespace, wait)
