"""What deploy/ ships for switchd works as it is."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from ndpstack.cli._main import build_parser as ndpstack_parser
from ndpstack.scenario import load_scenario
from ndpstack.sim import Simulation, Status
from ndpstack.switch import counter_texts
from ndpstack.testbed._blueprint import blueprint
from ndpstack.testbed._ports import port_names
from ndpstack.testbed._settings import switchd_settings
from switchd._main import CONFIG, main
from switchd._main import build_parser as daemon_parser
from switchd.config import BUILT_IN, from_table, load
from switchd.control import ServerCounters
from switchd.metrics import metric_names
from switchd.plan import PROFILES, build_plan

DEPLOY = Path(__file__).parents[2] / "deploy"
CONFIGS = sorted((DEPLOY / "config").glob("*.toml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_configuration_is_right(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check-config", str(path)]) == 0
    assert "right" in capsys.readouterr().out


def test_every_built_in_profile_has_a_configuration() -> None:
    disciplines = set()
    for path in CONFIGS:
        config = load(path).config
        known = {**PROFILES, **config.profile}
        for switch in config.switch.values():
            names = {switch.profile, *(port.profile for port in switch.port.values())} - {""}
            disciplines |= {known[name].discipline for name in names}
    assert disciplines == {PROFILES[name].discipline for name in BUILT_IN}


LABS = sorted((DEPLOY / "labs").glob("*.toml"))


@pytest.mark.parametrize("path", LABS, ids=lambda path: path.stem)
def test_every_lab_is_a_configuration_of_switchd(path: Path) -> None:
    scenario = load_scenario(path).scenario
    drawing = blueprint(scenario)
    settings = switchd_settings(scenario, drawing, port_names(drawing, None))
    assert len(build_plan(from_table(settings, path.parent))) == len(drawing.plan.switches)


@pytest.mark.parametrize("path", LABS, ids=lambda path: path.stem)
def test_every_lab_runs_its_traffic(path: Path) -> None:
    simulation = Simulation(load_scenario(path))
    assert simulation.run() is Status.DONE


def instructions(text: str) -> list[tuple[str, list[str]]]:
    """The instructions of a container file, each with its words."""
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    joined = re.sub(r"\\\n\s*", "", lines).splitlines()
    return [(words[0], words[1:]) for line in joined if (words := shlex.split(line))]


def test_stages_of_the_container_file_find_what_they_copy() -> None:
    """Without a container engine: each path that is copied or run was made before."""
    stages: list[str] = []
    made: dict[str, set[str]] = {}
    for word, arguments in instructions((DEPLOY / "Containerfile").read_text()):
        if word == "FROM":
            stages.append(arguments[2] if len(arguments) > 1 else "")
            made[stages[-1]] = set()
        elif word == "COPY" and arguments[0].startswith("--from="):
            stage, (_, source, target) = arguments[0].partition("=")[2], arguments
            assert stage in stages[:-1]
            assert source in made[stage]
            made[stages[-1]].add(target)
        elif word == "COPY":
            source, target = arguments
            assert (DEPLOY.parent / source).exists()
            made[stages[-1]].add(target)
        elif word == "ENV":
            (setting,) = arguments
            assert setting.removeprefix("PATH=").split("/bin:")[0] in made[stages[-1]]
        elif word == "RUN" and "venv" in arguments:
            made[stages[-1]].add(arguments[arguments.index("venv") + 1])
        else:
            assert word in ("RUN", "CMD"), f"{word} is not checked here"
    assert stages == ["build", ""], "what builds is not shipped"


def test_the_container_file_starts_what_exists() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) == {"debian:12"}
    command = json.loads(re.findall(r"^CMD (.*)$", text, re.MULTILINE)[0])
    assert daemon_parser().parse_args(command[1:]).config == CONFIG
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
    assert command[0] in project["scripts"]
    extras = re.findall(r"/source\[([\w,]+)\]", text)[0].split(",")
    assert set(extras) <= set(project["optional-dependencies"])


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


EXPOSURE_MAX = 3.0
"""Of 10, as systemd-analyze counts; most of it is what AF_XDP needs."""


@pytest.mark.parametrize("path", sorted((DEPLOY / "systemd").glob("*.service")))
def test_units_are_hardened(path: Path, tmp_path: Path) -> None:
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / path.name.replace("@.", "@instance.")
    unit.write_text(path.read_text())
    threshold = f"--threshold={EXPOSURE_MAX * 10:.0f}"
    command = [tool, "security", "--offline=true", threshold, "--no-pager", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True)
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze looks at units that are loaded only")
    assert done.returncode == 0, done.stdout + done.stderr
