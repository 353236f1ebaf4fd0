"""The daemon as a process: the rights that it keeps."""

from __future__ import annotations

import ctypes
import grp
import os
import pwd
from typing import TYPE_CHECKING

from ndpstack._errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN, CAP_BPF = 12, 13, 21, 39
CAP_IPC_LOCK, CAP_SYS_NICE = 14, 23

KEPT = {
    CAP_NET_ADMIN: "open and re-open AF_XDP ports",
    CAP_NET_RAW: "AF_PACKET and AF_XDP sockets",
    CAP_BPF: "load the filter of a port that is added later",
    CAP_IPC_LOCK: "memory of AF_XDP ports beyond the memlock limit",
}
"""What a running daemon still needs: ports come and go with a reload."""

ENTER_NAMESPACES = CAP_SYS_ADMIN
"""Kept only where ports are in other network namespaces."""

_PR_SET_KEEPCAPS, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 8, 24, 38, 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION_3 = 0x20080522
_CAPABILITIES_MAX = 63

_libc = ctypes.CDLL(None, use_errno=True)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def permitted() -> int:
    """Capabilities that the process may use, as a bit mask."""
    data = (_Data * 2)()
    header = _Header(_CAPABILITY_VERSION_3, 0)
    if _libc.capget(ctypes.byref(header), data) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    return int(data[0].permitted) | int(data[1].permitted) << 32


def limit_capabilities(mask: int) -> None:
    """Gives up all capabilities but those of the mask, for good."""
    for capability in range(_CAPABILITIES_MAX + 1):
        if not mask >> capability & 1:
            _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    data = (_Data * 2)()
    for word in range(2):
        part = mask >> 32 * word & 0xFFFFFFFF
        data[word].effective = data[word].permitted = part
    header = _Header(_CAPABILITY_VERSION_3, 0)
    if _libc.capset(ctypes.byref(header), data) != 0:
        raise OSError(ctypes.get_errno(), "capset")
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def drop_privileges(user: str, *, namespaces: bool) -> None:
    """Becomes a user and keeps only the capabilities that later changes need.

    Capabilities belong to threads: this comes before the first one is started.

    Args:
        user: Whom to become; nobody else when empty.
        namespaces: Whether ports are in other network namespaces, which takes CAP_SYS_ADMIN.

    Raises:
        UserError: There is no such user, or it may not be done.
    """
    mask = sum(1 << capability for capability in KEPT)
    if namespaces:
        mask |= 1 << ENTER_NAMESPACES
    mask &= permitted()
    try:
        if user and os.geteuid() == 0:
            entry = pwd.getpwnam(user)
            _libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
            os.setgroups([group.gr_gid for group in grp.getgrall() if user in group.gr_mem])
            os.setresgid(entry.pw_gid, entry.pw_gid, entry.pw_gid)
            os.setresuid(entry.pw_uid, entry.pw_uid, entry.pw_uid)
        limit_capabilities(mask)
    except KeyError:
        text = f"daemon.user: there is no user {user!r}; create it: useradd -r {user}"
        raise UserError(text) from None
    except OSError as error:
        raise UserError(f"cannot give up privileges: {error}") from error


def require_library(user: str, paths: Iterable[str] = (os.__file__, __file__)) -> None:
    """Finds out whether the rest of the daemon can be imported, before an import fails.

    Args:
        user: Whom the process has become.
        paths: Files of Python's library and of the daemon.

    Raises:
        UserError: That user may not read one of them.
    """
    for path in paths:
        if not os.access(path, os.R_OK):
            raise UserError(
                f"daemon.user: {user!r} may not read {path}, and the daemon imports from there: "
                "install Python and ndpstack where all users may read, or leave daemon.user out"
            )
