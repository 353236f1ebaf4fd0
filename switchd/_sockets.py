"""Sockets that clients connect to; they wait there until they are served."""

from __future__ import annotations

import contextlib
import grp
import os
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from switchd.config import parse_endpoint

if TYPE_CHECKING:
    from collections.abc import Iterator

BACKLOG = 128
"""Clients that wait to be let in."""


@dataclass(frozen=True)
class Access:
    """Who may connect to a UNIX socket."""

    group: str = ""
    """Whose members may, next to root and the daemon's own user."""
    anybody: bool = False
    """Whether everybody may, because nothing can be changed."""


@contextlib.contextmanager
def listening(address: str, access: Access) -> Iterator[socket.socket]:
    """Listens on a UNIX path, which goes away afterwards, or ADDRESS:PORT.

    Raises:
        UserError: The address cannot be used.
    """
    with _listen(address, access) as sock:
        try:
            yield sock
        finally:
            if address.startswith("/"):
                # Where the daemon's user may not take it away, the next start replaces it.
                with contextlib.suppress(PermissionError):
                    Path(address).unlink(missing_ok=True)


def _listen(address: str, access: Access) -> socket.socket:
    try:
        if address.startswith("/"):
            return _listen_unix(Path(address), access)
        host, port = parse_endpoint(address)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise UserError(f"{address}: cannot listen there: {error.strerror or error}") from error


def _listen_unix(path: Path, access: Access) -> socket.socket:
    """A socket at a path; what a dead daemon left there is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _clear(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o111 if access.anybody else 0o117)
    try:
        sock.bind(str(path))
    except OSError:
        sock.close()
        raise
    finally:
        os.umask(mask)
    if not access.anybody:
        _hand_over(path, access.group)
    sock.listen(BACKLOG)
    return sock


def _hand_over(path: Path, group: str) -> None:
    """Gives the socket to the group; without such a group it is its owner's alone."""
    try:
        os.chown(path, -1, grp.getgrnam(group).gr_gid)
    except (KeyError, PermissionError):
        path.chmod(0o600)


def _clear(path: Path) -> None:
    """Removes a socket that nobody listens on.

    Raises:
        OSError: It is in use, or no socket.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise FileExistsError(17, "there is a file that is no socket")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(1.0)
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()
                return
        raise OSError(98, "another switchd listens there")
