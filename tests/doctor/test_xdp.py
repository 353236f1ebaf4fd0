"""The check of XDP programs, fed with one that no interface here can have."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

from interfaces import interface

from ndpstack._core import ffi, lib
from ndpstack.doctor import Status, _xdp

if TYPE_CHECKING:
    import pytest

    from ndpstack import _core

OFFLOAD = ffi.new("char[]", b"offload")
INTERFACE = interface("nfp")


def find_offloaded(occupant: _core.CData, _: int) -> None:
    for field, value in {"program": 7, "seen": True, "mode": OFFLOAD}.items():
        setattr(occupant, field, value)


def test_a_program_in_the_nic_stands_in_nobodys_way(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = SimpleNamespace(
        nd_xdp_occupant_find=find_offloaded,
        nd_xdp_occupant_describe=lib.nd_xdp_occupant_describe,
        nd_xdp_occupant_remedy=lib.nd_xdp_occupant_remedy,
        ND_XDP_OCCUPANT_TEXT_BYTES=lib.ND_XDP_OCCUPANT_TEXT_BYTES,
    )
    monkeypatch.setattr(_xdp, "lib", fake)
    finding = _xdp.check_xdp(INTERFACE)
    assert (finding.status, finding.remedy) == (Status.NOTE, None)
    assert "(id 7, offload mode) is attached" in finding.text
