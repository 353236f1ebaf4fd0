"""What `--fix` repairs, and what becomes of a repair that fails."""

from __future__ import annotations

import errno

import pytest
from pyroute2.ethtool.ioctl import NotSupportedError
from pyroute2.netlink.exceptions import NetlinkError

from ndpstack.doctor import Finding, Status, mend
from ndpstack.testbed import TestbedError


def finding(status: Status, done: list[str], error: Exception | None = None) -> Finding:
    def repair() -> None:
        if error:
            raise error
        done.append(status.value)

    return Finding("link", status, "e0 is down", "ip link set e0 up", repair, "e0")


def test_only_what_stands_in_the_way_is_repaired_unless_asked() -> None:
    done: list[str] = []
    found = [finding(status, done) for status in Status]
    unrepairable = Finding("mtu", Status.FAIL, "it is too small")
    assert [item.finding for item in mend([*found, unrepairable], warnings=False)] == [found[-1]]
    assert done == ["fail"]
    done.clear()
    assert len(mend(found, warnings=True)) == 2
    assert done == ["warn", "fail"]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (NetlinkError(errno.EPERM, ""), "Operation not permitted; run as root"),
        (PermissionError(errno.EACCES, ""), "Permission denied; run as root"),
        (OSError(errno.EBUSY, ""), "Device or resource busy"),
        (TestbedError("it is held; see what holds it"), "it is held; see what holds it"),
        (NotSupportedError("e0"), "e0"),
        (NotSupportedError(), "NotSupportedError"),
    ],
)
def test_one_that_fails_says_why_and_ends_none(error: Exception, text: str) -> None:
    done: list[str] = []
    found = [finding(Status.FAIL, done, error), finding(Status.FAIL, done)]
    failed, mended = mend(found, warnings=False)
    assert failed.as_line() == f"could not be mended  e0 link: e0 is down: {text}"
    assert failed.as_dict() == {
        "check": "link",
        "interface": "e0",
        "text": "e0 is down",
        "error": text,
    }
    assert mended.as_line() == "mended  e0 link: e0 is down"
    assert done == ["fail"]
