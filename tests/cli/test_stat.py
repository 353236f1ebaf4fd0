"""`ndpstack stat`: totals, what they grow by, and which of them."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING

import pytest
from told_stack import told

import ndpstack
from ndpstack.cli import main
from ndpstack.cli._exit import Exit
from ndpstack.cli._stat import Reading, growth

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@pytest.fixture
def service() -> Iterator[str]:
    """A stack whose `core.rounds` grows by 5 each time that it is asked."""
    asked = count(1)
    with ndpstack.memory_pair() as (_, stack):
        texts = {group: stack.counter_texts()[group] for group in ("core", "homa")}

        def counters(_name: str) -> Mapping[str, object]:
            values = dict.fromkeys(stack.counters("core"), 0) | {"rounds": 5 * next(asked)}
            return {"counters": {"core": values, "homa": {"grants_sent": 0}}, "help": texts}

        with told(counters) as name:
            yield name


def stat(
    capsys: pytest.CaptureFixture[str], service: str, *arguments: str
) -> list[dict[str, object]]:
    """What `--json` prints, a document a line."""
    assert main(["stat", "--json", "--service", service, *arguments]) == Exit.OK
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_totals(service: str, capsys: pytest.CaptureFixture[str]) -> None:
    (document,) = stat(capsys, service, "core.r*s", "homa.*")
    rounds = {"value": 5, "help": "Rounds of the core's loop."}
    counters = document["counters"]
    assert isinstance(counters, dict)
    assert document["schema_version"] == 1
    assert counters["core.rounds"] == rounds
    assert counters["homa.grants_sent"]["help"]
    assert all(name.startswith(("core.r", "homa.")) for name in counters)


def test_the_table_leaves_out_zeros(service: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stat", "--service", service]) == Exit.OK
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["core.rounds"]
    assert main(["stat", "--service", service, "--all", "homa.*"]) == Exit.OK
    assert "homa.grants_sent" in capsys.readouterr().out


def test_growth_in_intervals(service: str, capsys: pytest.CaptureFixture[str]) -> None:
    documents = stat(capsys, service, "-i", "0.01", "-n", "3", "core.rounds")
    for number, document in enumerate(documents):
        assert document["seconds"] >= 0.01  # type: ignore[operator]
        shown = document["counters"]["core.rounds"]  # type: ignore[index]
        assert (shown["value"], shown["grown_by"]) == (10 + 5 * number, 5)
    assert len(documents) == 3
    assert main(["stat", "--service", service, "-i", "0.01", "-n", "1"]) == Exit.OK
    assert "grown by" in capsys.readouterr().out


def test_a_counter_that_began_anew() -> None:
    before, after = (
        Reading({}, 0, {"a": 9, "b": 1}, {}),
        Reading({}, 1, {"a": 4, "b": 3, "c": 2}, {}),
    )
    assert growth(before, after) == {"a": 4, "b": 2, "c": 2}


def test_a_port_that_closes_ends_no_watch(capsys: pytest.CaptureFixture[str]) -> None:
    readings = iter([{"port": {"rx_packets": 7}}, {}, {"port": {"rx_packets": 2}}, {}])
    texts = {"port": {"rx_packets": "Packets."}}
    with told(lambda _: {"counters": next(readings), "help": texts}) as name:
        command = ["stat", "--service", name, "port.*"]
        assert main([*command, "-i", "0.01", "-n", "2"]) == Exit.OK
        lines = capsys.readouterr().out.splitlines()
        assert lines[1] == "port: closed, no counters until it is opened again"
        assert lines[-1].split()[:3] == ["port.rx_packets", "2", "2"]
        assert main(command) == Exit.OK
        assert "port: closed" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["-i", "0"], ["-i", "nan"], ["-n", "0"], ["-i", "x"]])
def test_a_bad_interval(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["stat", *arguments])
    assert caught.value.code == Exit.USAGE
    assert "above 0" in capsys.readouterr().err


def test_a_count_without_an_interval(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stat", "-n", "3"]) == Exit.USAGE
    assert "-n needs -i" in capsys.readouterr().err


def test_what_is_not_there(service: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stat", "--service", service, "swarm.*"]) == Exit.USAGE
    assert "no counter is like swarm.*" in capsys.readouterr().err
    assert main(["stat", "--service", "test-nobody"]) == Exit.USAGE
    assert "not running" in capsys.readouterr().err
