"""The service that hosts connect to; it only ever tells, and changes nothing."""

from __future__ import annotations

import dataclasses
import ipaddress
from typing import TYPE_CHECKING, cast

from ndpstack import __version__
from ndpstack._errors import UserError
from ndpstack.control import API_VERSION
from ndpstack.toml import suggest
from switchd._sockets import Access
from switchd.control._params import read_params
from switchd.control._rows import HostRow, VersionRow
from switchd.control._server import CallError, Limits
from switchd.hosts._settings import mtus, settings_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ndpstack.paths import HostSettings
    from switchd._controller import Controller
    from switchd.control._server import Session

HOST_LIMITS = Limits(
    clients=4096, cpu=0.02, access=Access(anybody=True), message_bytes=16 * 2**10, items=512
)
"""Of the server that hosts connect to: anybody may, to send a name or some addresses."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Subscribe:
    """Who asks."""

    host: str = ""
    """Its name."""
    addresses: tuple[str, ...] = ()
    """Its addresses, for a host without a name."""


class HostService:
    """Settings by host, and the clients that want to hear of changes."""

    def __init__(self, controller: Controller) -> None:
        """Knows nobody yet; `server.serve` lets hosts in."""
        self._controller = controller
        self._told: dict[str, HostSettings] = {}
        self._subscribers: dict[Session, str] = {}

    def refresh(self) -> None:
        """Tells hosts whose settings changed."""
        mtu_of = mtus(self._controller.manager)
        for name in self._controller.config.host:
            before = self._told.get(name)
            settings = self._current(name, mtu_of)
            if before is not settings:
                self._told[name] = settings
                for session, host in list(self._subscribers.items()):
                    if host == name:
                        session.notify("settings", settings.to_wire())
        for name in [name for name in self._told if name not in self._controller.config.host]:
            del self._told[name]

    def _current(self, name: str, mtu_of: Mapping[str, int]) -> HostSettings:
        """The settings of now; the same object as long as nothing in them changes."""
        before = self._told.get(name)
        generation = before.generation if before else 0
        controller = self._controller
        now = settings_of(name, controller.config, controller.manager, mtu_of, generation)
        if now == before:
            return before
        return dataclasses.replace(now, generation=generation + 1)

    async def call(self, session: Session, method: str, params: object) -> object:
        """Answers a host.

        Raises:
            UserError: Why not.
        """
        if method == "version":
            return dataclasses.asdict(VersionRow(API_VERSION, __version__))
        if method != "subscribe":
            raise CallError("unknown-method", f"hosts may call version or subscribe, not {method}")
        name = self._find(cast("Subscribe", read_params(Subscribe, params, method)))
        self._subscribers[session] = name
        self.refresh()
        return self._told[name].to_wire()

    def _find(self, wanted: Subscribe) -> str:
        known = self._controller.config.host
        if wanted.host:
            if wanted.host not in known:
                hint = suggest(wanted.host, list(known), "there are")
                raise UserError(f"{wanted.host!r} is no host; {hint}; add [host.{wanted.host}]")
            return wanted.host
        addresses = set()
        for text in wanted.addresses:
            try:
                addresses.add(str(ipaddress.ip_address(text)))
            except ValueError as error:
                raise CallError("invalid", str(error)) from None
        for name, host in known.items():
            if addresses & set(host.address):
                return name
        raise UserError(f"no host has one of {sorted(addresses)}; add [host.NAME] with `address`")

    def closed(self, session: Session) -> None:
        """A client is gone."""
        self._subscribers.pop(session, None)

    def rows(self) -> list[HostRow]:
        """`show hosts`."""
        self.refresh()
        clients = list(self._subscribers.values())
        return [
            HostRow(
                host=name,
                port=host.port,
                addresses=", ".join(host.address),
                connected=clients.count(name),
                paths=len(self._told[name].paths),
                generation=self._told[name].generation,
            )
            for name, host in self._controller.config.host.items()
        ]
