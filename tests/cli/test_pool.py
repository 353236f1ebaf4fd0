"""Processes of `ndpstack sweep` and `ndpstack reproduce`: an interrupt ends them silently."""

from __future__ import annotations

import multiprocessing
import signal
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING

import pytest

from ndpstack.cli import _pool
from ndpstack.cli._pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable

FORK = multiprocessing.get_context("fork")


def test_an_interrupt_is_no_traceback_of_a_process(capfd: pytest.CaptureFixture[str]) -> None:
    spawn = multiprocessing.get_context("spawn")
    with Pool(1, spawn) as pool, pytest.raises(BrokenProcessPool):
        pool.submit(signal.raise_signal, signal.SIGINT).result()
    assert capfd.readouterr().err == ""


def test_an_interrupt_waits_until_a_process_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    begin: Callable[[], None] = _pool._end_silently

    def checked() -> None:
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
        begin()

    monkeypatch.setattr(_pool, "_end_silently", checked)
    with Pool(1, FORK) as pool:
        there = pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ()).result()
    here = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert signal.SIGINT not in there | here
