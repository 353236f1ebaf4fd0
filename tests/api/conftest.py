"""Two hosts in one process, which must end as sound as they began."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import ndpstack

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def pair() -> Iterator[tuple[ndpstack.Stack, ndpstack.Stack]]:
    """A server's and a client's stack; no invariant of the engines may be broken in the end."""
    with ndpstack.memory_pair() as (server, client):
        yield server, client
        assert server.audit() is None
        assert client.audit() is None
