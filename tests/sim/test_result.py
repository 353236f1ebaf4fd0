"""Numbers of a result, reckoned by hand from a handful of flows."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ndpstack._core import lib
from ndpstack.report._files import flow_columns
from ndpstack.scenario import parse_scenario
from ndpstack.sim import Goodput, Result, Simulation, Spread, summarise
from ndpstack.sim._arrays import record
from ndpstack.sim._result import Depth
from ndpstack.toml import Picoseconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

US = 10**6
NEVER = lib.ND_FLOW_NEVER
ONEWAY, ECHO = lib.ND_FLOW_ONEWAY, lib.ND_FLOW_ECHO
WAITING, DONE, FAILED = lib.ND_FLOW_WAITING, lib.ND_FLOW_DONE, lib.ND_FLOW_FAILED

SCENARIO = """
[topology]
kind = "single-switch"
hosts = 4
[transport.ndp]
[[traffic]]
kind = "permutation"
size = "1KB"
"""

REPLY = 8000
# bytes, kind, background, state, start, received, done, best, payload, error
FLOWS = [
    (1000, ONEWAY, 0, DONE, 0, 2 * US, 3 * US, US, 1000, 0),
    (1000, ONEWAY, 0, DONE, US, 5 * US, 6 * US, US, 1000, 0),
    (9000, ONEWAY, 0, DONE, 0, 8 * US, 9 * US, 2 * US, 9000, 0),
    (1000, ONEWAY, 0, FAILED, 0, 3 * US, NEVER, US, 250, -110),
    (1000, ONEWAY, 1, DONE, 0, US, 2 * US, US, 1000, 0),
    (500, ONEWAY, 0, WAITING, NEVER, NEVER, NEVER, US, 0, 0),
    (1000, ECHO, 0, DONE, 0, 2 * US, 10 * US, 5 * US, 1000, 0),
]


class Recorded(Simulation):
    """Ten microseconds in which that happened, whatever the core says."""

    @property
    def now_ps(self) -> Picoseconds:
        return Picoseconds(10 * US)

    @property
    def flows(self) -> NDArray[np.void]:
        flows = np.zeros(len(FLOWS), record("nd_flow"))
        for flow, (size, kind, background, *_) in zip(flows, FLOWS, strict=True):
            flow["bytes"], flow["kind"], flow["background"] = size, kind, background
            flow["reply_bytes"] = REPLY if kind == ECHO else 0
        return flows

    @property
    def rows(self) -> NDArray[np.void]:
        names = ["state", "start_ps", "received_ps", "done_ps", "best_ps", "payload_bytes", "error"]
        rows = np.zeros(len(FLOWS), record("nd_flow_row"))
        for row, values in zip(rows, FLOWS, strict=True):
            for name, value in zip(names, values[3:], strict=True):
                row[name] = value
        return rows

    @property
    def hosts(self) -> NDArray[np.void]:
        hosts = np.zeros(4, record("nd_sim_host_row"))
        hosts["payload_bytes"] = [0, 1250, 2500, 0]
        return hosts

    @property
    def depths(self) -> NDArray[np.void]:
        depths = np.zeros(8, record("nd_sim_depth"))
        depths["bytes_ns"] = [7] * 4 + [0, 40_000, 0, 40_000]
        depths["bytes_max"] = [7] * 4 + [0, 3000, 0, 9]
        return depths


@pytest.fixture
def run() -> Recorded:
    return Recorded(parse_scenario(SCENARIO))


@pytest.fixture
def result(run: Recorded) -> Result:
    return summarise(run)


def is_spread(spread: Spread | None, values: list[float]) -> bool:
    """Whether it is that of these four, the percentiles between the middle ones and the last."""
    assert spread is not None
    _, second, third, last = values
    p99, p999 = third + 0.97 * (last - third), third + 0.997 * (last - third)
    expected = (4, sum(values) / 4, (second + third) / 2, p99, p999, last)
    return bool(astuple(spread) == pytest.approx(expected))


def test_goodput_of_a_flow_with_a_reply_counts_both_ways() -> None:
    text = SCENARIO.replace("permutation", "flow") + 'source = 1\ntarget = 0\nreply = "1MB"\n'
    simulation = Simulation(parse_scenario(text))
    simulation.run()
    result = summarise(simulation)
    assert result.fct_us is not None
    assert is_goodput(result.flow_goodput, *[1_001_000 * 8e6 / result.fct_us.mean] * 3)


def is_goodput(goodput: Goodput | None, mean: float, least: float, most: float) -> bool:
    assert goodput is not None
    return bool(astuple(goodput) == pytest.approx((mean, least, most)))


def test_only_flows_that_ended_well_and_are_waited_for_have_times(result: Result) -> None:
    assert (result.flows, result.finished, result.background) == (6, 4, 1)
    assert [flow.flow for flow in result.unfinished] == [3, 5]
    assert (result.unfinished[0].state, result.unfinished[0].error) == ("failed", -110)
    assert is_spread(result.fct_us, [2, 4, 8, 10])
    assert is_spread(result.slowdown, [2, 2, 4, 4])


def test_bands_of_sizes_do_not_overlap_and_count_replies(result: Result) -> None:
    bands = [
        (band.size_max, band.slowdown.count, band.slowdown.max) for band in result.slowdown_by_size
    ]
    assert bands == [(1000, 2, 4.0), (9000, 2, 4.0)]


def test_goodput_is_bits_a_second(result: Result) -> None:
    assert is_goodput(result.flow_goodput, (4 + 2 + 9 + 0.2 + 8 + 7.2) / 6 * 1e9, 2e8, 9e9)
    assert is_goodput(result.host_goodput, 1.5e9, 1e9, 2e9)


def test_depths_are_means_over_time_and_switch_ports(result: Result) -> None:
    assert result.depths == {"edge-down": Depth(2.0, 3000)}


def test_a_table_of_flows_has_the_same_times(run: Recorded) -> None:
    columns = flow_columns(run)
    assert columns["fct_us"].tolist()[:3] == [2.0, 4.0, 8.0]
    assert columns["slowdown"].tolist()[:3] == [2.0, 4.0, 4.0]
    assert columns["start_us"].tolist()[:2] == [0.0, 1.0]
    assert np.isnan(columns["fct_us"][[3, 5]].astype(float)).all()
    assert np.isnan(columns["start_us"][5].astype(float))
    assert columns["state"].tolist()[3:6] == ["failed", "done", "waiting"]


def test_only_a_simulation_has_watched_last_hops() -> None:
    simulation = Recorded(parse_scenario(SCENARIO, overrides=["probes.waste=true"]))
    assert summarise(simulation).waste == 0
    simulation.world = "memory"
    assert summarise(simulation).waste is None
