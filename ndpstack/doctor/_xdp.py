"""The check of an interface's XDP program: whose it is, and how it comes off."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ndpstack._core import ffi, lib
from ndpstack.doctor._finding import Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ndpstack.doctor._interface import Interface


def check_xdp(interface: Interface) -> Finding:
    """No XDP program of others holds the interface; one in the NIC does not.

    None is taken off by `--fix`: whether its owner lives cannot be told, and it may be what
    protects the machine or balances its load.
    """
    occupant = ffi.new("struct nd_xdp_occupant *")
    lib.nd_xdp_occupant_find(occupant, interface.index)
    if not occupant.program:
        return Finding("xdp", Status.OK, "no XDP program is attached")
    buffer = ffi.new("char[]", lib.ND_XDP_OCCUPANT_TEXT_BYTES)
    lib.nd_xdp_occupant_describe(occupant, buffer)
    text = f"{ffi.string(buffer).decode()} is attached"
    if ffi.string(occupant.mode) == b"offload":
        return Finding("xdp", Status.NOTE, f"{text}, where it stands in nobody's way: in the NIC")
    if occupant.ours:
        users = ", ".join(owners_of_link(occupant.link)) or "a process that is not to be seen here"
        return Finding("xdp", Status.OK, f"our own {text}, in use by {users}")
    if not occupant.seen:
        return Finding("xdp", Status.WARN, text, "run it as root, to whom it says whose that is")
    lib.nd_xdp_occupant_remedy(occupant, interface.name.encode(), buffer)
    return Finding("xdp", Status.FAIL, text, ffi.string(buffer).decode())


def owners_of_link(link: int) -> list[str]:
    """Processes that have a BPF link open, as far as this one may see them: "NAME (pid N)"."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        # It may end meanwhile, or be another user's.
        with contextlib.suppress(OSError):
            if link in _links_of(process):
                name = (process / "comm").read_text().strip()
                found.append(f"{name} (pid {process.name})")
    return found


def _links_of(process: Path) -> Iterator[int]:
    """The BPF links that a process has open."""
    for descriptor in os.listdir(process / "fd"):
        with contextlib.suppress(FileNotFoundError):  # It was closed meanwhile.
            if "bpf_link" not in os.readlink(process / "fd" / descriptor):
                continue
            for line in (process / "fdinfo" / descriptor).read_text().splitlines():
                if line.startswith("link_id:"):
                    yield int(line.split()[1])
