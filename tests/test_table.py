"""Tables line up and carry their units."""

from __future__ import annotations

from ndpstack._table import Column, render


def test_numbers_stand_right_and_words_left() -> None:
    columns = [Column("transport"), Column("FCT", "us", 1), Column("flows")]
    rows = [("ndp", 1234.56, 10), ("homa", 7.0, 1200), ("tcp", None, 3)]
    assert render(columns, rows, title="Result").splitlines() == [
        "Result",
        "transport  FCT [us]  flows",
        "---------  --------  -----",
        "ndp         1,234.6     10",
        "homa            7.0  1,200",
        "tcp               -      3",
    ]


def test_no_rows_leaves_the_header() -> None:
    assert render([Column("a", "B")], []).splitlines() == ["a [B]", "-----"]
