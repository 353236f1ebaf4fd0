"""A host service within a program of one's own, which goes on when the service has ended."""

from __future__ import annotations

import os
import signal

import pytest

from ndpstack import StackConfig
from ndpstack.host import HostService, ServiceConfig, _service


def test_signals_are_the_programs_own_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C was swallowed ever after."""
    name = f"test-serving-{os.getpid()}"
    stack = StackConfig(
        name=f"{name}-link", backend="memory", address="10.0.0.1", listen=True, service=name,
        visible=False,
    )  # fmt: skip
    told: list[str] = []

    def notify(*lines: str) -> None:
        told.extend(lines)
        if "READY=1" in lines:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(_service, "plan", lambda _: stack)
    monkeypatch.setattr(_service, "notify", notify)
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    with HostService(ServiceConfig(service=name)) as service:
        service.serve()
        assert told[0] == "READY=1"
        assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
