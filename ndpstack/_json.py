"""JSON as others read it: Python's module takes NaN and Infinity, which no other tool does."""

from __future__ import annotations

import json
import math


def refuse_constant(name: str) -> object:
    """For `parse_constant`: takes none of NaN, Infinity and -Infinity."""
    raise ValueError(f"{name} is Python's, not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is more than a float holds")  # It would be Infinity if written.
    return value


def loads(text: str | bytes | bytearray) -> object:
    """The value of a JSON text, all of which can be written as JSON again.

    Raises:
        ValueError: It is none.
        RecursionError: It is nested too deeply.
    """
    value: object = json.loads(text, parse_constant=refuse_constant, parse_float=_finite)
    return value
