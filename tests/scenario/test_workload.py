"""The shipped distributions are the published ones (requirements, section 5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ndpstack._errors import UserError
from ndpstack.scenario import load_workload, pareto, workload_names

PUBLISHED = {
    # name: (mean, share below 1000 B, share below 100 KB)
    "w1": (187.5, 0.965, 1.0),
    "w2": (440.8, 0.953, 1.0),
    "w3": (2927, 0.858, 0.996),
    "w4": (127_797, 0.604, 0.887),
    "w5": (2.52e6, 0.0, 0.544),
    "web-search": (1.67e6, None, 0.544),
    "data-mining": (7.47e6, None, 0.824),
    "imc10": (195e3, None, 0.824),
    "ali-storage": (40.9e3, None, 0.95),
    "solar": (39.4e3, None, 0.96),
    "hadoop-2015": (122e3, None, 0.90),
    "google-rpc-2008": (3.0e3, None, 0.996),
    "facebook-web": (91e3, None, 0.92),
    "facebook-cache": (610e3, None, 0.60),
    "facebook-hadoop": (569e3, None, 0.88),
}


def test_every_shipped_workload_is_checked_here() -> None:
    assert set(workload_names()) == set(PUBLISHED)


@pytest.mark.parametrize("name", PUBLISHED)
def test_mean_and_shares_are_the_published_ones(name: str) -> None:
    mean, small, below_100k = PUBLISHED[name]
    workload = load_workload(name)
    assert workload.mean == pytest.approx(mean, rel=0.015)
    if small is not None:
        assert workload.share_below(1000) == pytest.approx(small, abs=0.002)
    assert below_100k is not None
    assert workload.share_below(100_000) == pytest.approx(below_100k, abs=0.03)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_workload_names_its_source(name: str) -> None:
    readme = (Path(__file__).parents[2] / "ndpstack/data/workloads/README.md").read_text()
    assert len(load_workload(name).source) > 10
    assert f"| {name} |" in readme


def test_one_packet_flows_of_data_mining_are_one_size() -> None:
    """E-P: the list has half of its flows at one packet: a jump, not a slope from 0."""
    assert load_workload("data-mining").share_below(1460) == 0.0
    assert load_workload("data-mining").share_below(1461) == pytest.approx(0.5, abs=0.001)


def test_pareto_has_hulls_minimum_and_is_bounded() -> None:
    """HULL: shape 1.05, mean 100 KB, minimum 4762 B, ~95 % of the flows below 100 KB."""
    workload = pareto(1.05, 100_000)
    assert workload.sizes[0] == 4762
    assert workload.share_below(100_000) == pytest.approx(0.95, abs=0.01)
    assert 60_000 < workload.mean < 100_000


def test_names_are_found_in_any_case_and_mistakes_get_a_hint() -> None:
    assert load_workload("W4") is not None
    with pytest.raises(UserError, match="pareto-shape"):
        load_workload("pareto")
    with pytest.raises(UserError, match="did you mean 'web-search'"):
        load_workload("websearch")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# interpolation: step\n10 0.5\n20 0.9\n", "must be 1"),
        ("10 1\n", "interpolation"),
        ("# interpolation: step\n20 0.5\n10 1\n", "ascend"),
        ("# interpolation: step\n20\n", "not 'bytes cumulative'"),
        ("# interpolation: step\n10 nan\n20 1\n", "ascend from 0 to 1"),
        ("# interpolation: step\n10 0.5\n9999999999999999999999 1\n", "at most 10+"),
    ],
)
def test_a_file_with_a_mistake_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "sizes.txt").write_text(text)
    with pytest.raises(UserError, match=message):
        load_workload("sizes.txt", tmp_path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no workload there"):
        load_workload("none.txt", tmp_path)


@pytest.mark.parametrize("name", ["w4", "web-search"])
def test_a_capped_distribution_is_the_same_below_the_cap(name: str) -> None:
    whole = load_workload(name)
    capped = whole.capped(1_000_000)
    assert capped.sizes[-1] == 1_000_000
    assert capped.cumulative[-1] == 1.0
    for limit in (100, 10_000, 999_999):
        assert capped.share_below(limit) == pytest.approx(whole.share_below(limit), abs=1e-6)
    assert capped.share_below(1_000_001) == 1.0
    assert capped.mean < whole.mean
    assert whole.capped(10**12) is whole
