"""`ndpstack sweep`: all combinations, resumed where it stopped."""

from __future__ import annotations

import csv
import json
import sys
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import pytest

from ndpstack import sweep
from ndpstack._errors import UserError
from ndpstack.cli import main
from ndpstack.cli._exit import Exit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

P = ParamSpec("P")
T = TypeVar("T")

SCENARIO = """
[topology]
kind = "single-switch"
hosts = 4
[switch.queue]
discipline = "droptail"
[transport.homa]
[[traffic]]
kind = "permutation"
size = "20KB"
"""


class Here(Executor):
    """Runs in this process, at once."""

    def __init__(self) -> None:
        self.count = 0

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """One call."""
        self.count += 1
        future: Future[T] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "four.toml"
    path.write_text(SCENARIO)
    return str(path)


def _sweep_here(scenario: str, out: Path, *vary: str) -> tuple[int, list[sweep.Document]]:
    points = sweep.plan(scenario, [], [sweep.Vary.parse(text) for text in vary], seeds=2)
    here = Here()
    store = sweep.Store(out)
    outcomes = sweep.run(points, store, here, lambda _done, _all: None)
    return here.count, outcomes


def test_values_are_split_at_commas_outside_brackets() -> None:
    vary = sweep.Vary.parse('switch.queue.limit=8pkt,["8pkt", "9KB"],{ a = 1, b = 2 }')
    assert vary.values == ("8pkt", '["8pkt", "9KB"]', "{ a = 1, b = 2 }")
    with pytest.raises(UserError, match="a value is empty"):
        sweep.Vary.parse("topology.k=4,,8")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("topology.k", "--vary topology.k: write it like topology.k=4,8,12"),
        ("topology.k=4,8,4", "a value stands there twice"),
        ("seed=1,2", "say how many with --seeds"),
    ],
)
def test_values_that_make_no_points_of_their_own_are_refused(text: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        sweep.Vary.parse(text)


def test_a_key_varies_once(scenario: str) -> None:
    twice = [sweep.Vary("topology.hosts", ("4",)), sweep.Vary("topology.hosts", ("8",))]
    with pytest.raises(UserError, match=r"--vary topology\.hosts stands there twice"):
        sweep.plan(scenario, [], twice, seeds=1)


@pytest.mark.parametrize(("sizes", "seeds"), [(("1KB", "2KB"), 1), (("1KB",), 2)])
def test_points_do_not_write_one_capture(scenario: str, sizes: tuple[str, ...], seeds: int) -> None:
    base = ['probes.capture={ between = ["edge 0", "host 0"], file = "x.pcapng" }']
    vary = sweep.Vary("traffic.0.size", sizes)
    with pytest.raises(UserError, match="would write the same file"):
        sweep.plan(scenario, base, [vary], seeds)
    assert len(sweep.plan(scenario, base, [sweep.Vary(vary.key, ("1KB",))], seeds=1)) == 1


@pytest.mark.parametrize("option", ["--jobs", "--seeds"])
def test_counts_are_above_0(
    option: str, scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["sweep", scenario, "--vary", "topology.hosts=4", "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as ended:
        main([*words, option, "0"])
    assert ended.value.code == Exit.USAGE
    assert f"{option}: '0' is no count above 0" in capsys.readouterr().err


def test_all_combinations_and_seeds_in_order(scenario: str) -> None:
    vary = [
        sweep.Vary("topology.hosts", ("4", "8")),
        sweep.Vary("traffic.0.size", ("1KB", "2KB")),
    ]
    points = sweep.plan(scenario, ["hosts.nic-packets=2"], vary, seeds=2)
    assert len(points) == 8
    assert points[3].overrides == [
        "hosts.nic-packets=2",
        "topology.hosts=4",
        "traffic.0.size=2KB",
        "seed=2",
    ]


def test_a_point_that_cannot_be_is_found_before_anything_runs(scenario: str) -> None:
    with pytest.raises(UserError, match=r"topology\.hosts: 0 is not within 1"):
        sweep.plan(scenario, [], [sweep.Vary("topology.hosts", ("4", "0"))], seeds=1)


def test_points_that_are_done_are_not_run_again(scenario: str, tmp_path: Path) -> None:
    first, outcomes = _sweep_here(scenario, tmp_path / "out", "topology.hosts=4,6")
    again, same = _sweep_here(scenario, tmp_path / "out", "topology.hosts=4,6")
    more, _ = _sweep_here(scenario, tmp_path / "out", "topology.hosts=4,6,8")
    assert (first, again, more) == (4, 0, 2)
    assert json.loads(json.dumps(outcomes)) == same


@pytest.mark.parametrize(
    ("traffic", "name", "before", "after"),
    [
        (
            'kind = "trace"\nfile = "flows.csv"',
            "flows.csv",
            "start_us,source,target,bytes\n0,0,1,100\n",
            "start_us,source,target,bytes\n0,0,1,200\n",
        ),
        (
            'kind = "closed-loop"\nsizes = "sizes.txt"',
            "sizes.txt",
            "# interpolation: step\n100 1\n",
            "# interpolation: step\n200 1\n",
        ),
    ],
)
def test_points_are_run_again_when_a_file_of_the_scenario_has_changed(
    tmp_path: Path, traffic: str, name: str, before: str, after: str
) -> None:
    path = tmp_path / "four.toml"
    path.write_text(SCENARIO.replace('kind = "permutation"\nsize = "20KB"', traffic))
    counts = []
    for text in (before, before, after):
        (tmp_path / name).write_text(text)
        counts.append(_sweep_here(str(path), tmp_path / "out", "topology.hosts=4")[0])
    assert counts == [2, 0, 2]


def test_a_full_disk_is_told_and_what_is_done_is_kept(scenario: str, tmp_path: Path) -> None:
    store = sweep.Store(tmp_path)
    (point,) = sweep.plan(scenario, [], [sweep.Vary("topology.hosts", ("4",))], seeds=1)
    (tmp_path / "points").rmdir()
    with pytest.raises(UserError, match=r"cannot be written: No such file .* goes on where it was"):
        store.put(point, {})


@pytest.mark.parametrize(
    "other",
    [
        '{"ndpstack": "0', "[]", '{"result": 3}', '{"result": {"flows": NaN}}',
        '{"result": {"flows": 1e999}}', "[" * 90_000,
    ],
    ids=["cut", "list", "number", "NaN", "huge", "deep"],
)  # fmt: skip
def test_a_broken_or_other_outcome_is_not_taken(scenario: str, tmp_path: Path, other: str) -> None:
    _sweep_here(scenario, tmp_path / "out", "topology.hosts=4")
    for path in (tmp_path / "out" / "points").iterdir():
        path.write_text(other)
    count, _ = _sweep_here(scenario, tmp_path / "out", "topology.hosts=4")
    assert count == 2


class Dying(Here):
    """Is killed at its second call."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """One call."""
        if self.count < 1:
            return super().submit(fn, *args, **kwargs)
        future: Future[T] = Future()
        future.set_exception(BrokenProcessPool())
        return future


def test_a_killed_worker_is_told_and_what_is_done_stays(scenario: str, tmp_path: Path) -> None:
    points = sweep.plan(scenario, [], [sweep.Vary("topology.hosts", ("4", "6"))], seeds=1)
    store = sweep.Store(tmp_path)
    with pytest.raises(UserError, match="was killed"):
        sweep.run(points, store, Dying(), lambda _done, _all: None)
    count, _ = _sweep_here(scenario, tmp_path, "topology.hosts=4,6")
    assert count == 3, "of two points with two seeds each, one had been run"


def test_the_command_writes_a_summary(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = [
        "sweep",
        scenario,
        "--vary",
        "traffic.0.size=10KB,40KB",
        "--jobs",
        "1",
        "--out",
        str(out),
    ]
    assert main(words) == Exit.OK
    table = capsys.readouterr().out
    assert table.startswith("2 points\ntraffic.0.size  mean FCT [us]")
    with (out / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["traffic.0.size"] for row in rows] == ["10KB", "40KB"]
    assert float(rows[0]["p99 FCT [us]"]) < float(rows[1]["p99 FCT [us]"])
    assert main([*words, "--json"]) == Exit.OK
    assert len(json.loads(capsys.readouterr().out)) == 2


def test_a_summary_that_cannot_be_written_is_named(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "summary.csv").mkdir()
    words = ["--vary", "topology.hosts=3", "--jobs", "1", "--out", str(tmp_path)]
    assert main(["sweep", scenario, *words]) == Exit.USAGE
    assert "summary.csv: cannot be written: Is a directory" in capsys.readouterr().err


def test_dask_workers_run_the_points(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    distributed = pytest.importorskip("distributed", reason="needs the extra: ndpstack[dask]")
    points = ["--vary", "topology.hosts=3,4", "--json"]
    words = ["sweep", scenario, *points, "--out", str(tmp_path / "dask")]
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        assert main([*words, "--dask", cluster.scheduler_address]) == Exit.OK
    remote = json.loads(capsys.readouterr().out)
    assert main(["sweep", scenario, *points, "--out", str(tmp_path / "here"), "--jobs", "1"]) == 0
    assert [outcome["result"] for outcome in json.loads(capsys.readouterr().out)] == [
        outcome["result"] for outcome in remote
    ]


def test_dask_workers_that_are_killed_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed", reason="needs the extra: ndpstack[dask]")

    class Client(nullcontext[None]):
        def __init__(self, _address: str, timeout: float) -> None:
            assert timeout > 0
            super().__init__()

        def __enter__(self) -> None:
            raise distributed.KilledWorker("point", None, 3)

    monkeypatch.setattr(distributed, "Client", Client)
    with (
        pytest.raises(UserError, match="was killed"),
        sweep.dask_executor("tcp://127.0.0.1:1"),
    ):
        pass


def test_nobody_answers_at_the_scheduler_s_address(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("distributed", reason="needs the extra: ndpstack[dask]")
    monkeypatch.setattr(sweep, "DASK_WAIT_S", 0.1)
    caplog.set_level("CRITICAL")
    with (
        pytest.raises(UserError, match="no scheduler there"),
        sweep.dask_executor("tcp://127.0.0.1:1"),
    ):
        pass
    words = ["sweep", scenario, "--vary", "topology.hosts=4", "--out", str(tmp_path)]
    assert main([*words, "--dask", "nonsense://"]) == Exit.USAGE


def test_without_dask_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UserError, match="ndpstack\\[dask\\]"), sweep.dask_executor("tcp://a:1"):
        pass
