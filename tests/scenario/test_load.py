"""Scenario files: what is read, what is refused, and how the refusal reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ndpstack._errors import UserError
from ndpstack.scenario import host_count, load_scenario, parse_scenario, shipped_scenarios
from ndpstack.scenario._schema import FatTree, Incast, OpenLoop
from ndpstack.scenario._workload import Workload

if TYPE_CHECKING:
    from pathlib import Path

BASE = """
seed = 7
duration = "30ms"
[topology]
kind = "fat-tree"
k = 4
rate = "10Gbit"
[switch.queue]
discipline = "ndp"
data = "8pkt"
[transport.homa]
rtt-bytes = "9700B"
[[traffic]]
kind = "incast"
senders = 3
size = "270KB"
"""


def test_a_scenario_is_typed_data() -> None:
    scenario = parse_scenario(BASE).scenario
    assert scenario.topology == FatTree(k=4)
    assert scenario.traffic == (Incast(senders=3, size=270_000),)  # type: ignore[arg-type]
    assert scenario.duration == 30 * 10**9
    assert scenario.transport["homa"].settings == {"rtt_bytes": "9700B"}
    assert host_count(scenario.topology) == 16


def test_a_distribution_is_loaded_by_name() -> None:
    text = BASE.replace(
        'kind = "incast"\nsenders = 3\nsize = "270KB"',
        'kind = "open-loop"\nsizes = "W4"\nload = "80%"\nuntil = "1ms"',
    )
    traffic = parse_scenario(text).scenario.traffic[0]
    assert isinstance(traffic, OpenLoop)
    assert isinstance(traffic.sizes, Workload)
    assert traffic.load == 800_000


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("k = 4", "kk = 4", r"test.toml: topology.kk: unknown key; did you mean 'k'\?"),
        ("k = 4", "k = 5", r"topology.k: 5: it must be even"),
        ("k = 4", 'k = "4"', r"topology.k: '4' is not a whole number"),
        ("k = 4\n", "", r"topology: `k` is missing"),
        ('"fat-tree"', '"fattree"', r"topology.kind: 'fattree' .*did you mean 'fat-tree'\?"),
        ('"10Gbit"', '"10Gb"', r"topology.rate: '10Gb': 'Gb' is no unit of a rate"),
        ('"ndp"', '"npd"', r"switch.queue.discipline: 'npd' .*did you mean 'ndp'\?"),
        ("data =", "dta =", r"switch.queue.dta: unknown key; did you mean 'data'\?"),
        ("transport.homa", "transport.home", r"transport.home: no such protocol"),
        ("rtt-bytes", "rt-bytes", r"transport.homa.rt-bytes: .*did you mean 'rtt-bytes'\?"),
        ("senders = 3", "senders = 16", r"traffic.0.senders: 16 of 16 hosts"),
        ("senders = 3", "sender = 3", r"traffic.0.sender: .*did you mean 'senders'\?"),
        ('"270KB"', '"270"', r"traffic.0.size: '270'"),
        ('"270KB"', '"endles"', r"traffic.0.size: 'endles' is not a size"),
        ("seed = 7", "seed = 7.5", r"seed: 7.5 is not a whole number"),
        ("seed = 7", "sed = 7", r"sed: unknown key; did you mean 'seed'\?"),
    ],
)
def test_a_mistake_is_named_by_file_key_and_remedy(old: str, new: str, message: str) -> None:
    assert old in BASE
    with pytest.raises(UserError, match=message) as caught:
        parse_scenario(BASE.replace(old, new), "test.toml")
    assert all(line.startswith("test.toml: ") for line in str(caught.value).splitlines())


def test_all_mistakes_are_listed() -> None:
    text = BASE.replace("k = 4", "kk = 4").replace('"10Gbit"', '"10Gb"')
    with pytest.raises(UserError) as caught:
        parse_scenario(text, "test.toml")
    assert str(caught.value).splitlines() == [
        "test.toml: topology.kk: unknown key; did you mean 'k'?",
        "test.toml: topology.rate: '10Gb': 'Gb' is no unit of a rate; use one of bit, Kbit, Mbit, "
        "Gbit, Tbit, bit/s, Kbit/s, Mbit/s, Gbit/s, Tbit/s",
        "test.toml: topology: `k` is missing",
    ]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('{discipline="fair", limit="9KB"}', r"settings of fair stand in its `ndp` and `others`"),
        ('{discipline="fair", ndp-share="1%"}', r"ndp-share: must be 2.5% to 97.5%"),
        ('{discipline="fair", ndp={discipline="fair"}}', r"queue.ndp: fair within fair"),
        ('{discipline="fair", others={discipline="ecm"}}', r"others.discipline: .*mean 'ecn'"),
        ('{discipline="fair", others={phantom={}}}', r"others.phantom: belongs to the port"),
        ('{discipline="ndp", ndp-share="50%"}', r'ndp-share: belongs to discipline = "fair"'),
    ],
)
def test_two_disciplines_side_by_side_are_checked(table: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_scenario(BASE, "test.toml", overrides=[f"switch.queue={table}"])


def test_what_is_no_toml_is_refused() -> None:
    with pytest.raises(UserError, match=r"x\.toml: not TOML"):
        parse_scenario("seed = ", "x.toml")


def test_overrides_set_values_and_reach_into_lists() -> None:
    file = parse_scenario(
        BASE,
        overrides=[
            "topology.k=8",
            "traffic.0.size=1MB",
            "transport.homa.rtt_bytes=20KB",
            "seed=9",
            "switch.queue.return-to-sender=true",
        ],
    )
    scenario = file.scenario
    assert scenario.topology == FatTree(k=8)
    assert scenario.traffic[0] == Incast(senders=3, size=1_000_000)  # type: ignore[arg-type]
    assert scenario.transport["homa"].settings == {"rtt_bytes": "20KB"}
    assert scenario.switch.queue.settings["return_to_sender"] is True
    assert scenario.seed == 9
    assert file.overrides[0] == "topology.k=8"


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("topology.k", "topology.k: write it like KEY=VALUE"),
        ("traffic.7.size=1MB", "'7' is no index; there are 1 entries"),
        ("seed.x=1", "lies below a value"),
        ("topology.x=1", "topology.x: unknown key"),
    ],
)
def test_an_override_with_a_mistake_is_refused(item: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_scenario(BASE, overrides=[item])


def test_two_transports_need_traffic_to_say_which() -> None:
    with pytest.raises(UserError, match="`transport` is missing: the scenario has homa, blast"):
        parse_scenario(BASE + "[transport.blast]\n")


def test_endless_flows_need_an_end() -> None:
    text = BASE.replace('duration = "30ms"', "").replace('"270KB"', '"endless"')
    with pytest.raises(UserError, match="endless flows need a `duration`"):
        parse_scenario(text)


def test_paths_start_from_the_scenarios_folder(tmp_path: Path) -> None:
    (tmp_path / "sizes.txt").write_text("# interpolation: step\n100 1\n")
    (tmp_path / "own.toml").write_text(
        BASE.replace(
            'kind = "incast"\nsenders = 3\nsize = "270KB"',
            'kind = "open-loop"\nsizes = "sizes.txt"\nload = "10%"\nuntil = "1ms"',
        )
    )
    traffic = load_scenario(tmp_path / "own.toml").scenario.traffic[0]
    assert isinstance(traffic, OpenLoop)
    assert isinstance(traffic.sizes, Workload)
    assert traffic.sizes.sizes == (100,)


def test_a_missing_file_is_refused_with_the_shipped_names() -> None:
    with pytest.raises(UserError, match="cannot read this scenario"):
        load_scenario("none.toml")
    with pytest.raises(UserError, match="neither a file nor a shipped scenario"):
        load_scenario("none")


@pytest.mark.parametrize("name", ["x" * 5000, "/dev/zero", "/etc/hostname/x.toml"])
def test_what_cannot_be_read_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="cannot read this scenario"):
        load_scenario(name)


def test_a_folder_of_results_is_no_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who writes results into a folder called as the scenario may run it again."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "incast").mkdir()
    assert load_scenario("incast").scenario.title


@pytest.mark.parametrize("name", shipped_scenarios())
def test_every_shipped_scenario_is_sound_and_says_what_it_shows(name: str) -> None:
    assert load_scenario(name).scenario.title
