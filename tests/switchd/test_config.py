"""Configuration files: every mistake is named with its place, and nothing else gets through."""

from __future__ import annotations

import dataclasses
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_host import fresh_opening

from ndpstack.switch import Switch
from ndpstack.toml import Table, to_toml
from switchd.config import (
    BUILT_IN,
    Config,
    ConfigError,
    from_table,
    load,
    merge,
    plain,
)
from switchd.plan import PROFILES, build_plan

ROOT = Path("/")

GOOD = """\
[daemon]
log = "debug"
metrics = ""

[profile.deep]
discipline = "ndp"
data = "32pkt"

[switch.tor0]
forwarding = "fib"
aging = "60s"

[switch.tor0.trim]
size = "128B"
dscp_value = "from-tc"

[switch.tor0.port.h1]
backend = "packet"
device = "eth1"
rate = "10Gbit/s"
profile = "deep"
tc-to-dscp = { 6 = 3 }
faults = { loss = "0.1%", delay = "5us" }

[switch.tor0.port.h2]
backend = "memory"
profile = "mixed"
listen = true
tc-to-dscp = { 6 = 7 }

[switch.tor0.group.up]
mode = "random"
ports = ["h1", "h2"]

[[switch.tor0.address]]
mac = "02-00-00-00-00-0A"
to = "h1"

[[switch.tor0.route]]
prefix = "10.0.0.0/8"
to = "up"

[[path]]
id = 1
value = 1
via = ["tor0/h1"]

[host.h1]
port = "tor0/h1"
address = ["10.0.0.1"]
"""


def write(folder: Path, text: str, name: str = "switchd.toml") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def problems(folder: Path, text: str) -> list[str]:
    """The mistakes of a configuration, without the file's folder."""
    with pytest.raises(ConfigError) as caught:
        build_plan(load(write(folder, text)))
    return [line.removeprefix(f"{folder}/") for line in caught.value.lines]


def test_values_have_units_and_names_may_have_underscores(tmp_path: Path) -> None:
    loaded = load(write(tmp_path, GOOD))
    switch = loaded.config.switch["tor0"]
    assert switch.port["h1"].rate == 10**10
    assert switch.aging == 60 * 10**12
    assert switch.trim.size == 128
    assert switch.address[0].mac == "02:00:00:00:00:0a"
    plan = build_plan(loaded)["tor0"]
    assert plan.base.aging_ns == 60 * 10**9
    assert plan.ports["h1"].queue.settings["data"] == {"bytes": 0, "packets": 32}
    assert plan.ports["h1"].faults.loss == 0.001
    assert plan.ports["h1"].trim.dscp == 3, "asymmetric: says where it was trimmed"
    assert plan.ports["h2"].trim.dscp == 7
    assert plan.ports["h2"].queue.discipline == "fair"


def test_all_mistakes_are_listed_with_file_line_and_remedy(tmp_path: Path) -> None:
    text = GOOD.replace("rate =", "rtae =").replace('"random"', '"randon"')
    text = text.replace('to = "up"', 'to = "upp"').replace('"5us"', '"5"')
    assert problems(tmp_path, text) == [
        "switchd.toml:20: switch.tor0.port.h1.rtae: unknown key; did you mean 'rate'?",
        "switchd.toml:23: switch.tor0.port.h1.faults.delay: '5' has no unit; "
        "use one of ps, ns, us, ms, s, min",
        "switchd.toml:32: switch.tor0.group.up.mode: 'randon' is not one of them; "
        "did you mean 'random'?",
        "switchd.toml:41: switch.tor0.route.0.to: 'upp' is no port or group of this switch; "
        "did you mean 'up'?",
    ]


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("[switch.a.port.p]\nprofile = 'npd'", "'npd' is no profile; did you mean 'ndp'?"),
        ("[profile.ndp]\ndiscipline = 'ecn'", "name of a built-in profile"),
        ("[profile.x]\ndiscipline = 'fair'", "fair needs both `ndp` and `others`"),
        ("[profile.x]\ndiscipline = 'ecn'\nndp = {discipline='ndp'}", "belong to discipline"),
        ("[switch.a.port.p]\nprofile='ecn'\npacket-discard-action='drop'", "does not trim anyway"),
        ("[switch.a.port.p]\nprofile='ecn'\nheader-buffers='8pkt'", "has no header queue"),
        ("[switch.a.port.p]\necn = {}", "does not mark"),
        ("[switch.a.port.p]\nprofile='mixed'\nbuffers='8pkt'", "goes with one queue"),
        ("[switch.a.port.p]\nphantom = {}", "needs a `rate`"),
        ("[switch.a.port.p]\nrate='1Gbit'\nphantom={rate='2Gbit'}", "would never mark"),
        ("[switch.a.port.p]\nrate='1Kbit'", "1Mbit to 400Gbit"),
        ("[switch.a.port.p]\nmtu='9000B'", "do not fit into 2048B: set `frame` to 9022B"),
        ("[switch.a]\nframe='9021B'\nport.p.mtu='9000B'", "set `frame`"),
        ("[switch.a]\nframe='255B'", "switch.a.frame: '255B' is not within 256B to"),
        (
            "[switch.a]\nframe='512B'\nport.p.backend='memory'",
            "p.mtu: frames of 1522B do not fit into 512B: set `frame` to 1522B, or an `mtu` of at "
            "most 490B: it is 1500B without",
        ),
        (
            "[switch.a]\nframe='1521B'\nport.p={backend='udp', device='127.0.0.1:1'}",
            "set `frame` to 1522B",
        ),
        ("[switch.a.port.p]\nmtu='67B'", "p.mtu: 67B is below 68B"),
        ("[switch.a.port.p]\nfaults.reorder-max='5s'", "reorder-max: '5s' is not within 0ps to"),
        (
            "[switch.a.port.p]\nphantom={rate='1Gbit', threshold='1GiB'}",
            "phantom.threshold: 1.074GB is not below 1GiB",
        ),
        ("[switch.a.port.p]\nphantom.rate='2Tbit'", "phantom.rate: 2Tbit is above 1Tbit"),
        (
            "[switch.a]\nforwarding='fib'\nroutes=16\nport.p={}\nroute=["
            + ", ".join(f"{{prefix='10.{net}.0.0/16', to='p'}}" for net in range(17))
            + "]",
            "switch.a.routes: 16 is less than the 17 of `route`",
        ),
        ("[[path]]\nid=0\nvalue=-1", "path.0.value: -1 is no label that packets carry"),
        (
            "[[path]]\nid=0\nvalue=65536\nencoding='source-route'",
            "path.0.value: 65536 is no source-route that packets carry: 0 to 65535",
        ),
        ("[switch.a.port.p]\nbackend='packet'\nqueues=2", 'backend = "xdp" only'),
        ("[switch.a.port.p]\nbackend='memory'\nnetns='x'", "has no interface"),
        ("[switch.a.port.p]\nbackend='udp'", "write it like"),
        ("[switch.a.port.p]\nbuffers='0B'", "limit"),
        ("[switch.a.port.p]\n[switch.b.port.p]", "is the device of a/p, too"),
        ("[switch.a.port.'sp ace']", "is no name"),
        ("[switch.a.port.p]\n[switch.a.group.p]\nports=['p']", "name of a port, too"),
        ("[switch.a.group.g]\nports=[]", "0 members"),
        ("[switch.a]\nroute=[{prefix='10.0.0.0/8', to='p'}]\nport={p={}}", 'forwarding = "fib"'),
        ("[switch.a]\nroute=[{prefix='10.0.0.1/8', to='p'}]", "host bits set"),
        ("[switch.a]\naddress=[{mac='01:00:00:00:00:01', to='p'}]", "group address"),
        ("[switch.a.trim]\ndscp-value=64", "not within 0 to 63"),
        ("[switch.a.trim]\ndscp-value='from'", "neither a number nor 'from-tc'"),
        ("[switch.a.trim]\ndscp-value='from-tc'\n[switch.a.port.p]", "entry for class 6"),
        ("[switch.a.trim]\ntc-value=1\ntc_value=2", "given twice"),
        ("[switch.a.wire]\nndp-port=0", "ndp_port"),
        ("[switch.a.wire]\nndpport=1", "did you mean 'ndp-port'"),
        ("[[path]]\nid=0\nvalue=0\nvia=['a/b']", "is no port"),
        ("[[path]]\nid=0\nvalue=0\nvia=['a']", "like 'tor0/h1'"),
        ("[[path]]\nid=0", "`value` is missing"),
        ("[[path]]\nid=0\nvalue=0\nhosts=['h1']", "'h1' is no host; there are none"),
        ("[[path]]\nid=0\nvalue='10.0.0.1'", 'encoding = "address"'),
        ("[[path]]\nid=0\nvalue=1\n[[path]]\nid=0\nvalue=1", "there twice"),
        ("[priorities]\ncutoffs=['2KB','1KB']", "ascending sizes"),
        ("[priorities]\nlevels=3", "8, 4, 2 or 1"),
        ("[switch.a.mirror.m]\nsource=[]\nfile='../x'", "without a folder"),
        ("[switch.a.mirror.m]\nsource=[]\nfile='f'", "mirror.m.source: no port; name those"),
        ("[switch.a]\nport.p={}\nmirror.m={source=['p','p'], file='f'}", "port is in it twice"),
        (
            "[switch.a.port.p]\n[switch.a.mirror]\nm={source=['p'], file='f'}\n"
            "[switch.b.port.q]\n[switch.b.mirror]\nn={source=['q'], file='f'}",
            "switch.b.mirror.n.file: 'f' is the file of a/m, too",
        ),
        ("[daemon]\nmetrics='localhost'", "write it like"),
        ("[daemon]\nclient-cpu='50ppm'", "is not within 0.1% to 100%"),
        ("[daemon]\nlog='loud'", "there are: debug"),
        ("[switch.a]\nport.p={}\ngroup.g.ports=['p','p']", "a port is in it twice"),
        ("[switch.a]\nnetns='n'", "switch.a.netns: belongs to forwarding"),
        (
            "[switch.a]\naddresses=0\nport.p={}\naddress=[{mac='02:00:00:00:00:01', to='p'}]",
            "addresses",
        ),
        ("daemon = 3", "is not a table"),
        ("[daemon", "switchd.toml"),
        ("a = " + "[" * 3000, "nested too deeply"),
        (f"[switch.a.port.p]\ntc-to-dscp={{ {'9' * 5000} = 1 }}", "is not a whole number"),
    ],
)
def test_mistakes_name_the_remedy(tmp_path: Path, table: str, text: str) -> None:
    found = problems(tmp_path, table)
    assert any(text in line for line in found), found


def test_paths_start_at_a_file_that_is_named_from_where_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "[daemon]\ncontrol='s.sock'\ncaptures='frames'")
    monkeypatch.chdir(tmp_path.parent)
    daemon = load(Path(tmp_path.name) / "switchd.toml").config.daemon
    assert (daemon.control, daemon.captures) == (tmp_path / "s.sock", tmp_path / "frames")


def test_two_memory_ports_may_name_one_peer(tmp_path: Path) -> None:
    table = (
        "[switch.a]\nport.p={backend='memory', device='x'}\nport.q={backend='memory', device='x'}"
    )
    assert set(build_plan(load(write(tmp_path, table)))["a"].ports) == {"p", "q"}


def test_frames_of_the_largest_mtu_just_fit(tmp_path: Path) -> None:
    path = write(tmp_path, "[switch.a]\nframe='9022B'\nport.p.mtu='9000B'")
    assert "p" in build_plan(load(path))["a"].ports


def test_what_the_core_takes_at_most_is_right(tmp_path: Path) -> None:
    port: Table = {
        "backend": "memory",
        "mtu": "68B",
        "faults": {"reorder-max": "4.29s"},
        "phantom": {"rate": "1Tbit", "threshold": f"{2**30 - 1}B"},
    }
    switch: Table = {"forwarding": "fib", "frame": "256B", "routes": 16, "port": {"p": port}}
    switch["route"] = [{"prefix": f"10.{net}.0.0/16", "to": "p"} for net in range(16)]
    table: Table = {"switch": {"a": switch}, "path": [{"id": 65535, "value": 65535}]}
    plan = build_plan(load(write(tmp_path, to_toml(table))))["a"]
    with Switch(plan.base) as core:
        core.add_port(dataclasses.replace(plan.ports["p"], opening=fresh_opening(mtu=68)))
        for prefix, route in plan.forwarding.routes.items():
            core.add_route(prefix, route.to, route.hops)


def test_files_of_conf_d_go_over_the_file_in_the_order_of_their_names(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    write(tmp_path, '[switch.tor0.port.h1]\nrate = "1Gbit"\n', "conf.d/10-rate.toml")
    write(tmp_path, '[switch.tor0.port.h1]\nrate = "2Gbit"\n', "conf.d/20-rate.toml")
    write(tmp_path, "[[path]]\nid = 2\nvalue = 2\n", "conf.d/30-path.toml")
    config = load(path).config
    assert config.switch["tor0"].port["h1"].rate == 2 * 10**9
    assert [entry.id for entry in config.path] == [1, 2]
    bad = write(tmp_path, '[switch.tor0.port.h1]\nrate = "fast"\n', "conf.d/40-bad.toml")
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert caught.value.lines[0].startswith(f"{bad}:2: switch.tor0.port.h1.rate: ")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml.*No such file"):
        load(tmp_path / "nowhere.toml")
    (tmp_path / "latin.toml").write_bytes(b"a = '\xe9'\n")
    with pytest.raises(ConfigError, match=r"latin\.toml"):
        load(tmp_path / "latin.toml")


def test_settings_at_run_time_go_over_all_files(tmp_path: Path) -> None:
    runtime: Table = {"switch": {"tor0": {"port": {"h1": {"rate": "5Gbit"}}}}}
    assert load(write(tmp_path, GOOD), runtime).config.switch["tor0"].port["h1"].rate == 5 * 10**9


def test_what_is_written_reads_back_as_the_same(tmp_path: Path) -> None:
    first = load(write(tmp_path, GOOD))
    text = to_toml(plain(first.config))
    second = load(write(tmp_path, text))
    assert second.config == first.config
    assert to_toml(plain(second.config)) == text
    everything = from_table(plain(first.config, defaults=True), tmp_path)
    assert everything.config == first.config


def test_every_built_in_profile_is_a_plan(tmp_path: Path) -> None:
    assert set(BUILT_IN) == set(PROFILES)
    text = "".join(f"[switch.a.port.{name}]\nprofile = '{name}'\n" for name in BUILT_IN)
    plan = build_plan(load(write(tmp_path, text)))
    disciplines = {name: port.queue.discipline for name, port in plan["a"].ports.items()}
    assert disciplines == {
        "ndp": "ndp", "homa": "strict", "pfabric": "pfabric", "ecn": "ecn",
        "droptail": "droptail", "mixed": "fair",
    }  # fmt: skip


def test_discarding_in_place_of_trimming_keeps_the_limit(tmp_path: Path) -> None:
    text = "[switch.a.port.p]\npacket_discard_action = 'drop'\nbuffers = '6pkt'\n"
    queue = build_plan(load(write(tmp_path, text)))["a"].ports["p"].queue
    assert queue.discipline == "droptail"
    assert queue.settings == {"limit": {"bytes": 0, "packets": 6}}


def paths(table: dict[str, object], keys: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [(*keys, key) for key in table]
    for key, value in table.items():
        if isinstance(value, dict):
            found += paths(value, (*keys, key))
    return found


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["10Gbit", "8pkt", "1e300KB", "-1us", "5us", "50%", "ndp", "tor0/h1", "h1"]),
    st.lists(st.one_of(st.integers(), st.text(max_size=3)), max_size=3),
    st.dictionaries(st.sampled_from(["rate", "a", "6", "ndp", "loss"]), st.integers(), max_size=2),
)


@given(st.data())
def test_no_configuration_crashes(data: st.DataObject) -> None:
    """Whatever stands where, it is either a plan that writes and reads back, or refused."""
    table = tomllib.loads(GOOD)
    for _ in range(data.draw(st.integers(1, 3))):
        keys = data.draw(st.sampled_from(paths(table)))
        node: dict[str, object] = table
        for key in keys[:-1]:
            inner = node[key]
            if not isinstance(inner, dict):
                break
            node = inner
        else:
            node[data.draw(st.sampled_from([keys[-1], keys[-1] + "x"]))] = data.draw(VALUES)
    with suppress(ConfigError):
        loaded = from_table(table, ROOT)
        build_plan(loaded)
        again = from_table(tomllib.loads(to_toml(plain(loaded.config))), ROOT)
        assert again.config == loaded.config


@given(st.binary(max_size=200))
def test_no_bytes_crash(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "switchd.toml"
    path.write_bytes(data)
    with suppress(ConfigError):
        assert isinstance(load(path).config, Config)


def test_merging_keeps_what_only_one_side_has() -> None:
    assert merge({"a": {"x": 1}, "b": [{"i": 1}]}, {"a": {"y": 2}, "b": [{"i": 2}], "c": 3}) == {
        "a": {"x": 1, "y": 2}, "b": [{"i": 1}, {"i": 2}], "c": 3,
    }  # fmt: skip
    assert merge({"a": [1]}, {"a": [2]}) == {"a": [2]}


def test_a_key_may_have_dashes_in_one_file_and_underscores_in_another(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("tc-to-dscp = { 6 = 3 }", "tc-to-dscp = { 6 = 3, 5 = 1 }"))
    trim = "[switch.tor0.trim]\ndscp-value = 9\n"
    faults = "[switch.tor0.port.h1.faults]\nreorder_max = '1us'\n"
    write(tmp_path, f"{trim}{faults}", "conf.d/10.toml")
    runtime: Table = {"port": {"h1": {"tc_to_dscp": {"6": 4}, "faults": {"reorder-max": "2us"}}}}
    switch = load(path, {"switch": {"tor0": runtime}}).config.switch["tor0"]
    assert switch.trim.dscp_value == 9
    assert switch.port["h1"].tc_to_dscp == {5: 1, 6: 4}
    assert switch.port["h1"].faults is not None
    assert switch.port["h1"].faults.reorder_max == 2 * 10**6
    twice = "[switch.tor0.trim]\ndscp-value = 9\ndscp_value = 9\n"
    write(tmp_path, twice, "conf.d/20.toml")
    with pytest.raises(ConfigError, match="given twice, with dashes and with underscores"):
        load(path)


def test_names_that_differ_in_a_dash_are_two(tmp_path: Path) -> None:
    path = write(tmp_path, "[switch.a.port.p_1]\nrate = '1Gbit'\n")
    write(tmp_path, "[switch.a.port.p-1]\nrate = '2Gbit'\n", "conf.d/10.toml")
    assert set(load(path).config.switch["a"].port) == {"p_1", "p-1"}
