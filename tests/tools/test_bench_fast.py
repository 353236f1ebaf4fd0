"""Verdicts of the bench of the fast path."""

from __future__ import annotations

from bench_fast import connect_rows


def _verdicts(ndp: float, tcp: float, tfo: float) -> list[str]:
    """Of NDP's time, and of its ratios to TCP and to TFO."""
    rows = connect_rows("connect", {"ndp": ndp, "tcp": tcp, "tfo": tfo})
    return [row.verdict for row in rows if row.target is not None]


def test_slow_tcp_gates_the_ratios_of_e_n07() -> None:
    """Above 60 us both ratios count, and each is judged by its own bound."""
    assert _verdicts(ndp=30, tcp=100, tfo=80) == ["ok", "ok", "ok"]
    assert _verdicts(ndp=36, tcp=100, tfo=70) == ["ok", "MISSED", "MISSED"]
    assert _verdicts(ndp=36, tcp=120, tfo=70) == ["ok", "ok", "MISSED"]


def test_fast_tcp_leaves_only_the_time_of_e_n07() -> None:
    """At 60 us or below no ratio counts, and the reason is named; NDP's own time still does."""
    why = "not gated: TCP takes 60.0 us, not above 60"
    assert _verdicts(ndp=62, tcp=60, tfo=50) == ["ok", why, why]
    assert _verdicts(ndp=63, tcp=60, tfo=50) == ["MISSED", why, why]
