"""The settings of a host, and how they travel."""

from __future__ import annotations

import dataclasses
import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Self, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

Encoding = Literal["source-port", "address", "label", "source-route"]
ENCODINGS = ("source-port", "address", "label", "source-route")

PATHS_MAX = 65536


class SettingsError(ValueError):
    """What arrived are no settings of a host."""


@dataclass(frozen=True)
class Path:
    """A path through the fabric that is up."""

    id: int
    """Its number."""
    encoding: Encoding
    """How a sender chooses it."""
    value: int | str
    """The UDP source port, address, label or source route."""
    to: tuple[str, ...] = ()
    """Prefixes that it leads to; all when empty."""


@dataclass(frozen=True)
class Trimming:
    """How switches trim what this host sends, and what it receives then."""

    enabled: bool = False
    """Whether switches trim at all."""
    size: int = 0
    """Bytes of a frame that stay, 0 for its headers."""
    dscp_trimmable: int = 0
    """Code point of data that may be trimmed."""
    dscp_trimmed: tuple[int, ...] = ()
    """Code points of trimmed frames."""


@dataclass(frozen=True)
class HostSettings:
    """What a host is told."""

    host: str
    """Its name."""
    generation: int
    """Larger after each change, as long as the daemon runs."""
    link_rate_bps: int
    """Of its link, 0 when nobody knows."""
    mtu: int
    """Of its link."""
    link_up: bool
    """Whether the switch forwards to it."""
    paths: tuple[Path, ...] = ()
    """Those that are up."""
    priority_levels: int = 8
    """Levels that switches serve strictly."""
    cutoffs: tuple[int, ...] = ()
    """Homa: largest unscheduled message of each level from the highest down; measured when
    empty."""
    trimming: Trimming = field(default_factory=Trimming)
    """What switches trim."""

    def paths_to(self, address: str) -> list[Path]:
        """Paths that lead to an address."""
        target = ipaddress.ip_address(address)
        return [
            path
            for path in self.paths
            if not path.to or any(target in ipaddress.ip_network(prefix) for prefix in path.to)
        ]

    def to_wire(self) -> dict[str, object]:
        """As plain values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_wire(cls, value: object) -> Self:
        """From plain values.

        Raises:
            SettingsError: They are something else.
        """
        table = _table(value)
        return cls(
            host=_text(table, "host"),
            generation=_number(table, "generation"),
            link_rate_bps=_number(table, "link_rate_bps"),
            mtu=_number(table, "mtu"),
            link_up=bool(table.get("link_up")),
            paths=tuple(_path(item) for item in _list(table, "paths")),
            priority_levels=_number(table, "priority_levels"),
            cutoffs=_numbers(table, "cutoffs"),
            trimming=_trimming(table.get("trimming")),
        )


def _table(value: object) -> dict[str, object]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise SettingsError(f"not a table: {value!r:.100}")
    return value


def _text(table: dict[str, object], name: str) -> str:
    value = table.get(name)
    if not isinstance(value, str):
        raise SettingsError(f"{name} is no text: {value!r:.100}")
    return value


def _number(table: dict[str, object], name: str) -> int:
    value = table.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise SettingsError(f"{name} is no number: {value!r:.100}")
    return value


def _list(table: dict[str, object], name: str) -> Sequence[object]:
    value = table.get(name)
    if not isinstance(value, list | tuple) or len(value) > PATHS_MAX:
        raise SettingsError(f"{name} is no list: {value!r:.100}")
    return value


def _numbers(table: dict[str, object], name: str) -> tuple[int, ...]:
    return tuple(_number({name: item}, name) for item in _list(table, name))


def _path(value: object) -> Path:
    table = _table(value)
    encoding = table.get("encoding")
    if encoding not in ENCODINGS:
        raise SettingsError(f"encoding is none of {', '.join(ENCODINGS)}: {encoding!r:.100}")
    name = "value"
    chosen = _text(table, name) if encoding == "address" else _number(table, name)
    to = tuple(_prefix(item) for item in _list(table, "to"))
    return Path(_number(table, "id"), cast("Encoding", encoding), chosen, to)


def _prefix(value: object) -> str:
    try:
        return str(ipaddress.ip_network(str(value)))
    except ValueError as error:
        raise SettingsError(str(error)) from None


def _trimming(value: object) -> Trimming:
    table = _table(value)
    return Trimming(
        enabled=bool(table.get("enabled")),
        size=_number(table, "size"),
        dscp_trimmable=_number(table, "dscp_trimmable"),
        dscp_trimmed=_numbers(table, "dscp_trimmed"),
    )
