"""Turns off the offloads that break a software switch on veth.

With them on, the kernel hands over super-frames beyond the MTU, frames without a finished checksum
and frames whose VLAN tag is only in metadata; ping then works and TCP does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyroute2 import Ethtool

from ndpstack._netns import call_inside
from ndpstack.testbed._errors import TestbedError

if TYPE_CHECKING:
    from collections.abc import Iterable

PREFIXES = ("tx-checksum", "tx-vlan")
SEGMENTATION = "segmentation"


def _is_unwanted(feature: str) -> bool:
    return feature.startswith(PREFIXES) or (feature.startswith("tx-") and SEGMENTATION in feature)


def disable_offloads(namespace: str, interfaces: Iterable[str]) -> None:
    """Turns checksum, segmentation and VLAN offloads off on interfaces of a namespace.

    Raises:
        TestbedError: The kernel refused; the text names the interface.
    """

    def turn_off() -> None:
        with Ethtool() as ethtool:
            for interface in interfaces:
                try:
                    _turn_off(ethtool, interface)
                except Exception as error:
                    raise TestbedError(
                        f"cannot turn offloads off on {interface} in {namespace}: {error}"
                    ) from error

    call_inside(namespace, turn_off)


def _turn_off(ethtool: Ethtool, interface: str) -> None:
    features = ethtool.get_features(interface)
    for name, feature in features.features.items():
        if _is_unwanted(name):
            feature.enable = False
    ethtool.set_features(interface, features)
