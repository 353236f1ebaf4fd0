"""Quantities as people write them ("10Gbit", "9KB", "1us", "8pkt", "80%") and as integers.

Everything that decides a run is an integer: bits per second, bytes, picoseconds, parts per million.
A number without its unit is refused where there is more than one reading.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import NewType, TypeGuard

Bytes = NewType("Bytes", int)
"""A size in bytes."""
BitRate = NewType("BitRate", int)
"""A rate in bits per second."""
Picoseconds = NewType("Picoseconds", int)
"""A time in picoseconds."""
PartsPerMillion = NewType("PartsPerMillion", int)
"""A share, 1,000,000 being all."""
PerSecond = NewType("PerSecond", float)
"""How often a second something happens."""

# As many digits as any quantity has: what is longer costs time and memory before it is refused.
_NUMBER = re.compile(
    r"\s*([+-]?[0-9]{1,20}(?:[_,][0-9]{3}){0,6}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,2})?)"
    r"\s*([^\s0-9]\S{0,9})?\s*"
)

_SIZES = {
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}
_RATES = {"bit": 1, "Kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9, "Tbit": 10**12}
_RATES |= {f"{name}/s": factor for name, factor in _RATES.items()}
_TIMES = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12, "min": 60 * 10**12}
_PER_SECOND = {"/s": 1, "K/s": 10**3, "M/s": 10**6, "/ms": 10**3, "/us": 10**6}


_WHOLE_DIGITS_MAX = 100
"""Fewer than Python converts: beyond 4300 digits it raises an error of its own."""


class UnitError(ValueError):
    """The text is no quantity of the wanted kind; says which would be."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit in bytes, in packets, or both; 0 means none of that kind."""

    bytes: int = 0
    """Bytes on the wire."""
    packets: int = 0
    """Packets of any size."""


def _scale(value: object, units: dict[str, int], kind: str, example: str) -> Fraction:
    """The number times its unit, exactly."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UnitError(f"{value!r} is not {kind}; write it like {example!r}")
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        if value == 0:
            return Fraction(0)
        raise UnitError(f"{value!r} is not {kind}; write number and unit, like {example!r}")
    number, unit = match[1], match[2] or ""
    if unit not in units:
        known = ", ".join(unit for unit in units if unit)
        hint = f"use one of {known}" if known else f"write it like {example!r}"
        wrong = f": {unit!r} is no unit of {kind}" if unit else " has no unit"
        raise UnitError(f"{value!r}{wrong}; {hint}")
    return Fraction(number.replace("_", "").replace(",", "")) * units[unit]


def parse_whole(text: str, most: int) -> int | None:
    """The number whose decimal digits the text is, up to `most`; None when it is none."""
    if not text.isdecimal() or len(text) > _WHOLE_DIGITS_MAX:
        return None
    number = int(text)
    return number if number <= most else None


def _is_number(value: object) -> TypeGuard[int | float]:
    """Whether the value is a number already; TOML knows nan and inf, which are none."""
    return type(value) is int or (isinstance(value, float) and math.isfinite(value))


def _integer(value: object, units: dict[str, int], kind: str, example: str) -> int:
    exact = _scale(value, units, kind, example)
    if exact < 0:
        raise UnitError(f"{value!r} is negative; {kind} is not")
    rounded = round(exact)
    if exact and not rounded:  # 0 often means something else, such as no limit.
        raise UnitError(f"{value!r} is less than the least that counts; write 0 if that is meant")
    return rounded


def parse_size(value: object) -> Bytes:
    """A size: "1500B", "9KB" (9,000), "64KiB" (65,536)."""
    return Bytes(_integer(value, _SIZES, "a size", "9KB"))


def parse_rate(value: object) -> BitRate:
    """A rate: "10Gbit", "950Mbit/s"."""
    return BitRate(_integer(value, _RATES, "a rate", "10Gbit"))


def parse_time(value: object) -> Picoseconds:
    """A time: "1us", "30ms", "1.5us"."""
    return Picoseconds(_integer(value, _TIMES, "a time", "1us"))


def parse_share(value: object) -> PartsPerMillion:
    """A share: "80%", or a number from 0 to 1."""
    if _is_number(value):
        exact = Fraction(value) * 10**6
    else:
        exact = _scale(value, {"%": 10**4, "ppm": 1}, "a share", "80%")
    if not 0 <= exact <= 10**6:
        raise UnitError(f"{value!r} is not a share; it lies between 0% and 100%")
    return PartsPerMillion(round(exact))


def parse_per_second(value: object) -> PerSecond:
    """A frequency: "2500/s", "5.3M/s"."""
    exact = _scale(value, _PER_SECOND, "a frequency", "2500/s")
    if exact < 0:
        raise UnitError(f"{value!r} is negative; a frequency is not")
    return PerSecond(float(exact))


def parse_probability(value: object) -> Fraction:
    """A probability, however small: "0.1%", "1e-9"."""
    if isinstance(value, str) and value.rstrip().endswith("%"):
        exact = _scale(value, {"%": 1}, "a probability", "0.1%") / 100
    elif isinstance(value, str):
        exact = _scale(value, {"": 1}, "a probability", "1e-6")
    elif _is_number(value):
        exact = Fraction(value)
    else:
        raise UnitError(f"{value!r} is not a probability; write it like '0.1%' or 1e-6")
    if not 0 <= exact <= 1:
        raise UnitError(f"{value!r} is not a probability; it lies between 0 and 1")
    return exact


def parse_limit(value: object) -> Limit:
    """A limit: "8pkt", "72KB", or both as ["8pkt", "72KB"]."""
    parts = value if isinstance(value, list) else [value]
    limit = Limit()
    for part in parts:
        if isinstance(part, str) and part.rstrip().endswith("pkt"):
            packets = _integer(part, {"pkt": 1}, "a limit", "8pkt")
            limit = Limit(bytes=limit.bytes, packets=packets)
        else:
            limit = Limit(bytes=parse_size(part), packets=limit.packets)
    return limit


def format_time(picoseconds: int) -> str:
    """A time in the unit that reads best."""
    for unit in ("s", "ms", "us", "ns"):
        if picoseconds >= _TIMES[unit]:
            return f"{picoseconds / _TIMES[unit]:.6g}{unit}"
    return f"{picoseconds}ps"


def format_size(size: int) -> str:
    """A size in the unit that reads best."""
    for unit in ("GB", "MB", "KB"):
        if size >= _SIZES[unit]:
            return f"{size / _SIZES[unit]:.4g}{unit}"
    return f"{size}B"


def format_rate(bits_per_second: int) -> str:
    """A rate in the unit that reads best."""
    for unit in ("Tbit", "Gbit", "Mbit", "Kbit"):
        if bits_per_second >= _RATES[unit]:
            return f"{bits_per_second / _RATES[unit]:.6g}{unit}"
    return f"{bits_per_second}bit"


def format_share(parts_per_million: int) -> str:
    """A share in percent."""
    return f"{parts_per_million / 10_000:.6g}%"


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things in words: "1 port", "2 ports"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
