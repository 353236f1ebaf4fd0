"""Quantities are exact, and a number without its unit is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from ndpstack.toml import (
    Limit,
    UnitError,
    format_rate,
    format_size,
    format_time,
    parse_limit,
    parse_per_second,
    parse_probability,
    parse_rate,
    parse_share,
    parse_size,
    parse_time,
)

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("text", "size"),
    [("1500B", 1500), ("9KB", 9000), ("64KiB", 65536), ("1.5 MB", 1_500_000), ("270_000B", 270000)],
)
def test_sizes_are_decimal_unless_they_say_binary(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "time"),
    [("1us", 10**6), ("0.2us", 200_000), ("7.2us", 7_200_000), ("30ms", 3 * 10**10)],
)
def test_times_are_exact_picoseconds(text: str, time: int) -> None:
    assert parse_time(text) == time


def test_zero_needs_no_unit() -> None:
    assert parse_time(0) == 0


def test_rates() -> None:
    assert parse_rate("10Gbit") == 10**10
    assert parse_rate("950Mbit/s") == 950 * 10**6


def test_shares() -> None:
    assert parse_share("80%") == 800_000
    assert parse_share(0.15) == 150_000
    with pytest.raises(UnitError, match="between 0% and 100%"):
        parse_share("120%")


def test_probabilities_may_be_tiny() -> None:
    assert parse_probability("0.1%") == Fraction(1, 1000)
    assert parse_probability("1e-9") == Fraction(1, 10**9)


def test_frequencies() -> None:
    assert parse_per_second("2500/s") == pytest.approx(2500)
    assert parse_per_second("5.33M/s") == pytest.approx(5.33e6)
    with pytest.raises(UnitError, match="negative"):
        parse_per_second("-5/s")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "nan", "1e999999999%"])
def test_what_is_no_finite_number_is_no_share_and_no_probability(value: object) -> None:
    for parse in (parse_share, parse_probability):
        with pytest.raises(UnitError):
            parse(value)


def test_a_number_that_would_take_minutes_to_expand_is_refused_at_once() -> None:
    for number in ("1e999999999", "9" * 5000, "0." + "0" * 5000 + "1"):
        with pytest.raises(UnitError, match="is not a time"):
            parse_time(f"{number}s")


def test_commas_part_thousands_and_nothing_else() -> None:
    assert parse_size("1,500,000B") == 1_500_000
    with pytest.raises(UnitError):
        parse_time("1,5us")


def test_limits_are_packets_or_bytes_or_both() -> None:
    assert parse_limit("8pkt") == Limit(packets=8)
    assert parse_limit("72KB") == Limit(bytes=72_000)
    assert parse_limit(["8pkt", "72KB"]) == Limit(bytes=72_000, packets=8)


@pytest.mark.parametrize("value", ["9", 9000, True, None, "9 Kb", "-1KB", "KB", ""])
def test_what_is_no_size_is_refused(value: object) -> None:
    with pytest.raises(UnitError):
        parse_size(value)


def test_the_refusal_names_the_units() -> None:
    with pytest.raises(UnitError, match=r"'Kb' is no unit of a size; use one of B, KB"):
        parse_size("9Kb")


def test_quantities_are_written_in_the_unit_that_reads_best() -> None:
    assert format_time(7_200_000) == "7.2us"
    assert format_size(270_000) == "270KB"
    assert format_rate(10**10) == "10Gbit"


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_rate, "5e-30Gbit"),
        (parse_rate, "0.4bit"),
        (parse_size, "0.2B"),
        (parse_time, "0.1ps"),
    ],
)
def test_what_rounds_to_nothing_is_refused(parse: Callable[[object], int], text: str) -> None:
    with pytest.raises(UnitError, match="less than the least"):
        parse(text)
    assert parse("0" + text.lstrip("0123456789.e-")) == 0
