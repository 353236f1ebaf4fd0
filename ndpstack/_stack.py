"""Stacks: this application's handle on a core, in this process or in another one."""

from __future__ import annotations

import errno
import itertools
import os
import time
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from ndpstack import _core
from ndpstack._address import Peer, pack
from ndpstack._ask import ask_core
from ndpstack._config import StackConfig, check, check_text, fill, with_address
from ndpstack._dispatch import Dispatcher
from ndpstack._reason import reason_of
from ndpstack._single import Single
from ndpstack._socket import until_of
from ndpstack.errors import NdpError, make_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ndpstack._config import Protocol
    from ndpstack._resolver import Resolver
    from ndpstack._teller import Told
    from ndpstack.paths._follower import Follower

lib, ffi = _core.lib, _core.ffi

STATES: Final = ("up", "down", "gone", "changed", "stuck")
GROUPS: Final[Mapping[str, int]] = {
    "core": lib.ND_STACK_GROUP_CORE,
    "wire": lib.ND_STACK_GROUP_WIRE,
    "ndp": lib.ND_STACK_GROUP_NDP,
    "homa": lib.ND_STACK_GROUP_HOMA,
    "port": lib.ND_STACK_GROUP_PORT,
}
MAC_BYTES: Final = 6
COUNTERS_MAX: Final = 256

ENGINE_MESSAGE_MAX: Final = lib.ND_MESSAGE_BYTES_MAX
"""The engines' own limit of a message (message_bytes_max of their default configs)."""

PEERS_CACHED: Final = 16384


class PortState(NamedTuple):
    """What became of a port."""

    state: str
    """up, down, gone, changed or stuck."""
    mode: str
    """In use: "memory", "udp", "xdp native copy" and so on."""
    note: str
    """Why it is not up, or what is not as it was asked for."""


class Stack(Single):
    """A handle on a core: what sockets are made on.

    A stack may be used by any number of threads and event loops. It must not be used after a
    fork: the child gets Forked, the parent is not affected. Received messages stay readable after
    the stack is closed.

    >>> import ndpstack
    >>> config = ndpstack.StackConfig(
    ...     name="example", backend="memory", address="10.0.0.1", listen=True
    ... )
    >>> with ndpstack.Stack(config) as stack:
    ...     stack.port_state().mode
    'memory'

    Args:
        config: The core to open in this process.

    Raises:
        NdpError: It cannot be opened; the text says why and what to do.
        ValueError: An address is none, or another setting cannot be one; the text names it.
    """

    _resolver: Resolver | None = None
    _follower: Follower | None = None
    _told: Told | None = None

    def __init__(self, config: StackConfig) -> None:
        keep: list[object] = []
        check(config)
        config = with_address(config)
        raw = fill(config, keep)
        self._begin(
            lambda app, error: lib.nd_app_open(app, raw, error), config.name, config.address
        )
        try:
            self._find_ways(config)
            self._follow(config)
            self._tell(config)
        except BaseException:
            self.close(drain=0)
            raise

    def _begin(
        self,
        begin: Callable[[_core.nd_app, _core.nd_error], int],
        name: str,
        address: str | None,
    ) -> None:
        self._closed = True
        app = ffi.gc(ffi.new("struct nd_app *"), lib.nd_app_end)
        error = ffi.new("struct nd_error *")
        if begin(app, error) < 0:
            raise NdpError(-error.code, reason_of(error))
        self._closed = False
        self.name = name
        self._address = address
        self.dispatcher = Dispatcher(app, name)
        self._peers = self.dispatcher.peers
        self.dispatcher.message_bytes_max = min(
            lib.nd_app_send_bytes_max(app), lib.nd_app_receive_bytes_max(app), ENGINE_MESSAGE_MAX
        )

    @property
    def message_bytes_max(self) -> int:
        """Bytes of the longest message that can be sent here."""
        return self.dispatcher.message_bytes_max

    def _find_ways(self, config: StackConfig) -> None:
        for address, mac in config.neighbours:
            self.set_neighbour(address, mac)
        if config.backend in ("xdp", "packet") and not config.neighbours:
            from ndpstack._resolver import follow_kernel

            self._resolver = follow_kernel(self.dispatcher.app, config.name, config.netns)

    def _follow(self, config: StackConfig) -> None:
        if config.switchd is None:
            return
        # Most cores have no switchd: they do without its imports.
        from ndpstack.paths._follower import Follower

        addresses = [text for text in (config.address, config.address6) if text]
        given = {"link_rate_bps": config.link_rate_bps} if config.link_rate_bps else {}
        self._follower = Follower(self.dispatcher, config.switchd, config.host, addresses, given)
        self._follower.start()

    def _tell(self, config: StackConfig) -> None:
        if config.visible:
            from ndpstack._teller import tell_of

            self._told = tell_of(self, config.netns)

    @classmethod
    def attach(cls, service: str) -> Self:
        """A handle on the core of another process, such as the host service.

        Raises:
            NdpError: There is no such service, or it takes no further application.
            ValueError: The name has a NUL in it.
        """
        check_text("service", service)
        raw = os.fsencode(service)
        return cls._of(lambda app, error: lib.nd_app_attach(app, raw, error), service, None)

    def share(self) -> Self:
        """A second handle on the core that this process runs, with memory of its own.

        Raises:
            NdpError: The core is in another process, or takes no further application.
        """
        own = self.dispatcher.app
        return self._of(
            lambda app, error: lib.nd_app_share(app, own, error), self.name, self._address
        )

    @classmethod
    def _of(
        cls,
        begin: Callable[[_core.nd_app, _core.nd_error], int],
        name: str,
        address: str | None,
    ) -> Self:
        stack = cls.__new__(cls)
        stack._begin(begin, name, address)
        return stack

    # ---- addresses ----

    @property
    def address(self) -> str:
        """The host's own IP address."""
        if self._address is None:
            self._address = Peer(self.dispatcher, 0).address
        return self._address

    def peer(self, address: str, *, timeout: float | None = None) -> Peer:
        """Another host, resolved once; every call takes it in place of the address.

        Args:
            address: Of IPv4 or IPv6.
            timeout: Seconds to wait for a way to it to be found.

        Raises:
            ValueError: It is no IP address.
            Unreachable: There is no way to it.
            Timeout: None was found in time.
        """
        return self.resolve(address, None if timeout is None else until_of(timeout))

    def resolve(self, address: str, until: float | None) -> Peer:
        """The same by a time of time.monotonic(), or None."""
        peer = self._peers.get(address)
        if peer is None:
            event = ask_core(self.dispatcher, pack(address), 0, address, until)
            peer = self.keep_peer(address, event.peer)
        return peer

    def known_peer(self, address: str) -> Peer | None:
        """The peer if it has been resolved."""
        return self._peers.get(address)

    def keep_peer(self, address: str, handle: int) -> Peer:
        """Remembers what the core has answered."""
        if len(self._peers) >= PEERS_CACHED:
            self._peers.clear()
        peer = self._peers[address] = Peer(self.dispatcher, handle, address)
        return peer

    def set_neighbour(self, address: str, mac: str) -> None:
        """Tells the core which MAC address leads to a host (aa:bb:cc:dd:ee:ff).

        Raises:
            ValueError: One of them is no address.
            NdpError: The core is in another process, or knows too many, or this is its own address.
        """
        raw = bytes.fromhex(mac.replace(":", ""))
        if len(raw) != MAC_BYTES:
            raise ValueError(f"{mac} is no MAC address")
        target = ffi.new("uint8_t[]", pack(address))
        code = lib.nd_app_set_peer(self.dispatcher.app, target, 0, ffi.new("uint8_t[]", raw))
        own = " (it is this host itself)" if code == -errno.EINVAL else ""
        self.dispatcher.check(code, f"cannot set the neighbour {address}{own}")

    # ---- what it is doing ----

    @property
    def held(self) -> int:
        """Messages received and not given back, on all sockets."""
        return lib.nd_app_held(self.dispatcher.app)

    def counters(self, group: str) -> dict[str, int]:
        """Counters of this process's core: `core`, `wire`, `ndp`, `homa` or `port`.

        Raises:
            ValueError: There is no such group.
            NdpError: The core is in another process, or does not run that protocol.
        """
        table, values = self._counters(group)
        if values is None:
            raise make_error(errno.ENOENT, f"no counters of {group}")
        return {name: value for (name, _), value in zip(_texts(table), values, strict=True)}

    def counter_texts(self) -> dict[str, dict[str, str]]:
        """What each counter of each group counts, a sentence each: also of a port that is closed.

        Raises:
            NdpError: The core is in another process.
        """
        tables = {group: self._counters(group)[0] for group in GROUPS}
        return {group: dict(_texts(table)) for group, table in tables.items() if table}

    def _counters(self, group: str) -> tuple[_core.nd_counters_table, list[int] | None]:
        """The table, NULL for a protocol that does not run, and the values, if there are any."""
        if group not in GROUPS:
            raise ValueError(f"no group {group!r} of counters; there are {', '.join(GROUPS)}")
        table = ffi.new("struct nd_counters_table *[]", 1)
        values = ffi.new("uint64_t[]", COUNTERS_MAX)
        count = lib.nd_app_counters(
            self.dispatcher.app, GROUPS[group], 0, table, values, COUNTERS_MAX
        )
        if count == -errno.ENOENT:
            return table[0], None
        self.dispatcher.check(count, f"no counters of {group}")
        return table[0], list(values[0:count])

    def port_state(self) -> PortState:
        """The state of this process's port.

        Raises:
            NdpError: The core is in another process.
        """
        state, mode = ffi.new("uint32_t *"), ffi.new("char[]", 64)
        error = ffi.new("struct nd_error *")
        code = lib.nd_app_port_state(self.dispatcher.app, 0, state, mode, error)
        self.dispatcher.check(code, "no state of the port")
        note = reason_of(error)
        return PortState(STATES[state[0]], ffi.string(mode).decode(), note)

    def told(self) -> dict[str, object] | None:
        """What switchd says, what of it is in force, and how old it is; None without one."""
        return self._follower.describe() if self._follower else None

    def audit(self) -> str | None:
        """What is wrong inside the engines, or None. It looks at all they hold: for tests."""
        wrong = lib.nd_app_audit(self.dispatcher.app)
        return ffi.string(wrong).decode() if wrong else None

    # ---- the end ----

    def drain(self, timeout: float) -> bool:
        """Waits until the connections that were closed are gone; false when some are left."""
        until = time.monotonic() + timeout
        while self.dispatcher.by_connection:
            if time.monotonic() >= until:
                return False
            self.dispatcher.pause(until)
        return True

    @property
    def closed(self) -> bool:
        """True after close()."""
        return self._closed

    def close(self, drain: float = 0.5) -> None:
        """Closes the stack: its sockets get Closed, RPCs are cancelled. Idempotent.

        Args:
            drain: Seconds to go on sending what closed sockets had queued.
        """
        if self._closed:
            return
        self._closed = True
        for helper in (self._told, self._follower, self._resolver):
            if helper is not None:
                helper.close()
        try:
            if drain and not self.dispatcher.ended:
                self.drain(drain)
        except NdpError as error:
            if error.errno not in (errno.EPIPE, errno.ECHILD):
                raise
        finally:
            self.dispatcher.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_closed", True):
            return
        warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
        self.close(drain=0)

    def __repr__(self) -> str:
        return f"<Stack {self.name}{' closed' if self._closed else ''}>"


def _texts(table: _core.nd_counters_table) -> list[tuple[str, str]]:
    """Names with what they count."""
    return [
        (ffi.string(text.name).decode(), ffi.string(text.help).decode())
        for text in (table.texts[i] for i in range(table.count))
    ]


_pairs = itertools.count(1)


@contextmanager
def memory_pair(
    *, protocols: tuple[Protocol, ...] = ("ndp", "homa"), mtu: int = 0, receive_bytes: int = 0
) -> Iterator[tuple[Stack, Stack]]:
    """Two stacks in this process that are linked by shared memory: for tests and first tries.

    Their addresses are 10.0.0.1 and 10.0.0.2; nothing leaves the process, no privilege is needed.

    Args:
        protocols: Engines to run.
        mtu: Bytes of an IP packet on the link, 0: 1500.
        receive_bytes: Memory for received messages, 0: 32 MiB.
    """
    name = f"pair-{os.getpid()}-{next(_pairs)}"
    with (
        _end(name, 1, protocols, mtu, receive_bytes) as first,
        _end(name, 2, protocols, mtu, receive_bytes) as second,
    ):
        yield first, second


def _end(
    name: str, number: int, protocols: tuple[Protocol, ...], mtu: int, receive_bytes: int
) -> Stack:
    return Stack(
        StackConfig(
            name=name,
            backend="memory",
            address=f"10.0.0.{number}",
            listen=number == 1,
            protocols=protocols,
            mtu=mtu,
            receive_bytes=receive_bytes,
        )
    )
