"""`ndpstack reproduce`: checks and bands, the published numbers, one experiment end to end."""

from __future__ import annotations

import json
import os
import signal
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

import numpy as np
import pytest

from ndpstack._errors import UserError
from ndpstack.cli import _experiments, main
from ndpstack.cli._exit import Exit
from ndpstack.reproduce import EXPERIMENTS, Check, Effort, Outcome, find
from ndpstack.reproduce._experiment import Experiment
from ndpstack.reproduce._homa_runs import LOADS, UNLIMITED, Load, Slowdowns, balanced_cutoffs
from ndpstack.reproduce._homa_slowdown import _deciles, _ranges
from ndpstack.reproduce._published import HOMA_NAMES, SizeBin, columns, homa_slowdown

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")


@pytest.mark.parametrize(
    ("low", "high", "ours", "band", "verdict"),
    [
        (1, 2, 1.0, "1 .. 2", "ok"),
        (1, 2, 2.0, "1 .. 2", "ok"),
        (1, 2, 0.99, "1 .. 2", "MISS"),
        (1, 2, 2.01, "1 .. 2", "MISS"),
        (None, 2, 2.01, "<= 2", "MISS"),
        (1, None, 0.5, ">= 1", "MISS"),
        (1, None, 50.0, ">= 1", "ok"),
        (None, None, 7.0, "report", "reported"),
        (1, 2, float("nan"), "1 .. 2", "MISS"),
    ],
)
def test_band_decides(
    low: float | None, high: float | None, ours: float, band: str, verdict: str
) -> None:
    check = Check("n", "1", ours, low, high)
    assert check.band == band
    assert check.verdict == verdict
    assert check.passed == check.accepted == (verdict != "MISS")


def test_reason_excuses_only_a_miss() -> None:
    miss = Check("n", "1", 3, 1, 2, explained="because")
    assert (miss.passed, miss.accepted, miss.verdict) == (False, True, "explained")
    assert Check("n", "1", 1.5, 1, 2, explained="because").verdict == "ok"
    assert Outcome([miss]).passed
    assert not Outcome([miss, Check("n", "1", 3, 1, 2)]).passed


def test_effort_chooses() -> None:
    assert Effort.QUICK.choose(1, 2) == 1
    assert Effort.FULL.choose(1, 2) == 2


@pytest.mark.parametrize("name", HOMA_NAMES)
@pytest.mark.parametrize("load", [0.5, 0.8])
def test_published_curves_are_whole(name: str, load: float) -> None:
    bins = homa_slowdown("Homa", name, load)
    sizes = [size_bin.size_max for size_bin in bins]
    assert sizes == sorted(sizes)
    assert sum(size_bin.share for size_bin in bins) == pytest.approx(1, abs=0.01)
    assert all(size_bin.mean >= 1 for size_bin in bins)


def test_published_columns() -> None:
    rows = columns("ndp_incast_270KB_iw1.txt")
    assert rows[0] == [1, 0.001668125]


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
def test_cutoffs_fall_from_the_lowest_level(load: Load) -> None:
    cutoffs = balanced_cutoffs(load.name, load.unscheduled)
    used = cutoffs[8 - load.unscheduled :]
    assert used[0] == UNLIMITED
    assert used == sorted(used, reverse=True)
    assert not any(cutoffs[: 8 - load.unscheduled])


def test_slowdowns_take_whole_sizes() -> None:
    sizes = np.array([10, 10, 10, 20, 30], np.uint64)
    found = Slowdowns(sizes, np.array([1.0, 2, 3, 4, 5]), np.arange(5))
    assert list(found.shortest(0.5).slowdown) == [1, 2, 3]
    assert found.percentile(100) == 5
    assert found.percentile(100, 20) == 4


def bins(*tails: float) -> list[SizeBin]:
    """Ten sizes of a tenth of the messages each."""
    return [SizeBin(10 * (i + 1), 0.1, 1.0, tail) for i, tail in enumerate(tails)]


def test_every_decile_is_compared() -> None:
    sizes = np.arange(10, 101, 10).repeat(200).astype(np.uint64)
    found = Slowdowns(sizes, sizes.astype(float), np.arange(sizes.size))
    deciles = _deciles(_ranges(bins(*range(1, 11)), found))
    assert [decile.size_max for decile in deciles] == list(range(10, 101, 10))
    assert [decile.p99 / decile.paper_p99 for decile in deciles] == pytest.approx([10] * 10)


def test_sizes_with_few_messages_are_compared_together() -> None:
    """The paper's 5 and 7 weigh as ours do; the last ten messages belong to the size before."""
    counts = [200, 60, 60, 200, 200, 200, 200, 200, 200, 10]
    sizes = np.arange(10, 101, 10).repeat(counts).astype(np.uint64)
    found = Slowdowns(sizes, np.full(sizes.size, 3.0), np.arange(sizes.size))
    ranges = _ranges(bins(1, 5, 7, 1, 1, 1, 1, 1, 1, 2), found)
    assert [item.size_max for item in ranges] == [10, 30, 40, 50, 60, 70, 80, 100]
    assert [item.paper_p99 for item in ranges[:2]] == pytest.approx([1, 6])
    assert sum(item.share for item in ranges) == pytest.approx(1)
    assert ranges[-1].paper_p99 == pytest.approx(1.5)


def test_catalogue_is_keyed_by_id_and_priced() -> None:
    for identifier, experiment in EXPERIMENTS.items():
        assert experiment.id == identifier
        assert experiment.cost_s > 0
        assert experiment.title
        assert experiment.source


def numbers(kind: str, *ranges: tuple[int, int]) -> list[str]:
    return [f"E-{kind}{n:02}" for first, last in ranges for n in range(first, last + 1)]


WANTED = [
    *numbers("N", (1, 6), (8, 17), (20, 24), (26, 26), (28, 28), (30, 30)),
    *numbers("O", (1, 6)),
    *numbers("H", (1, 3), (6, 16), (18, 20)),
]


@pytest.mark.parametrize("identifier", WANTED)
def test_every_entry_runs_by_its_id(identifier: str) -> None:
    assert identifier in find(identifier).ids


@pytest.mark.parametrize("identifier", WANTED)
def test_every_entry_is_on_the_page(identifier: str) -> None:
    """A table of its own or a row of another, and no miss without its reason."""
    page = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text()
    title = find(identifier).id
    _, found, rest = page.partition(f"### {title}: ")
    assert found
    section = rest.partition("\n### ")[0]
    assert "| number | paper | band | ours | verdict |" in section
    assert "| MISS |" not in section
    assert section.count("| explained |") == 0 or "\n- *" in section


def test_no_entry_is_answered_twice() -> None:
    ids = [identifier for experiment in EXPERIMENTS.values() for identifier in experiment.ids]
    assert len(ids) == len(set(ids))


def test_list_names_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list"]) == Exit.OK
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(EXPERIMENTS)
    assert main(["reproduce", "--list", "--json"]) == Exit.OK
    entries = json.loads(capsys.readouterr().out)["experiments"]
    assert [entry["id"] for entry in entries] == list(EXPERIMENTS)


@pytest.mark.parametrize("words", [["E-X99"], [], ["E-H01", "--all"]])
def test_wrong_words_are_usage_errors(words: list[str]) -> None:
    assert main(["reproduce", *words]) == Exit.USAGE


# E-H01
def test_constants_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["reproduce", "E-H01", "--quick", "--jobs", "1", "--out", str(tmp_path), "--json"]
    assert main(words) == Exit.OK
    (entry,) = json.loads(capsys.readouterr().out)["experiments"]
    verdicts = [check["verdict"] for check in entry["checks"]]
    assert verdicts == ["ok", "ok", "explained"]
    assert entry["passed"]
    assert entry["checks"][2]["explained"]
    assert entry["commands"][0].startswith("ndpstack run homa-paper --set")
    page = (tmp_path / "reproduction.md").read_text()
    assert "### E-H01: constants of the fabric" in page
    assert "- *smallest one-way message*: 1 byte" in page


def test_miss_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def miss(_effort: Effort, outcome: Outcome) -> None:
        outcome.checks.append(Check("number", "1", 2, high=1))

    experiment = Experiment("E-MISS", "never right", "nowhere", miss, quick=True, cost_s=1)
    monkeypatch.setitem(EXPERIMENTS, "E-MISS", experiment)
    assert main(["reproduce", "E-MISS", "--jobs", "1"]) == Exit.FAILED
    assert "MISS" in capsys.readouterr().out


def test_killed_process_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def die(_effort: Effort, _outcome: Outcome) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    experiment = Experiment("E-DIE", "never ends", "nowhere", die, quick=True, cost_s=1)
    monkeypatch.setitem(EXPERIMENTS, "E-DIE", experiment)
    assert main(["reproduce", "E-DIE", "--jobs", "1"]) == Exit.USAGE
    assert "was killed" in capsys.readouterr().err


def test_folder_that_cannot_be_made_is_told_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["reproduce", "E-H01", "--quick", "--out", str(tmp_path / "file")]) == Exit.USAGE
    assert "file: cannot be made" in capsys.readouterr().err


class FirstOnly(Executor):
    """Runs the first call at once, and never comes to the others."""

    def __init__(self, *_: object) -> None:
        self.futures: list[Future[object]] = []

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """One call."""
        future: Future[T] = Future()
        if not self.futures:
            future.set_result(fn(*args, **kwargs))
        self.futures.append(cast("Future[object]", future))
        return future


def test_file_that_cannot_be_written_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = FirstOnly()
    monkeypatch.setattr(_experiments, "Pool", lambda *_: pool)
    (tmp_path / "E-H16.md").mkdir()
    words = ["reproduce", "E-H16", "E-H01", "--out", str(tmp_path)]
    assert main(words) == Exit.USAGE
    assert "E-H16.md: cannot be written: Is a directory" in capsys.readouterr().err
    assert pool.futures[1].cancelled()


def test_error_keeps_what_came_before(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(_effort: Effort, outcome: Outcome) -> None:
        outcome.checks.append(Check("number", "1", 1, high=1))
        raise UserError("stuck")

    experiment = Experiment("E-STOP", "never whole", "nowhere", stop, quick=True, cost_s=1)
    monkeypatch.setitem(EXPERIMENTS, "E-STOP", experiment)
    words = ["reproduce", "E-STOP", "--jobs", "1", "--json", "--out", str(tmp_path)]
    assert main(words) == Exit.FAILED
    (entry,) = json.loads(capsys.readouterr().out)["experiments"]
    assert entry["error"] == "stuck"
    assert [check["verdict"] for check in entry["checks"]] == ["ok"]
    assert "- Ended early: `stuck`" in (tmp_path / "reproduction.md").read_text()


# E-N01, E-N12, E-N13
@pytest.mark.parametrize("identifier", ["E-N01", "E-N12", "E-N13"])
def test_quick_part_lies_in_its_bands(identifier: str) -> None:
    outcome = Outcome()
    find(identifier).run(Effort.QUICK, outcome)
    assert outcome.passed
    assert any(check.verdict == "ok" for check in outcome.checks)


# E-H16
def test_levels_by_the_rule() -> None:
    outcome = Outcome()
    EXPERIMENTS["E-H16"].run(Effort.QUICK, outcome)
    assert outcome.passed
    assert len(outcome.checks) == 10
