"""What the sockets raise: one hierarchy, each with errno, peer, RPC, state and a remedy.

Every error is an OSError with an errno, and those that Python has a class for are of that class
too: `except TimeoutError` and `except ConnectionRefusedError` work as with any socket.
"""

from __future__ import annotations

import errno
import os


class NdpError(OSError):
    """What went wrong in the stack, or at the peer.

    Attributes:
        errno: The error number, as of `errno`.
        peer: The address of the peer, or None where there is none.
        rpc: The id of the RPC or connection on this host, or None.
        state: How far it had come, in words, or "".
        remedy: What to do next, or "".
    """

    def __init__(
        self,
        code: int,
        text: str,
        *,
        peer: str | None = None,
        rpc: int | None = None,
        state: str = "",
        remedy: str = "",
    ) -> None:
        super().__init__(code, text)
        self.peer = peer
        self.rpc = rpc
        self.state = state
        self.remedy = remedy

    def __str__(self) -> str:
        parts = [f"{self.strerror} [{errno.errorcode.get(self.errno or 0, self.errno)}]"]
        if self.peer is not None:
            parts.append(f"peer {self.peer}")
        if self.rpc is not None:
            parts.append(f"id {self.rpc}")
        if self.state:
            parts.append(self.state)
        text = "; ".join(parts)
        return f"{text}. {self.remedy}" if self.remedy else text


class Timeout(NdpError, TimeoutError):
    """The time that was given has passed."""


class WouldBlock(NdpError, BlockingIOError):
    """The socket does not block, and the call would have to."""


class Refused(NdpError, ConnectionRefusedError):
    """Nobody listens on that port of the peer."""


class Reset(NdpError, ConnectionResetError):
    """The peer ended the connection or RPC by force, or has forgotten it."""


class Cancelled(NdpError):
    """The request or message was cancelled, here or by the peer."""


class MessageTooLong(NdpError):
    """The message is longer than the limit; the text names both."""


class Unreachable(NdpError):
    """There is no way to the peer."""


class AddressInUse(NdpError):
    """Somebody listens on that port already."""


class LimitReached(NdpError):
    """A limit of the stack's config is reached."""


class Closed(NdpError):
    """The socket or stack has been closed, or is not in the state for this call."""


class StackGone(NdpError, BrokenPipeError):
    """The core that this stack was attached to has ended."""


class Forked(NdpError):
    """The stack was opened before a fork and this is the child."""


_CLASSES: dict[int, tuple[type[NdpError], str]] = {
    errno.ETIMEDOUT: (
        Timeout,
        "Is the peer up, its MTU that of ours? Give more time, or see `ndpstack doctor`.",
    ),
    errno.ECOMM: (
        Unreachable,
        "It answers small packets, full ones are lost: give all interfaces on the way one MTU.",
    ),
    errno.ECONNREFUSED: (Refused, "Start the server, or check the port."),
    errno.ECONNRESET: (Reset, "Connect or ask again; a request may have run."),
    errno.ECONNABORTED: (Reset, "Connect again."),
    errno.ENETRESET: (Reset, "The interface's MTU became smaller; connect again."),
    errno.ENOTCONN: (Closed, "Connect or accept first."),
    errno.ECANCELED: (Cancelled, ""),
    errno.EMSGSIZE: (MessageTooLong, "Send several messages."),
    errno.EHOSTUNREACH: (Unreachable, "Check the address, and that its family has an own address."),
    errno.ESTALE: (Unreachable, "Its handle made room for other hosts: name it by its address."),
    errno.EPROTONOSUPPORT: (Unreachable, "Open the stack with this protocol."),
    errno.EADDRINUSE: (AddressInUse, "Choose another port, or stop the other listener."),
    errno.ENOBUFS: (LimitReached, "Wait for messages to end, or raise the limit in the config."),
    errno.EAGAIN: (LimitReached, "Wait for messages to end."),
    errno.EBADF: (Closed, "Open a new one."),
    errno.ENOENT: (Closed, "It has ended already."),
    errno.EPIPE: (StackGone, "Close this stack and attach again."),
    errno.ECHILD: (Forked, "Open a stack in the child, or start processes by `spawn`."),
}


def make_error(
    code: int,
    what: str,
    *,
    peer: str | None = None,
    rpc: int | None = None,
    state: str = "",
    remedy: str = "",
) -> NdpError:
    """The error of the class that belongs to an error number.

    Args:
        code: Positive error number.
        what: What could not be done.
        peer: Address of the peer.
        rpc: Id of the RPC or connection.
        state: How far it had come.
        remedy: What to do next, in place of the usual advice.
    """
    cls, advice = _CLASSES.get(code, (NdpError, ""))
    text = f"{what}: {os.strerror(code)}"
    return cls(code, text, peer=peer, rpc=rpc, state=state, remedy=remedy or advice)
