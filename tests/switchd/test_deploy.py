"""What deploy/ ships for switchd works as it is."""

from __future__ import annotations

import configparser
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ndpstack.cli._main import build_parser as ndpstack_parser
from ndpstack.switch import counter_texts
from switchd.control import ServerCounters
from switchd.daemon import CONFIG, main
from switchd.daemon import build_parser as daemon_parser
from switchd.metrics import metric_names

DEPLOY = Path(__file__).parents[2] / "deploy"
CONFIGS = sorted((DEPLOY / "config").glob("*.toml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_configuration_is_right(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check-config", str(path)]) == 0
    assert "right" in capsys.readouterr().out


def test_a_wrong_configuration_ends_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "switchd.toml"
    path.write_text("[switch.a]\nprofil = 'ndp'\n[daemon]\nlog = 'loud'\n")
    assert main(["--config", str(path), "--check-config"]) == 2
    assert main(["--config", str(path)]) == 2
    assert capsys.readouterr().err.count("did you mean 'profile'") == 2


def test_every_metric_of_the_dashboard_exists() -> None:
    text = (DEPLOY / "grafana" / "switchd.json").read_text()
    assert json.loads(text)["uid"] == "ndpstack-switchd"
    wanted = set(re.findall(r"ndpstack_\w+", text))
    known = set(metric_names(counter_texts(), ServerCounters()))
    assert wanted
    assert wanted <= known, wanted - known


def test_units_name_what_exists() -> None:
    for path in (DEPLOY / "systemd").glob("*.service"):
        unit = configparser.ConfigParser(strict=False, interpolation=None, allow_no_value=True)
        unit.optionxform = str  # type: ignore[assignment, method-assign]
        unit.read_string(path.read_text())
        service = unit["Service"]
        assert service["Type"] == "notify"
        assert float(service["WatchdogSec"]) > 3
        assert "AF_XDP" in service["RestrictAddressFamilies"]
        assert service["CapabilityBoundingSet"] == service["AmbientCapabilities"]
        words = service["ExecStart"].split()[1:]
        if words[0] == "ndpstack":
            command = ndpstack_parser(words[1]).parse_args(words[1:])
            assert command.verb == "run"
        else:
            assert daemon_parser().parse_args(words[1:]).config == CONFIG


def test_systemd_understands_the_units() -> None:
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("systemd-analyze is not installed")
    for path in (DEPLOY / "systemd").glob("*.service"):
        done = subprocess.run([tool, "verify", str(path)], capture_output=True, text=True)
        wrong = [line for line in done.stderr.splitlines() if path.name in line]
        assert not wrong, wrong
