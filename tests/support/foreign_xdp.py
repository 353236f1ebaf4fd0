"""XDP programs of others: they let all frames pass, and have a name that is not ours."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from typing import Final, Literal

from pyroute2 import IPRoute

SYS_BPF: Final = {"x86_64": 321, "aarch64": 280}
PROG_LOAD, LINK_CREATE = 5, 28
PROG_TYPE_XDP, ATTACH_XDP = 6, 37
PASS: Final = struct.pack("<BBhiBBhi", 0xB7, 0, 0, 2, 0x95, 0, 0, 0)
"""r0 = XDP_PASS; exit."""

FLAGS: Final = {"generic": 1 << 1, "native": 1 << 2}

Mode = Literal["generic", "native"]


def _bpf(command: int, attributes: bytes) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result: int = libc.syscall(
        SYS_BPF[platform.machine()], command, ctypes.c_char_p(attributes), len(attributes)
    )
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def load(name: str = "foreign") -> int:
    """Loads a program; close the descriptor."""
    code, license_ = ctypes.create_string_buffer(PASS), ctypes.create_string_buffer(b"Apache-2.0")
    attributes = struct.pack(
        "<IIQQIIQII16sI",
        *(PROG_TYPE_XDP, len(PASS) // 8, ctypes.addressof(code), ctypes.addressof(license_)),
        *(0, 0, 0, 0, 0, name.encode(), 0),
    )
    return _bpf(PROG_LOAD, attributes)


def attach(interface: str, mode: Mode) -> None:
    """Attaches one by netlink, so that it stays, to an interface of the thread's namespace."""
    program = load()
    try:
        with IPRoute() as ipr:
            (index,) = ipr.link_lookup(ifname=interface)
            attributes = [("IFLA_XDP_FD", program), ("IFLA_XDP_FLAGS", FLAGS[mode])]
            ipr.link("set", index=index, xdp={"attrs": attributes})
    finally:
        os.close(program)


def link(interface: str, mode: Mode) -> int:
    """Attaches one by a BPF link: until the descriptor is closed."""
    program = load()
    try:
        with IPRoute() as ipr:
            (index,) = ipr.link_lookup(ifname=interface)
        return _bpf(LINK_CREATE, struct.pack("<IIII", program, index, ATTACH_XDP, FLAGS[mode]))
    finally:
        os.close(program)
