"""A learning switch at node s0 of a lab, run by this process."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ndpstack.switch import PortConfig, Switch, SwitchConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from ndpstack.testbed import Lab

UP_SECONDS = 20.0


def lab_switch(lab: Lab, make: Callable[[str], PortConfig]) -> Switch:
    """The switch with a port on each interface of s0, started and up.

    Args:
        lab: Where.
        make: The port of an interface.
    """
    switch = Switch(SwitchConfig(name="s0"))
    try:
        for name, _ in lab.plan.ports("s0"):
            switch.add_port(make(name))
        switch.start()
        deadline = time.monotonic() + UP_SECONDS
        while not all(port.up for port in switch.read().ports.values()):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    except BaseException:
        switch.close()
        raise
    return switch
