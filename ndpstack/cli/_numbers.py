"""Numbers on the command line, as types of arguments: mistakes are named before anything runs."""

from __future__ import annotations

import argparse
import math

SECONDS_MAX = 1e9
"""30 years: what is longer overflows the kernel's clocks."""

SERVER_PORT_MAX = 0x7FFF
"""Of Homa; ports above are those of clients."""


def _seconds(text: str) -> float:
    """Seconds, NaN where there are none."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if value <= SECONDS_MAX else math.nan


def seconds(text: str) -> float:
    """How long something takes, or may take."""
    value = _seconds(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of seconds above 0, up to {SECONDS_MAX:,.0f}"
        )
    return value


def pause(text: str) -> float:
    """Seconds between two of something; 0: none."""
    value = _seconds(text)
    if not value >= 0:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of seconds from 0 to {SECONDS_MAX:,.0f}"
        )
    return value


def count(text: str) -> int:
    """How often."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no count above 0")
    return int(text)


def size(text: str) -> int:
    """Bytes."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of bytes from 0")
    return int(text)


def server_port(text: str) -> int:
    """A port that a Homa server can have."""
    if not text.isdecimal() or not 0 < int(text) <= SERVER_PORT_MAX:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no port of a server, from 1 to {SERVER_PORT_MAX}"
        )
    return int(text)
