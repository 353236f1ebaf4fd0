"""What a stack cannot be opened with is refused by name, before anything is opened."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import fields
from typing import Any

import pytest

import ndpstack
from ndpstack import _interface
from ndpstack._config import NUMBERS, with_address
from ndpstack.control import parse_address

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
    "address",
    ["", "a:b", "10.9.0.2", "10.9.0.2:0", "10.9.0.2:99999", ":4000", "hosts.sock", "/a\0:1"],
)
def test_where_no_switchd_can_be(address: str) -> None:
    """It would be looked for as long as the stack is open."""
    with pytest.raises(ValueError, match=r"^switchd '.*' is neither a path nor ADDRESS:PORT$"):
        open_with(switchd=address)


@pytest.mark.parametrize(
    ("address", "parsed"),
    [
        ("/run/a:b", "/run/a:b"),
        ("./hosts.sock", "./hosts.sock"),
        ("10.9.0.2:4000", ("10.9.0.2", 4000)),
        ("[fd00::1]:65535", ("fd00::1", 65535)),
        ("fd00::1:04000", ("fd00::1", 4000)),
    ],
)
def test_where_a_switchd_can_be(address: str, parsed: object) -> None:
    assert parse_address(address) == parsed


@pytest.mark.parametrize("one", ["10.0.0.", "fd00::"])
def test_two_addresses_of_one_family(one: str) -> None:
    with pytest.raises(ValueError, match=f"^address {one}1 and address6 {one}2 are of one family"):
        open_with(address=f"{one}1", address6=f"{one}2")


@pytest.mark.parametrize(
    ("found", "address6", "own", "other"),
    [
        (["10.0.0.1", "10.0.0.2", "fd00::1"], None, "10.0.0.1", None),
        (["10.0.0.1", "fd00::1"], "fd00::2", "10.0.0.1", "fd00::2"),
        (["10.0.0.1", "fd00::1"], "10.0.0.2", "fd00::1", "10.0.0.2"),
        (["fd00::1"], "fd00::2", "fd00::2", None),
    ],
)
def test_the_interface_has_the_other_address(
    found: list[str],
    address6: str | None,
    own: str,
    other: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_interface, "own_addresses", lambda *_: found)
    config = with_address(ndpstack.StackConfig(name="eth0", address6=address6))
    assert (config.address, config.address6) == (own, other)


@pytest.mark.parametrize("name", ["name", "netns", "service", "record"])
def test_a_text_that_would_be_cut(name: str) -> None:
    """The core's texts end at a NUL: it would open something else."""
    with pytest.raises(ValueError, match=rf"^{name} 'a\\x00b' has a NUL in it$"):
        open_with(**{name: "a\0b"})
    with pytest.raises(ValueError, match="has a NUL in it"):
        ndpstack.Stack.attach("a\0b")


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
