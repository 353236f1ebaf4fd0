"""What is said of drivers, fed with some that are not here."""

from __future__ import annotations

import pytest
from interfaces import interface
from pyroute2.netlink.exceptions import NetlinkError

from ndpstack.doctor import Status
from ndpstack.doctor._features import Features, check_zero_copy, read_features
from ndpstack.doctor._interface import check_driver


@pytest.mark.parametrize(
    ("features", "status", "text"),
    [
        (Features.NATIVE | Features.ZERO_COPY, Status.OK, "driver ice has zero-copy, which"),
        (Features.NATIVE, Status.OK, "driver ice has no zero-copy: the kernel copies"),
        (None, Status.NOTE, "whether driver ice has zero-copy is not told before Linux 6.3"),
    ],
)
def test_zero_copy_is_told(features: Features | None, status: Status, text: str) -> None:
    finding = check_zero_copy(interface("ice", features=features))
    assert (finding.status, finding.text.startswith(text)) == (status, True)


@pytest.mark.parametrize(
    ("features", "status", "text"),
    [
        (Features.NATIVE, Status.OK, "driver ice: auto tries native XDP first"),
        (None, Status.OK, "driver ice: auto tries native XDP first"),
        (Features(0), Status.NOTE, "driver ice has no native XDP: auto falls back to generic"),
    ],
)
def test_native_mode_is_told(features: Features | None, status: Status, text: str) -> None:
    finding = check_driver(interface("ice", features=features))
    assert (finding.status, finding.text) == (status, text)


LOOPBACK = 1


@pytest.mark.skipif(read_features(LOOPBACK) is None, reason="this kernel is older than 6.3")
def test_an_interface_that_is_gone_is_an_error() -> None:
    with pytest.raises(NetlinkError):
        read_features((1 << 31) - 1)
