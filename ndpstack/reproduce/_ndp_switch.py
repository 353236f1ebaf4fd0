"""Senders that nothing slows down, at a cut-payload switch and at NDP's: figure 2 of the paper."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from ndpstack.reproduce._experiment import Check, Effort, Figure, Line, Outcome, prepare
from ndpstack.reproduce._ndp_runs import HEADER_BYTES, LINK_BPS, SCENARIO

if TYPE_CHECKING:
    from collections.abc import Sequence

NDP = '{discipline="ndp", preset="paper", data="7pkt"}'
CP = '{discipline="cut-payload", threshold="8pkt", limit="10MB"}'
PACKET_BYTES = (9000, 1500)
JITTER_STEPS = 5000
"""Finer than senders are many, or those that tie keep their order."""
FAIR_FROM = 50
"""Senders from which CP is unfair."""


def _shares(
    outcome: Outcome, queue: str, packet: int, count: int, passed: int, *more: str
) -> tuple[float, float]:
    """Goodput of the mean and of the worst tenth of the senders, percent of a fair share.

    Args:
        outcome: Where the command is noted.
        queue: The discipline.
        packet: Bytes of a packet on the link.
        count: Number of senders.
        passed: Packets of each sender that could pass in the time of the run.
        more: Further overrides.
    """
    simulation = prepare(
        outcome,
        SCENARIO,
        f'topology={{kind="single-switch", hosts={count + 1}, rate="10Gbit", delay="1us"}}',
        f'transport={{blast={{mtu="{packet}B"}}}}',
        f"switch.queue={queue}",
        f'traffic.0={{kind="incast", size="endless", senders={count}}}',
        *more,
    )
    seconds = passed * count * packet * 8 / LINK_BPS
    warm_ps = round(seconds * 0.1e12)
    simulation.run(warm_ps)
    before = simulation.rows["payload_bytes"].astype(np.float64)
    simulation.run(warm_ps + round(seconds * 1e12))
    gained = np.sort(simulation.rows["payload_bytes"] - before)
    fair = passed * (packet - HEADER_BYTES)
    worst = gained[: max(1, count // 10)]
    return 100 * float(gained.mean()) / fair, 100 * float(worst.mean()) / fair


def _closed_form(packet: int, count: int) -> float:
    """CP: each packet that passes takes the headers of all others that came meanwhile along."""
    return max(0.0, 100 * (packet - HEADER_BYTES * count) / (packet - HEADER_BYTES))


def unresponsive(effort: Effort, outcome: Outcome) -> None:
    """N senders at line rate into one port, with packets of one size.

    Each packet comes up to its own length late, as from any real host. Without that, senders in
    step to the picosecond come in one order for ever, and the last of those that meet a full queue
    wins: the phase effects of the text.
    """
    counts = effort.choose((1, 10, 50), (1, 2, 5, 10, 20, 50, 100, 141, 200))
    for packet in PACKET_BYTES:
        in_step = [_shares(outcome, CP, packet, count, 100) for count in counts]
        with TemporaryDirectory() as folder:
            late = f"hosts.send-delay.file={_jitter(Path(folder), packet)}"
            cp = [_shares(outcome, CP, packet, count, 100, late) for count in counts]
            ndp = [_shares(outcome, NDP, packet, count, 100, late) for count in counts]
            fair = {
                count: _shares(outcome, NDP, packet, count, 4000, late)
                for count in effort.choose((10,), (10, 50))
            }
        _collapse(outcome, packet, counts, cp, in_step)
        floor = 93.3 if packet == 9000 else 70
        least = min(mean for mean, _ in ndp)
        outcome.checks.append(
            Check(f"NDP, {packet} B: least mean", "no collapse", least, low=floor, unit="%")
        )
        outcome.checks += [
            Check(f"NDP, {packet} B, {count} senders: worst tenth / mean", "fair", low / mean, 0.9)
            for count, (mean, low) in fair.items()
        ]
        outcome.figures.append(_figure(packet, counts, cp, ndp, in_step))


def _jitter(folder: Path, packet: int) -> Path:
    """Delays of up to the length of a packet, all equally likely."""
    length_ps = round(packet * 8 / LINK_BPS * 1e12)
    file = folder / "jitter.txt"
    file.write_text("\n".join(f"{i * length_ps // JITTER_STEPS}ps" for i in range(JITTER_STEPS)))
    return file


def _collapse(
    outcome: Outcome,
    packet: int,
    counts: Sequence[int],
    shares: list[tuple[float, float]],
    in_step: list[tuple[float, float]],
) -> None:
    """CP: the mean falls, and with senders in step some get nothing."""
    off = max(
        abs(mean - _closed_form(packet, count))
        for count, (mean, _) in zip(counts, shares, strict=True)
    )
    name = f"CP, {packet} B: mean, furthest from (C-64N)/(C-64)"
    outcome.checks.append(Check(name, "collapse", off, high=3, unit="points"))
    crowd = [
        worst / mean
        for count, (mean, worst) in zip(counts, in_step, strict=True)
        if count >= FAIR_FROM and mean > 0
    ]
    if crowd:
        name = f"CP, {packet} B, in step: worst tenth / mean, {FAIR_FROM} senders and more"
        outcome.checks.append(Check(name, "very unfair", max(crowd), high=0.5))


def _figure(
    packet: int,
    counts: Sequence[int],
    cp: list[tuple[float, float]],
    ndp: list[tuple[float, float]],
    in_step: list[tuple[float, float]],
) -> Figure:
    x = [float(count) for count in counts]
    return Figure(
        f"Unresponsive senders, packets of {packet} B",
        "senders",
        "goodput [% of a fair share]",
        [
            Line("NDP, mean", x, [mean for mean, _ in ndp]),
            Line("CP, mean", x, [mean for mean, _ in cp]),
            Line("CP in step, worst tenth", x, [worst for _, worst in in_step]),
        ],
    )
