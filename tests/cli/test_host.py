"""`ndpstack host status`: it prints what a service says of itself, and does not trust it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from told_stack import told

from ndpstack.cli import main
from ndpstack.cli._exit import Exit
from ndpstack.host import _service

if TYPE_CHECKING:
    from collections.abc import Mapping

STATUS: Mapping[str, object] = {
    "service": "host",
    "uptime_s": 1.5,
    "interface": "e0",
    "addresses": ["10.0.0.1"],
    "port": {"state": "up", "mode": "generic", "note": ""},
    "link_rate_bps": 1_000_000_000,
    "switchd": None,
    "applications": 0,
    "counters": {"core": {"rounds": 7}},
}


def test_what_it_says_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with told(lambda _: STATUS) as name:
        assert main(["host", "status", "--service", name]) == Exit.OK
        text = capsys.readouterr().out
        assert main(["host", "status", "--service", name, "--json"]) == Exit.OK
    assert "interface     e0, up, generic\n" in text
    assert "link          1Gbit\n" in text
    assert json.loads(capsys.readouterr().out)["interface"] == "e0"


def test_a_terminal_is_not_told_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with told(lambda _: {**STATUS, "interface": "e0\x1b]0;mine\x07"}) as name:
        assert main(["host", "status", "--service", name]) == Exit.OK
    text = capsys.readouterr().out
    assert text.replace("\n", "").isprintable()
    assert "e0\\x1b]0;mine\\x07, up" in text


@pytest.mark.parametrize(
    ("option", "value", "setting"),
    [
        ("--cpu", "99999999999", "cpu"),
        ("--cpu", "-1", "cpu"),
        ("--link-rate", "99999999999Tbit", "link_rate_bps"),
        ("--record-bytes", "99999999999TB", "record_bytes"),
        ("--switchd", "10.9.0.2:99999", "switchd"),
    ],
)
def test_what_no_core_can_be_told(
    option: str,
    value: str,
    setting: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_service, "addresses_of", lambda _: ("10.0.0.1", None))
    assert main(["host", "run", "--interface", "none", option, value]) == Exit.USAGE
    assert f"{setting} " in (said := capsys.readouterr().err)
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "wrong",
    [
        {"port": None},
        {"addresses": [1]},
        {"link_rate_bps": "fast"},
        {"link_rate_bps": 10**400},
        {"counters": []},
        {"switchd": {"address": "10.0.0.9"}},
    ],
)
def test_what_is_no_status_is_said(
    wrong: Mapping[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    with told(lambda _: {**STATUS, **wrong}) as name:
        assert main(["host", "status", "--service", name]) == Exit.USAGE
    printed = capsys.readouterr()
    assert "answers, but with no status" in printed.err
    assert printed.out == ""
