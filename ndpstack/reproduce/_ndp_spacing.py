"""PULLs as a real host spaces them, against perfect ones (section 6, figure 13)."""

from __future__ import annotations

from importlib import resources

from ndpstack.reproduce._experiment import Check, Effort, Figure, Line, Outcome
from ndpstack.reproduce._ndp_runs import SMALL, ends_us, goodput_gbps, incast_to_0

LATENESS = resources.files("ndpstack") / "data" / "measured" / "pull-lateness.txt"
LATE_TIMERS = f"hosts.timer-delay.file={LATENESS}"
"""What the engine's clock sets off comes as much later as PULLs did on a real host."""
LATE_SENDING = f"hosts.send-delay.file={LATENESS}"
"""All that a host sends leaves as much later."""


def many(effort: Effort, outcome: Outcome) -> None:
    """A permutation with packets of 1,500 bytes.

    PULLs that the clock sets off are late; those that are due when a packet arrives go at once, as
    from our hosts. What it costs to be late with every packet, data too, is said beside it.
    """
    fabric = (f"topology.k={effort.choose(8, 12)}", SMALL)
    run_ms = effort.choose(1.0, 4.0)
    perfect, timers, sending = (
        float(goodput_gbps(outcome, *fabric, *more, warm_ms=1, run_ms=run_ms).mean())
        for more in ((), (LATE_TIMERS,), (LATE_SENDING,))
    )
    lost = 100 * (1 - timers / perfect)
    outcome.checks += [
        Check("goodput, perfect spacing", "-", perfect, unit="Gb/s"),
        Check("goodput lost by the measured spacing", "1.2", lost, high=1.5, unit="%"),
        Check("goodput lost where data is as late", "-", 100 * (1 - sending / perfect), unit="%"),
    ]


def incast(effort: Effort, outcome: Outcome) -> None:
    """200:1, by the size of a flow: the last one. Its receiver sends control packets only."""
    sizes = effort.choose((9, 135), (9, 45, 135, 450, 900))
    curves: dict[str, list[float]] = {"perfect spacing": [], "measured spacing": []}
    for size in sizes:
        for curve, more in zip(curves.values(), ((), (LATE_SENDING,)), strict=True):
            run = incast_to_0(outcome, 200, f"{size}KB", *more)
            curve.append(float(ends_us(run).max()))
        perfect, measured = (curve[-1] for curve in curves.values())
        outcome.checks.append(
            Check(
                f"{size} KB: last flow later by",
                "no difference",
                100 * (measured / perfect - 1),
                high=0.5,
                unit="%",
            )
        )
    outcome.figures.append(
        Figure(
            "200:1 incast: last flow",
            "flow [KB]",
            "completion [us]",
            [Line(name, [float(size) for size in sizes], ys) for name, ys in curves.items()],
            x_log=True,
            y_log=True,
        )
    )
