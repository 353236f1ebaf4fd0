"""What the figures of a report show."""

from __future__ import annotations

import numpy as np

from ndpstack.report._plots import bin_rates


def test_bins_become_rates_as_far_as_the_run_went() -> None:
    series = np.array([[125, 250, 0, 0]], np.uint64)
    assert bin_rates(series, 1_000_000, 2_500_000).tolist() == [[1.0, 2.0, 0.0]]


def test_what_came_after_the_last_bin_is_no_rate() -> None:
    series = np.array([[125, 250, 0, 99_999]], np.uint64)
    assert bin_rates(series, 1_000_000, 4_000_000).shape == (1, 4)
    assert bin_rates(series, 1_000_000, 9_000_000).tolist() == [[1.0, 2.0, 0.0]]


def test_what_arrives_as_a_bin_begins_and_the_run_ends_is_shown() -> None:
    series = np.array([[125, 0, 250, 0]], np.uint64)
    assert bin_rates(series, 1_000_000, 2_000_000).tolist() == [[1.0, 0.0, 2.0]]
    series = np.array([[125, 0, 0, 0]], np.uint64)
    assert bin_rates(series, 1_000_000, 2_000_000).tolist() == [[1.0, 0.0]]
