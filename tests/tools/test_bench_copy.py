"""The bench of copies and leases, and that the threshold lies where it says."""

from __future__ import annotations

import bench_copy
import pytest
from timed import check_time

from ndpstack._lease import COPY_BYTES


def test_every_size_is_measured_both_ways() -> None:
    rows = bench_copy.measure(1)
    assert tuple(rows) == bench_copy.SIZES
    assert all(row.keys() == {"copied", "lent"} for row in rows.values())
    assert min(rows) < COPY_BYTES < max(rows)


@pytest.mark.timed
def test_what_is_copied_costs_less_than_a_lease_and_what_is_long_more() -> None:
    """T43: at sizes well below the threshold, and well above it."""
    rows = bench_copy.measure(9)
    check_time(rows[1024]["copied"], rows[1024]["lent"])
    check_time(rows[65_536]["lent"], rows[65_536]["copied"])
