"""Interfaces that are not here, for checks of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ndpstack.doctor._interface import Interface

if TYPE_CHECKING:
    from ndpstack.doctor._features import Features


def interface(
    driver: str, *, is_software: bool = False, features: Features | None = None
) -> Interface:
    """One that is up, with this driver, which says of itself what it can do or does not."""
    return Interface(
        name="e0",
        index=2,
        mtu=1500,
        up=True,
        carrier=True,
        ethernet=True,
        driver=driver,
        is_software=is_software,
        features=features,
        rx_queues=1,
        holds_default_route=False,
    )
