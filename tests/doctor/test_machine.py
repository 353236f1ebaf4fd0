"""The doctor's checks of the machine, fed with machines that are not this one."""

from __future__ import annotations

import fcntl
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ndpstack.doctor import Finding, Status, examine_machine, mend
from ndpstack.doctor._machine import (
    check_capabilities,
    check_cpus,
    check_kernel,
    check_leftovers,
    check_memlock,
)
from ndpstack.testbed import left_folders, temporary_folder


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


HELD = """
import sys
from ndpstack.testbed import temporary_folder
with temporary_folder() as folder:
    (folder / "switchd.toml").touch()
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_a_folder_is_left_behind_by_none_but_the_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with temporary_folder():
        assert not left_folders()
    with subprocess.Popen(
        [sys.executable, "-c", HELD],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        assert not left_folders()
        owner.kill()
        owner.wait()
        (found,) = check_leftovers_of(folder)
        assert found.status is Status.FAIL
        assert found.remedy == f"rm -r {folder}"
        assert [repair.error for repair in mend([found], warnings=False)] == [None]
    assert not list(tmp_path.iterdir())
    assert not check_leftovers_of(folder)


def test_a_folder_whose_process_has_only_begun_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it has its lock it looks left behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lock = fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        found.extend(check_leftovers())
        lock(descriptor, operation)

    found: list[Finding] = []
    monkeypatch.setattr(fcntl, "flock", flock)
    with temporary_folder() as folder:
        wanted = [each for each in found if str(folder) in each.text]
        assert [repair.error for repair in mend(wanted, warnings=False)] == [
            "Device or resource busy"
        ]
        assert folder.exists()


def test_a_folder_that_was_removed_before_it_had_its_lock_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lock = fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        for each in left_folders():
            each.rmdir()
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    with temporary_folder() as folder:
        assert folder.exists()
        assert list(tmp_path.iterdir()) == [folder]


def check_leftovers_of(folder: Path) -> list[Finding]:
    """What is said of the folder."""
    return [found for found in check_leftovers() if str(folder) in found.text]
