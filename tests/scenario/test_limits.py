"""Numbers that no run can be made of: each is refused at once, in one line that names its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ndpstack._errors import UserError
from ndpstack.scenario import parse_scenario
from ndpstack.sim import Simulation

if TYPE_CHECKING:
    from pathlib import Path

DIGITS = "9" * 5000
"""More than Python takes for a number."""

BASE = """
duration = "1ms"
[topology]
kind = "single-switch"
hosts = 4
[transport.ndp]
[[traffic]]
kind = "permutation"
size = "9KB"
"""


def open_loop(**keys: str) -> str:
    table = {"sizes": '"1KB"', "until": '"1ms"', **keys}
    inner = ", ".join(f"{key.replace('_', '-')} = {value}" for key, value in table.items())
    return f'traffic.0={{kind = "open-loop", {inner}}}'


def scheduler(rate: str) -> str:
    return f'traffic.0={{kind="scheduler", arrival-rate="{rate}", flows=10, size="1KB"}}'


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (open_loop(load="nan"), r"traffic\.0\.load: nan is not a share"),
        (open_loop(load='"1e999999999%"'), r"traffic\.0\.load: "),
        (open_loop(rate='"-5/s"'), r"traffic\.0\.rate: '-5/s' is negative"),
        (open_loop(rate='"1e15/s"'), r"traffic\.0\.rate: .* within 0\.001/s to 1e\+12/s"),
        (open_loop(rate='"1e-9/s"'), r"traffic\.0\.rate: "),
        (open_loop(load="0.5", sizes='"0B"'), r"less than a picosecond .* lower `load`"),
        (open_loop(load="0.5", until='"1000s"'), r"flows are more than 50,000,000; shorten"),
        (
            open_loop(load="0.5", sources="[1,1]", targets="[1,1]"),
            r"targets: host 1 is the only",
        ),
        (
            open_loop(load="0.5", sizes='{pareto-shape=nan, mean="9KB"}'),
            r"pareto: shape nan",
        ),
        (open_loop(load="0.5", sizes='{pareto-shape=2, mean="0B"}'), r"pareto: a mean of 0"),
        (scheduler("0/s"), r"traffic\.0\.arrival-rate: 0/s does not lie within"),
        (scheduler("0.001/s").replace("10,", "30000,"), r"not all 30,000 flows start within"),
        (scheduler("1e-9/s"), r"traffic\.0\.arrival-rate: "),
        ("traffic.0.kind=[]", r"traffic\.0\.kind: \[\] is not one of them"),
        ("traffic.0.reply=9TB", r"traffic\.0\.reply: '9TB' is not within 0B to 4\.295GB"),
        ("traffic.0.repeat=0", r"traffic\.0\.repeat: 0 is not within 1 to"),
        ("traffic.0.start=2e6s", r"traffic\.0\.start: '2e6s' is not within"),
        ("traffic.0.priority=8", r"traffic\.0\.priority: 8 is not within 0 to 7"),
        ("switch.shared-alpha=nan", r"switch\.shared-alpha: nan is not a number"),
        ("switch.shared-alpha=65", r"switch\.shared-alpha: 65 is not within 0 to 64"),
        ("switch.shared-buffer=0B", r"switch\.shared-buffer: '0B' is not within 1B to"),
        ("switch.shared-buffer=5GB", r"switch\.shared-buffer: '5GB' is not within 1B to"),
        ("switch.queue.phantom={threshold='2GB'}", r"phantom\.threshold: '2GB' is not within 0B"),
        ("limits.packets=4294967295", r"4294967295 packets in the network at once: .* below"),
        ("limits.events=4294967295", r"4294967295 events pending at once: at most 1073741824"),
        ("hosts.nic-packets=0", r"hosts\.nic-packets: 0 is not within 1 to"),
        ("hosts.receive-delay=2s", r"hosts\.receive-delay: '2s' is not within 0ps to 1s"),
        ("topology.rate=1bit", r"topology\.rate: '1bit' is not within 1Mbit to 3\.2Tbit"),
        ("topology.delay=2s", r"topology\.delay: '2s' is not within"),
        ("topology.hosts=70000", r"topology\.hosts: 70000 is not within 1 to 65536"),
        ("transport.ndp.mtu=64B", r"transport\.ndp\.mtu: '64B' is not within 68B to 65\.53KB"),
        ("probes.timeline-host=4", r"probes\.timeline-host: there is no host 4; they are 0 to 3"),
        (f"seed={DIGITS}", r"seed: '9+' is not a whole number"),
        (f"traffic.{DIGITS}.size=1KB", r"'9+' is no index; there are 1 entries"),
        (f"transport.ndp.mss-bytes={DIGITS}pkt", r"transport\.ndp\.mss-bytes: '9+pkt' is not"),
    ],
)
def test_a_number_beyond_reason_is_refused(item: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Simulation(parse_scenario(BASE, overrides=[item]))


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("unscheduled-levels=9", r"transport\.homa: unscheduled_levels must be 1\.\.7"),
        ("unscheduled-levels=-1", r"homa\.unscheduled-levels: -1 does not fit into uint"),
        ("scheduled-levels=5000000000", r"homa\.scheduled-levels: 5000000000 does not fit"),
    ],
)
def test_levels_that_the_papers_homa_cannot_have_are_refused(item: str, message: str) -> None:
    text = BASE.replace("transport.ndp", "transport.homa")
    with pytest.raises(UserError, match=message):
        Simulation(
            parse_scenario(
                text, overrides=['transport.homa.preset="paper"', f"transport.homa.{item}"]
            )
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('rate = "0bit"', r"link\.0\.rate: '0bit' is not within 1Mbit to"),
        ('delay = "2s"', r"link\.0\.delay: '2s' is not within"),
        ("loss = nan", r"link\.0\.loss: nan is not a probability"),
        ('loss = "1e999999999"', r"link\.0\.loss: "),
        ('corruption = "1%"', r"link\.0\.corruption: .* a byte .* to lose packets give `loss`"),
    ],
)
def test_a_cable_cannot_become_what_no_cable_is(change: str, message: str) -> None:
    link = f'[[link]]\nbetween = ["host 0", "edge 0"]\n{change}\n'
    with pytest.raises(UserError, match=message):
        parse_scenario(BASE + link)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("nan,1,2,100", r"trace\.csv:2: nan us is no time"),
        ("-1,1,2,100", r"trace\.csv:2: -1\.0 us is no time"),
        ("1,-1,2,100", r"trace\.csv:2: from -1 to 2; hosts are two of 0 to 3"),
        ("1,2,4,100", r"trace\.csv:2: from 2 to 4"),
        ("1,2,2,100", r"trace\.csv:2: from 2 to 2"),
        ("1,2,3,1000000000000000000000", r"trace\.csv:2: 10+ bytes do not lie within"),
    ],
)
def test_a_row_of_a_trace_is_checked(tmp_path: Path, row: str, message: str) -> None:
    (tmp_path / "trace.csv").write_text(f"start_us,source,target,bytes\n{row}\n")
    item = 'traffic.0={kind="trace", file="trace.csv"}'
    with pytest.raises(UserError, match=message):
        Simulation(parse_scenario(BASE, base=tmp_path, overrides=[item]))


@pytest.mark.parametrize(
    ("text", "message"),
    [("5ms\n", r"5ms is above 4\.2"), ("\n", r"no delays in it"), ("5\n", r"'5' has no unit")],
)
def test_measured_delays_are_checked(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "delays.txt").write_text(text)
    item = "hosts.receive-delay.file=delays.txt"
    with pytest.raises(UserError, match=message):
        Simulation(parse_scenario(BASE, base=tmp_path, overrides=[item]))


def test_an_integer_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(UserError, match="scenario: an integer in it has thousands of digits"):
        parse_scenario(f"seed = {DIGITS}")


def test_tables_within_tables_without_end_are_refused() -> None:
    with pytest.raises(UserError, match="nested too deeply"):
        parse_scenario("a = " + "[" * 20_000)
