"""Answers a core that asks for ways: the kernel's routes and neighbours, and how they change."""

from __future__ import annotations

import logging
import os
import select
import threading
import time
from collections import OrderedDict
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from ndpstack import _core, _netns
from ndpstack._address import pack, unpack
from ndpstack._kernel import Kernel, NoRoute
from ndpstack._netlink import FAILED, Events, Neighbour

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

lib, ffi = _core.lib, _core.ffi
log = logging.getLogger("ndpstack.ways")

NEIGHBOUR_SECONDS: Final = 3.5
"""How long a neighbour is waited for: the kernel asks three times, a second apart."""

SETTLE_SECONDS: Final = 0.02
"""How long routes may go on changing before they are looked at again."""

WAYS_MAX: Final = 16384
"""Addresses whose ways are followed; the longest unused is forgotten by us, not by the core."""

RETRY_SECONDS_MIN: Final = 0.05
RETRY_SECONDS_MAX: Final = 2.0
"""Pauses before the kernel is followed again when that has failed."""

DESCRIPTORS: Final = 8
"""That must be free: pyroute2 leaves some open, for a while, where it finds too few."""

BATCH: Final = 64
ADDRESS_BYTES: Final = 16


class Ways(Protocol):
    """The side of a core that the resolver talks to."""

    def descriptor(self) -> int:
        """Readable when ways are asked for. The first call makes the core ask."""

    def unresolved(self) -> list[str]:
        """Addresses whose ways are asked for."""

    def found(self, address: str, port: int, mac: bytes) -> None:
        """Packets to the address go there."""

    def lost(self, address: str, reason: int) -> None:
        """There is no way to the address."""


def _raw(data: bytes) -> _core.Pointer[int]:
    return ffi.new("uint8_t[]", data)


class CoreWays:
    """The ways of a core in this process."""

    def __init__(self, app: _core.nd_app) -> None:
        self._app = app

    def descriptor(self) -> int:
        """Readable when ways are asked for. The first call makes the core ask."""
        code = lib.nd_app_resolver(self._app)
        if code < 0:
            raise OSError(-code, os.strerror(-code))
        return code

    def unresolved(self) -> list[str]:
        """Addresses whose ways are asked for."""
        raw = ffi.new("uint8_t[]", BATCH * ADDRESS_BYTES)
        count = lib.nd_app_unresolved(self._app, raw, BATCH)
        data = bytes(ffi.buffer(raw))
        return [unpack(data[i * ADDRESS_BYTES :][:ADDRESS_BYTES]) for i in range(count)]

    def found(self, address: str, port: int, mac: bytes) -> None:
        """Packets to the address go there."""
        lib.nd_app_set_peer(self._app, _raw(pack(address)), port, _raw(mac))

    def lost(self, address: str, reason: int) -> None:
        """There is no way to the address."""
        lib.nd_app_lose_peer(self._app, _raw(pack(address)), reason)


@dataclass
class _Way:
    """An address that is followed."""

    interface: int = 0
    hop: str = ""
    mac: bytes = b""
    """Empty while there is no way."""
    give_up_at: float = 0.0
    """When the neighbour is given up; 0: it is not waited for."""


class Resolver:
    """Follows the kernel for the addresses that a core asks for, in a thread of its own.

    Args:
        ways: The core's side.
        interfaces: Of the core's ports, in their order.
        enter: Called first in the thread: enters the ports' network namespace.
        mtu: Of an IP packet that the core may send; a route with less is warned of. 0: any.
    """

    def __init__(
        self,
        ways: Ways,
        interfaces: Sequence[str],
        *,
        enter: Callable[[], None] | None = None,
        mtu: int = 0,
    ) -> None:
        self._core = ways
        self._interfaces = tuple(interfaces)
        self._enter = enter
        self._mtu = mtu
        self._ways: OrderedDict[str, _Way] = OrderedDict()
        self._hops: dict[tuple[int, str], set[str]] = {}
        self._look_at = 0.0
        self._pause = RETRY_SECONDS_MIN
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._asked = ways.descriptor()
        self._thread = threading.Thread(target=self._run, name="ndpstack-ways", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread; call it before the core is closed. Idempotent."""
        if self._bell < 0:
            return
        os.eventfd_write(self._bell, 1)
        self._thread.join()
        os.close(self._bell)
        self._bell = -1

    # ---- the thread ----

    def _run(self) -> None:
        while True:
            try:
                if self._enter is not None:
                    self._enter()
                    self._enter = None
                if self._ways or self._wait_for_the_first():
                    self._open()
                return
            except Exception:
                if self._pause == RETRY_SECONDS_MIN:  # Else it was said.
                    log.exception("ways cannot be followed now; trying again")
            if self._is_closed_within(self._pause):
                return
            self._pause = min(2 * self._pause, RETRY_SECONDS_MAX)

    def _is_closed_within(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._bell, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def _wait_for_the_first(self) -> bool:
        """Netlink sockets are opened when somebody asks: most stacks of a test never do."""
        poll = select.poll()
        poll.register(self._asked, select.POLLIN)
        poll.register(self._bell, select.POLLIN)
        return all(fd != self._bell for fd, _ in poll.poll())

    def _open(self) -> None:
        with ExitStack() as free:
            for _ in range(DESCRIPTORS):
                free.callback(os.close, os.dup(self._bell))
        with Events() as events, Kernel(self._interfaces) as self._kernel:
            if self._ways:  # What became of them meanwhile nobody has told.
                self._look_again_soon()
            self._follow(events)

    def _follow(self, events: Events) -> None:
        poll = select.poll()
        for fd in (self._asked, self._bell, events.fileno()):
            poll.register(fd, select.POLLIN)
        while True:
            ready = {fd for fd, _ in poll.poll(self._patience_ms())}
            if self._bell in ready:
                return
            if self._asked in ready:
                self._ask(self._core.unresolved())
            if events.fileno() in ready:
                self._take(events)
            self._expire()
            if self._pause > RETRY_SECONDS_MIN:
                log.info("ways are followed again")
                self._pause = RETRY_SECONDS_MIN

    def _patience_ms(self) -> int | None:
        times = [way.give_up_at for way in self._ways.values() if way.give_up_at]
        if self._look_at:
            times.append(self._look_at)
        return max(0, int((min(times) - time.monotonic()) * 1000) + 1) if times else None

    def _expire(self) -> None:
        now = time.monotonic()
        for address, way in list(self._ways.items()):
            if way.give_up_at and way.give_up_at <= now:
                self._lose(address, way, lib.ND_UNREACHABLE_NO_NEIGHBOUR)
        if self._look_at and self._look_at <= now:
            self._look_at = 0.0
            for address in list(self._ways):
                self._look(address)

    # ---- what the core asks ----

    def _ask(self, addresses: Sequence[str]) -> None:
        # All are noted first: the core does not ask again for those behind one that fails.
        for address in addresses:
            self._ways.setdefault(address, _Way())
            self._ways.move_to_end(address)
            if len(self._ways) > WAYS_MAX:
                forgotten, way = self._ways.popitem(last=False)
                self._leave_hop(forgotten, way)
        for address in addresses:
            self._look(address)

    def _look(self, address: str) -> None:
        way = self._ways[address]
        try:
            self._look_up(address, way)
        except Exception:
            # It may always fail: the others are followed without it.
            del self._ways[address]
            self._leave_hop(address, way)
            self._lose(address, way, lib.ND_UNREACHABLE_REFUSED)
            raise

    def _look_up(self, address: str, way: _Way) -> None:
        try:
            route = self._kernel.route(address)
        except NoRoute as outcome:
            self._lose(address, way, outcome.reason)
            return
        port = self._kernel.ports().get(route.interface)
        if route.local or port is None:
            reason = lib.ND_UNREACHABLE_SELF if route.local else lib.ND_UNREACHABLE_OTHER_INTERFACE
            self._lose(address, way, reason)
            return
        if 0 < route.mtu < self._mtu:
            log.warning(
                "the route to %s takes %d bytes, this host sends up to %d: start it with that MTU",
                address, route.mtu, self._mtu,
            )  # fmt: skip
        self._leave_hop(address, way)
        way.interface, way.hop = route.interface, route.hop
        self._hops.setdefault((way.interface, way.hop), set()).add(address)
        neighbour = self._kernel.neighbour(route.interface, route.hop)
        if neighbour is not None and neighbour.usable:
            self._find(address, way, port, neighbour.mac)
            return
        way.give_up_at = time.monotonic() + NEIGHBOUR_SECONDS
        self._kernel.probe(route.interface, route.hop)

    def _leave_hop(self, address: str, way: _Way) -> None:
        users = self._hops.get((way.interface, way.hop))
        if users is not None:
            users.discard(address)
            if not users:
                del self._hops[way.interface, way.hop]

    # ---- what the kernel says ----

    def _take(self, events: Events) -> None:
        try:
            for event in events.take():
                if isinstance(event.what, Neighbour):
                    self._learn(event.what, gone=event.gone)
                else:
                    self._look_again_soon()
        except OSError:  # Some were lost.
            self._look_again_soon()

    def _look_again_soon(self) -> None:
        if not self._look_at:
            self._look_at = time.monotonic() + SETTLE_SECONDS

    def _learn(self, neighbour: Neighbour, *, gone: bool) -> None:
        users = self._hops.get((neighbour.interface, neighbour.address), ())
        port = self._kernel.ports().get(neighbour.interface) if users else None
        if port is None:
            return
        for address in tuple(users):
            way = self._ways[address]
            if neighbour.usable and not gone:
                self._find(address, way, port, neighbour.mac)
            elif neighbour.state & FAILED and not gone:
                self._lose(address, way, lib.ND_UNREACHABLE_NO_NEIGHBOUR)
            elif gone and way.mac:
                # Collected, not refuted: the way is kept while the kernel looks again.
                way.give_up_at = time.monotonic() + NEIGHBOUR_SECONDS
                self._kernel.probe(neighbour.interface, neighbour.address)

    def _find(self, address: str, way: _Way, port: int, mac: bytes) -> None:
        way.give_up_at = 0.0
        if way.mac != mac:
            log.debug("%s: port %d, %s", address, port, mac.hex(":"))
        way.mac = mac
        self._core.found(address, port, mac)

    def _lose(self, address: str, way: _Way, reason: int) -> None:
        way.give_up_at = 0.0
        text = ffi.string(lib.nd_stack_unreachable_text(reason)).decode()
        log.warning("%s cannot be reached: %s", address, text)
        way.mac = b""
        self._core.lost(address, reason)


def follow_kernel(app: _core.nd_app, interface: str, namespace: str | None) -> Resolver:
    """A resolver for the only port of a core in this process."""

    def enter() -> None:
        if namespace is not None:
            _netns.enter(namespace)

    return Resolver(CoreWays(app), [interface], enter=enter)
