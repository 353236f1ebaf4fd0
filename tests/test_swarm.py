"""The swarm from Python: plans, failures, processes."""

from __future__ import annotations

import json

import pytest

from ndpstack._errors import UserError
from ndpstack._swarm import Plan, Protocol, Swarm, option_names, repeat_command, run
from ndpstack.cli import main
from ndpstack.cli._exit import Exit


def test_same_seed_does_the_same() -> None:
    with Swarm(Plan(protocol=Protocol.HOMA)) as swarm:
        assert swarm.run(11) is None
        first = swarm.counts()
        assert swarm.run(12) is None
        assert swarm.counts() != first
        assert swarm.run(11) is None
        assert swarm.counts() == first


def test_two_processes_share_the_seeds() -> None:
    outcome = run(Plan(protocol=Protocol.HOMA, first_seed=3, seeds=9, jobs=2))
    assert outcome.failure is None
    assert outcome.seeds == 9
    assert outcome.counts["messages"] > 0


def test_settings_replace_what_is_drawn() -> None:
    with Swarm(Plan(protocol=Protocol.HOMA, settings={"actions": 1, "restart_us": 0})) as swarm:
        assert swarm.run(1) is None
        assert swarm.counts()["restarts"] == 0


def test_unknown_setting_names_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"no swarm option is called losses; they are .*loss_ppm"):
        run(Plan(settings={"losses": 1}))


def test_events_as_text_are_not_mixed_into_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["swarm", "--seed", "1", "--verbose", "--json"]) == Exit.USAGE
    assert "--verbose prints every event as text" in capsys.readouterr().err


@pytest.mark.parametrize("setting", ["protocols=0", "hosts=9", "apps=0", "paths=0", "link_mbps=0"])
def test_a_setting_that_no_run_can_have_is_refused(setting: str) -> None:
    """It is a mistake in the command, not a failure of an engine."""
    name, value = setting.split("=")
    with pytest.raises(UserError, match=rf"swarm option {name}: it cannot be {value}: \w.* [1-9]"):
        run(Plan(settings={name: int(value)}))


def test_failure_has_all_that_repeats_it() -> None:
    # An engine's address book of no host at all: the configuration is refused.
    plan = Plan(protocol=Protocol.HOMA, calm=True, settings={"mtu": 40}, jobs=1)
    outcome = run(plan)
    assert outcome.failure is not None
    assert "refuses its configuration" in outcome.failure.text
    assert outcome.failure.options["mtu"] == 40
    assert list(outcome.failure.options) == option_names()
    assert outcome.failure.command == (
        "ndpstack swarm --seed 0 --protocol homa --calm --set mtu=40"
    )


def test_seeds_that_do_not_end_are_stopped_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a seed does, the command ends."""
    monkeypatch.setattr("ndpstack._swarm.GRACE_S", -60.0)
    outcome = run(Plan(protocol=Protocol.HOMA, first_seed=5, seeds=None, minutes=0.5))
    assert outcome.failure is not None
    assert "was stopped" in outcome.failure.text
    assert "--seed 5" in outcome.failure.command


def test_repeat_command_is_what_a_shell_takes() -> None:
    command = repeat_command(Protocol.BOTH, 7, {"loss_ppm": 5})
    assert command == "ndpstack swarm --seed 7 --protocol both --set loss_ppm=5"


def test_command_prints_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["swarm", "--json", "--protocol", "homa", "--seed", "4", "--seeds", "2"]
    assert main([*arguments, "--jobs", "1"]) == Exit.OK
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 1
    assert document["seeds"] == 2
    assert document["failure"] is None


def test_command_fails_with_the_command_that_repeats(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["swarm", "--protocol", "homa", "--seed", "4", "--calm", "--set", "mtu=40"]
    assert main(arguments) == Exit.FAILED
    shown = capsys.readouterr().err
    assert "repeat it: ndpstack swarm --seed 4 --protocol homa --calm --set mtu=40" in shown


@pytest.mark.parametrize(
    "word",
    ["loss_ppm", "loss_ppm=", "loss_ppm=-1", "loss_ppm=4294967296", f"loss_ppm={'9' * 5000}"],
    ids=["none", "empty", "negative", "large", "endless"],
)
def test_command_refuses_settings_that_are_none(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["swarm", "--set", word]) == Exit.USAGE
    assert "write NAME=VALUE" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ("--seed", "-5"),
        ("--seed", "18446744073709551616"),
        ("--seed", "18446744073709551615", "--seeds", "2"),
        ("--minutes", "nan"),
        ("--minutes", "0"),
    ],
)
def test_command_takes_no_mistake_for_a_seed_that_fails(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["swarm", "--jobs", "1", *words]) == Exit.USAGE
    assert words[0] in capsys.readouterr().err
