"""What a stack cannot be opened with is refused by name, before anything is opened."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import fields
from typing import Any

import pytest

import ndpstack
from ndpstack._config import NUMBERS

GOOD: dict[str, Any] = {
    "name": f"config-{os.getpid()}", "backend": "memory", "address": "10.0.0.1", "listen": True,
    "visible": False,
}  # fmt: skip


def open_with(**settings: object) -> None:
    with ndpstack.Stack(ndpstack.StackConfig(**{**GOOD, **settings})):
        pass


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_out_of_all_bounds(name: str) -> None:
    least, most = NUMBERS[name]
    for value in (least - 1, most + 1, 10**30):
        with pytest.raises(ValueError, match=f"^{name} {value} is not in {least}..{most}$"):
            open_with(**{name: value})
    with pytest.raises(TypeError, match=f"^{name} 1.5 is no whole number$"):
        open_with(**{name: 1.5})


@pytest.mark.parametrize("name", NUMBERS)
def test_the_core_says_what_is_too_much(name: str) -> None:
    """Whatever it can be told reaches it as it is."""
    with suppress(ndpstack.NdpError):
        open_with(**{name: NUMBERS[name][1]})


def test_all_numbers_have_bounds() -> None:
    whole = {field.name for field in fields(ndpstack.StackConfig) if str(field.type)[:3] == "int"}
    assert whole <= set(NUMBERS)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"backend": "x"}, "backend 'x' is none of xdp, packet, udp, memory"),
        ({"backend": "x", "address": None}, "backend 'x' is none of xdp, packet, udp, memory"),
        ({"profile": "x"}, "profile 'x' is none of adaptive, spin, throughput"),
        ({"xdp_mode": "x"}, "xdp_mode 'x' is none of auto, native, generic"),
        ({"protocols": ("ndp", "x")}, "protocol 'x' is none of ndp, homa"),
    ],
)
def test_what_is_no_choice(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}$"):
        open_with(**settings)
