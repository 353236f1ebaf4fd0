"""Counters since the operator cleared them; the data path's own never go back."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from switchd.dataplane import Counters, SwitchReading


def since(now: Counters, then: Counters) -> dict[str, dict[str, int]]:
    """The counters less their baseline; of a port that was made anew, all of them."""
    result: dict[str, dict[str, int]] = {}
    for group, values in now.items():
        base = then.get(group, {})
        # All of a group restart at once: one that went back says that all did.
        again = any(value < base.get(name, 0) for name, value in values.items())
        result[group] = {
            name: value if again else value - base.get(name, 0) for name, value in values.items()
        }
    return result


class Baselines:
    """What `clear` noted."""

    def __init__(self) -> None:
        self._then: dict[str, SwitchReading] = {}

    def clear(self, readings: Mapping[str, SwitchReading]) -> None:
        """From now on, counters count from these readings."""
        self._then.update(readings)

    def apply(self, switch: str, reading: SwitchReading) -> SwitchReading:
        """The reading as the operator wants to see it."""
        then = self._then.get(switch)
        if then is None:
            return reading
        ports = {
            name: dataclasses.replace(
                port, counters=since(port.counters, then.ports[name].counters)
            )
            if name in then.ports
            else port
            for name, port in reading.ports.items()
        }
        return dataclasses.replace(
            reading, counters=since(reading.counters, then.counters), ports=ports
        )
