"""Counters since the operator cleared them; the data path's own never go back."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from switchd.dataplane import Counters, SwitchHandle, SwitchReading
    from switchd.runtime import LivePort, LiveSwitch


@dataclass(frozen=True)
class _Noted:
    """What was counted, and by whom: one that was made anew counts from 0."""

    handle: SwitchHandle
    ports: Mapping[str, LivePort]
    reading: SwitchReading


def since(now: Counters, then: Counters) -> dict[str, dict[str, int]]:
    """The counters less their baseline; of a group that began again, all of them."""
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
        self._then: dict[str, _Noted] = {}

    def clear(self, switches: Mapping[str, LiveSwitch]) -> None:
        """From now on, counters of these switches count from what they are."""
        for name, live in switches.items():
            self._then[name] = _Noted(live.handle, dict(live.ports), live.handle.read())

    def reading(self, switch: str, live: LiveSwitch) -> SwitchReading:
        """What a switch counts, as the operator wants to see it."""
        ports, reading = dict(live.ports), live.handle.read()
        then = self._then.get(switch)
        if then is None or then.handle is not live.handle:
            return reading
        counted = {
            name: dataclasses.replace(
                port, counters=since(port.counters, then.reading.ports[name].counters)
            )
            if name in then.reading.ports and then.ports.get(name) is ports.get(name)
            else port
            for name, port in reading.ports.items()
        }
        return dataclasses.replace(
            reading, counters=since(reading.counters, then.reading.counters), ports=counted
        )
