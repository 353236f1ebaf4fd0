"""Parameters of calls: read as tables of the configuration are."""

from __future__ import annotations

from ndpstack.toml import Decoder, Problems
from switchd.control._server import CallError


def read_params(kind: type, params: object, method: str) -> object:
    """What a client sent, as that dataclass.

    Raises:
        CallError: With every mistake in it.
    """
    problems = Problems()
    found = Decoder(problems).read(kind, _listed(params))
    if problems.found:
        lines = [f"{'.'.join(item.keys) or method}: {item.text}" for item in problems.found]
        raise CallError("invalid", "; ".join(lines))
    return found


def _listed(params: object) -> object:
    """Params as TOML would have them: what was a tuple is a list."""
    assert isinstance(params, dict)
    return {key: list(item) if isinstance(item, tuple) else item for key, item in params.items()}
