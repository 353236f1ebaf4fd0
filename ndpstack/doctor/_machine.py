"""Checks of the machine: kernel, AF_XDP, capabilities, locked memory, CPUs, left-overs."""

from __future__ import annotations

import errno
import os
import platform
import re
import resource
import socket
from functools import partial
from typing import TYPE_CHECKING

from ndpstack import _capabilities
from ndpstack.doctor._finding import Finding, Status
from ndpstack.testbed import left_folders, leftovers, remove, remove_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

AF_XDP = 44

KERNEL_LINK = (5, 9)
"""First kernel whose XDP programs can hang on a BPF link, which ends with its owner."""

KERNEL_FEATURES = {
    (6, 6): "frames above 3498 B (multi-buffer AF_XDP)",
    (6, 16): "backpressure from veth instead of silent loss",
}

OPENING = ("CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_BPF")
"""Capabilities that opening an XDP port takes."""

MEMLOCK_BYTES = 8 << 20
"""Locked memory that two ports of 4 MiB need."""


def examine_machine() -> list[Finding]:
    """Runs every check that needs no interface."""
    return [
        *check_kernel(platform.release()),
        check_af_xdp(),
        check_capabilities(_capabilities.effective()),
        check_memlock(resource.getrlimit(resource.RLIMIT_MEMLOCK)[0], _capabilities.effective()),
        check_cpus(len(os.sched_getaffinity(0))),
        *check_leftovers(),
    ]


def check_kernel(release: str) -> Iterator[Finding]:
    """The kernel is new enough, and which features it lacks."""
    match = re.match(r"(\d+)\.(\d+)", release)
    version = (int(match[1]), int(match[2])) if match else (0, 0)
    if version < KERNEL_LINK:
        yield Finding(
            "kernel",
            Status.FAIL,
            f"kernel {release} has no BPF links for XDP (needs 5.9)",
            "use a newer kernel, or the packet, udp or memory back end",
        )
        return
    yield Finding("kernel", Status.OK, f"kernel {release}")
    for needed, feature in KERNEL_FEATURES.items():
        if version < needed:
            yield Finding(
                "kernel",
                Status.NOTE,
                f"kernel {release} lacks {feature} (needs {needed[0]}.{needed[1]})",
            )


def check_af_xdp() -> Finding:
    """The kernel makes AF_XDP sockets, for those who may have them."""
    try:
        socket.socket(AF_XDP, socket.SOCK_RAW, 0).close()
    except OSError as error:
        if error.errno == errno.EAFNOSUPPORT:
            return Finding(
                "af_xdp",
                Status.FAIL,
                "the kernel has no AF_XDP (CONFIG_XDP_SOCKETS is off)",
                "use a kernel with CONFIG_XDP_SOCKETS=y, or the packet back end",
            )
        if error.errno != errno.EPERM:  # That is said of the capabilities.
            return Finding(
                "af_xdp",
                Status.WARN,
                f"an AF_XDP socket cannot be made: {error.strerror}",
                "use the packet or memory back end",
            )
    return Finding("af_xdp", Status.OK, "the kernel has AF_XDP")


def check_capabilities(effective: int) -> Finding:
    """The capabilities for XDP ports are held."""
    missing = _capabilities.missing(effective, OPENING)
    if missing:
        return Finding(
            "capabilities",
            Status.WARN,
            f"missing {', '.join(missing)}: XDP ports cannot be opened by this user",
            "run the host service as root or with AmbientCapabilities=CAP_NET_ADMIN "
            "CAP_NET_RAW CAP_BPF; applications attached to it need none",
        )
    return Finding("capabilities", Status.OK, "CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF are held")


def check_memlock(limit_bytes: int, effective: int) -> Finding:
    """Packet memory counts against the locked-memory limit unless CAP_IPC_LOCK is held."""
    if limit_bytes == resource.RLIM_INFINITY or not _capabilities.missing(
        effective, ["CAP_IPC_LOCK"]
    ):
        return Finding("memlock", Status.OK, "locked memory is not limited")
    shown = f"locked memory is limited to {limit_bytes >> 10} KiB"
    if limit_bytes < MEMLOCK_BYTES:
        # Who may not open ports needs no memory for them.
        return Finding(
            "memlock",
            Status.WARN if _capabilities.missing(effective, OPENING) else Status.FAIL,
            f"{shown}; two ports need {MEMLOCK_BYTES >> 10} KiB",
            "LimitMEMLOCK=infinity in the unit, or: ulimit -l unlimited",
        )
    return Finding("memlock", Status.OK, shown)


def check_cpus(count: int) -> Finding:
    """Spinning threads need CPUs of their own."""
    if count < 3:
        return Finding(
            "cpus",
            Status.NOTE,
            f"{count} CPUs: a spinning thread would starve the kernel's receive path",
            "keep the profile adaptive (the default)",
        )
    return Finding("cpus", Status.OK, f"{count} CPUs: up to {count - 2} threads may spin")


def check_leftovers() -> list[Finding]:
    """Testbeds whose owner died; only root has labs."""
    found = [
        Finding(
            "leftovers",
            Status.FAIL,
            f"lab {lab_id} was left behind by a process that died",
            f"ndpstack lab down {lab_id}",
            partial(_remove_lab, lab_id),
        )
        for lab_id in (leftovers() if os.geteuid() == 0 else [])
    ]
    found += [
        Finding(
            "leftovers",
            Status.FAIL,
            f"folder {folder} was left behind by a process that died",
            f"rm -r {folder}",
            partial(remove_folder, folder),
        )
        for folder in left_folders()
    ]
    return found or [Finding("leftovers", Status.OK, "no testbed was left behind")]


def _remove_lab(lab_id: str) -> None:
    remove(lab_id)
