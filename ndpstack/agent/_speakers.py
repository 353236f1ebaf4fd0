"""What each protocol makes of a flow: commands to its stack, and what the events mean."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from ndpstack._core import lib
from ndpstack.agent._carrier import NEVER
from ndpstack.sim._plan import SERVICE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ndpstack._core import nd_event
    from ndpstack.agent._carrier import Applications
    from ndpstack.agent._stacks import Stacks

ID_LAST = 2**64 - 1
"""Stands for the connection of the last CONNECT, whose answer has not come yet."""

PROTOCOLS = {"ndp": lib.ND_PROTO_NDP, "homa": lib.ND_PROTO_HOMA}


class Ndp:
    """A connection for each flow, and messages on it."""

    answers = False

    def __init__(self, stacks: Stacks, message_bytes_max: int) -> None:
        self._stacks = stacks
        self.message_bytes_max = message_bytes_max
        self._ids: dict[int, int] = {}
        self._last: dict[int, int] = {}
        """By host, the flow of its last CONNECT: its id need not be known to be used."""
        self._early: dict[int, list[Callable[[], None]]] = {}
        """What is to be done when the connection of a flow has its id."""
        self._finished: set[int] = set()

    def open(self, flow: int) -> None:
        """Connects; nothing is sent yet."""
        source, target = self._stacks.pairs[flow]
        host, peer = self._stacks.hosts[source], self._stacks.handles[source, target]
        self._last[source] = flow
        host.do(
            lambda: lib.nd_app_send(
                host.app, lib.ND_PROTO_NDP, lib.ND_COMMAND_CONNECT,
                self._stacks.priorities[flow], peer, SERVICE, 0, flow + 1, NEVER, b"", 0,
            )
        )  # fmt: skip

    def _when_known(self, flow: int, action: Callable[[int], None]) -> None:
        """Does it with the id of the flow's connection, at once if that can be named."""
        if flow in self._ids:
            action(self._ids[flow])
        elif self._last[self._stacks.pairs[flow][0]] == flow:
            action(ID_LAST)
        else:
            self._early.setdefault(flow, []).append(lambda: action(self._ids[flow]))

    def send(self, flow: int, size: int) -> None:
        """A message on the flow's connection."""
        self._when_known(
            flow, lambda id_: self._send(self._stacks.pairs[flow][0], flow, size, id_, flow + 1)
        )

    def reply(self, flow: int, size: int, answer: object) -> None:
        """A message on the connection that the request came by."""
        assert isinstance(answer, int)
        self._send(self._stacks.pairs[flow][1], flow, size, answer, 0)

    def _send(self, number: int, flow: int, size: int, id_: int, key: int) -> None:
        host, data = self._stacks.hosts[number], self._stacks.content.make(flow, size)
        host.do(
            lambda: lib.nd_app_send(
                host.app, lib.ND_PROTO_NDP, lib.ND_COMMAND_SEND,
                self._stacks.priorities[flow], 0, 0, id_, key, NEVER, data, len(data),
            )
        )  # fmt: skip

    def finish(self, flow: int) -> None:
        """Closes the connection behind what was sent."""
        if flow in self._finished:
            return
        self._finished.add(flow)
        host = self._stacks.hosts[self._stacks.pairs[flow][0]]
        self._when_known(
            flow,
            lambda id_: host.do(
                lambda: lib.nd_app_tell(
                    host.app, lib.ND_PROTO_NDP, lib.ND_COMMAND_CLOSE, 0, id_, 0, flow + 1,
                    NEVER,
                )
            ),
        )  # fmt: skip

    def take(self, host: int, event: nd_event, to: Applications) -> None:
        """One event of this protocol."""
        flow = event.cookie - 1
        match event.kind:
            case lib.ND_EVENT_MESSAGE:
                self._message(host, event, to)
            case lib.ND_EVENT_OPENED if flow >= 0:
                self._ids[flow] = event.id
                for action in self._early.pop(flow, ()):
                    action()
            case lib.ND_EVENT_SENT if flow >= 0:
                to.ended(flow)
            case lib.ND_EVENT_FAILED | lib.ND_EVENT_CLOSED if flow >= 0 and event.error:
                to.failed(flow, event.error)

    def _message(self, host: int, event: nd_event, to: Applications) -> None:
        id_, size = event.id, event.bytes
        flow, whole = self._stacks.message(host, event)
        if not whole:
            to.failed(flow, -errno.EBADMSG)
        elif host == self._stacks.pairs[flow][1]:
            to.arrived(flow, size, id_)
        else:
            to.replied(flow)


class Homa:
    """An RPC for each message: its response is the reply, or empty."""

    answers = True

    def __init__(self, stacks: Stacks, message_bytes_max: int) -> None:
        self._stacks = stacks
        self.message_bytes_max = message_bytes_max

    def open(self, flow: int) -> None:
        """RPCs need no connection."""

    def send(self, flow: int, size: int) -> None:
        """A request."""
        source, target = self._stacks.pairs[flow]
        host, peer = self._stacks.hosts[source], self._stacks.handles[source, target]
        data = self._stacks.content.make(flow, size)
        host.do(
            lambda: lib.nd_app_send(
                host.app, lib.ND_PROTO_HOMA, lib.ND_COMMAND_REQUEST, 0, peer, SERVICE, 0,
                flow + 1, NEVER, data, len(data),
            )
        )  # fmt: skip

    def reply(self, flow: int, size: int, answer: object) -> None:
        """The response."""
        assert isinstance(answer, int)
        host = self._stacks.hosts[self._stacks.pairs[flow][1]]
        data = self._stacks.content.make(flow, size) if size else b""
        host.answer(
            lambda: lib.nd_app_send(
                host.app, lib.ND_PROTO_HOMA, lib.ND_COMMAND_REPLY, 0, 0, 0, answer, 0,
                NEVER, data, len(data),
            )
        )  # fmt: skip

    def finish(self, flow: int) -> None:
        """RPCs end by themselves."""

    def take(self, host: int, event: nd_event, to: Applications) -> None:
        """One event of this protocol."""
        flow = event.cookie - 1
        id_, size = event.id, event.bytes
        match event.kind:
            case lib.ND_EVENT_REQUEST:
                flow, whole = self._stacks.message(host, event)
                if whole:
                    to.arrived(flow, size, id_)
                else:
                    to.failed(flow, -errno.EBADMSG)
            case lib.ND_EVENT_RESPONSE:
                whole = self._stacks.message(host, event)[1] if size else True
                if not size:
                    lib.nd_app_release(
                        self._stacks.hosts[host].app, event.protocol, event.id, event.message
                    )
                if whole:
                    to.ended(flow)
                else:
                    to.failed(flow, -errno.EBADMSG)
            case lib.ND_EVENT_FAILED if flow >= 0:
                to.failed(flow, event.error)


SPEAKERS: Mapping[str, type[Ndp | Homa]] = {"ndp": Ndp, "homa": Homa}
