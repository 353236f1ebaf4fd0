"""The doctor's checks of the machine, fed with machines that are not this one."""

from __future__ import annotations

import resource

import pytest

from ndpstack.doctor import Status, examine_machine
from ndpstack.doctor._machine import (
    check_capabilities,
    check_cpus,
    check_kernel,
    check_memlock,
)


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("5.4.0-generic", [Status.FAIL]),
        ("5.15.0", [Status.OK, Status.NOTE, Status.NOTE]),
        ("6.6.1-arch", [Status.OK, Status.NOTE]),
        ("6.18.44", [Status.OK]),
        ("strange", [Status.FAIL]),
    ],
)
def test_kernel(release: str, expected: list[Status]) -> None:
    assert [finding.status for finding in check_kernel(release)] == expected


def test_each_missing_capability_is_named() -> None:
    finding = check_capabilities(1 << 13)
    assert finding.status is Status.WARN
    assert "CAP_NET_ADMIN, CAP_BPF" in finding.text
    assert check_capabilities((1 << 12) | (1 << 13) | (1 << 39)).status is Status.OK


def test_memlock_limit_counts_only_without_the_capability() -> None:
    # AFXDP A.7: UMEM registration fails with ENOBUFS; the remedy must name LimitMEMLOCK.
    finding = check_memlock(64 << 10, 1 << 12 | 1 << 13 | 1 << 39)
    assert finding.status is Status.FAIL
    assert "LimitMEMLOCK" in str(finding.remedy)
    assert check_memlock(64 << 10, 0).status is Status.WARN, "no port of this user needs it"
    assert check_memlock(64 << 10, 1 << 14).status is Status.OK
    assert check_memlock(8 << 20, 0).status is Status.OK
    assert check_memlock(resource.RLIM_INFINITY, 0).status is Status.OK


def test_few_cpus_advise_against_spinning() -> None:
    assert check_cpus(2).status is Status.NOTE
    assert "up to 14 threads" in check_cpus(16).text


def test_whatever_is_wrong_names_its_remedy() -> None:
    for finding in examine_machine():
        assert finding.status in (Status.OK, Status.NOTE) or finding.remedy, finding
        assert set(finding.as_dict()) == {
            *("check", "interface", "status", "text", "remedy", "fixable")
        }
