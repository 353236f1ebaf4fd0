"""What processes do that tests spawn: they import it."""

from __future__ import annotations

import ndpstack


def ask(link: str, port: int) -> bytes:
    """The reply to a request over a memory link, by a stack of this process's own."""
    config = ndpstack.StackConfig(name=link, backend="memory", address="10.0.0.2")
    with ndpstack.Stack(config) as stack, ndpstack.HomaSocket(stack) as client:
        return bytes(client.request(("10.0.0.1", port), b"hello", timeout=20))
