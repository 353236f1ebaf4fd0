"""The settings of a host, and how they travel."""

from __future__ import annotations

import dataclasses
import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

Encoding = Literal["source-port", "address", "label", "source-route"]
ENCODINGS: Final = ("source-port", "address", "label", "source-route")

PATHS_MAX: Final = 4096
"""Paths of one host."""
PREFIXES_MAX: Final = 1024
"""Prefixes that one path leads to."""
PATH_ID_MAX: Final = 65535
LEVELS: Final = 8
RATE_BPS_MAX: Final = 10**13
MTU_MAX: Final = 9216
DSCP_MAX: Final = 63
PCP_MAX: Final = 7
NUMBER_MAX: Final = 2**63 - 1
CUTOFF_MAX: Final = 2**31 - 1
REASON_CHARACTERS: Final = 80
"""Of a value that is quoted where it is refused."""
REFUSED_MAX: Final = 32
"""Refusals of one message that are told one by one."""


Reader = Callable[[object], object]
"""Takes a plain value for a setting, or raises SettingsError."""


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

    @cached_property
    def _networks(self) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
        return tuple(ipaddress.ip_network(prefix) for prefix in self.to)

    def leads_to(self, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
        """Whether packets to the address may take it."""
        return not self.to or any(address in network for network in self._networks)


@dataclass(frozen=True)
class Marks:
    """How a host's packets are marked, so that switches serve them as they are meant."""

    dscp_data: int
    """Code point of NDP data that may not be trimmed."""
    dscp_control: int
    """Code point of NDP packets without payload."""
    dscp_homa: tuple[int, ...]
    """Code points of Homa packets by priority, the lowest first."""
    pcp: tuple[int, ...]
    """PCP of frames with a VLAN tag by priority, the lowest first."""


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
    dscp_last_hop: int | None = None
    """Of those, the one of frames that were trimmed at this host's own link; None: it has none."""


@dataclass(frozen=True)
class HostSettings:
    """What a host is told."""

    host: str
    """Its name."""
    generation: int
    """Larger after each change, as long as the daemon runs."""
    link_rate_bps: int = 0
    """Of its link, 0 when nobody knows."""
    mtu: int = 0
    """Of its link, 0 when nobody knows."""
    link_up: bool = True
    """Whether the switch forwards to it."""
    paths: tuple[Path, ...] = ()
    """Those that are up."""
    priority_levels: int = LEVELS
    """Levels that switches serve strictly."""
    cutoffs: tuple[int, ...] = ()
    """Homa: largest unscheduled message of each level from the highest down; measured when
    empty."""
    marks: Marks | None = None
    """How its packets are marked; its own defaults when None."""
    trimming: Trimming = field(default_factory=Trimming)
    """What switches trim."""

    def paths_to(self, address: str) -> list[Path]:
        """Paths that lead to an address."""
        target = ipaddress.ip_address(address)
        return [path for path in self.paths if path.leads_to(target)]

    def to_wire(self) -> dict[str, object]:
        """As plain values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_wire(cls, value: object, before: Self | None = None) -> tuple[Self, dict[str, str]]:
        """From plain values: the settings, and why some were refused, by name.

        Each setting is judged by itself. One that is refused stays as it was before, or as it is
        when nobody tells; one that is left out is as when nobody tells.

        Raises:
            SettingsError: It is not even known whose they are.
        """
        table = _table(value)
        refused: dict[str, str] = {}
        taken: dict[str, object] = {
            "host": _text(table.pop("host", None)),
            "generation": _count(table.pop("generation", None)),
        }
        for name, item in table.items():
            try:
                taken[name] = _reader(name)(item)
            except SettingsError as error:
                if len(refused) < REFUSED_MAX:
                    refused[_short(name)] = str(error)
                if before is not None and name in _READERS:
                    taken[name] = getattr(before, name)
        return cls(**taken), refused  # type: ignore[arg-type]


def _short(value: object) -> str:
    """As much of a value as an operator wants to read."""
    return str(value)[:REASON_CHARACTERS]


def _wrong(value: object, wanted: str) -> SettingsError:
    return SettingsError(f"{_short(repr(value))} is not {wanted}")


def _table(value: object) -> dict[str, object]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise _wrong(value, "a table")
    return dict(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(value, "text")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise _wrong(value, "yes or no")
    return value


def _number(most: int, least: int = 0) -> Callable[[object], int]:
    def read(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise _wrong(value, f"a number from {least} to {most}")
        return value

    return read


_count = _number(NUMBER_MAX)


def _items(value: object, most: int) -> Sequence[object]:
    if not isinstance(value, list | tuple) or len(value) > most:
        raise _wrong(value, f"a list of at most {most}")
    return value


def _numbers(most: int, count_max: int, count_min: int = 0) -> Reader:
    read = _number(most)

    def read_all(value: object) -> tuple[int, ...]:
        found = tuple(read(item) for item in _items(value, count_max))
        if len(found) < count_min:
            raise _wrong(value, f"a list of {count_min}")
        return found

    return read_all


def _fields(cls: type, readers: Mapping[str, Reader]) -> Reader:
    """For a table that has all fields of a dataclass, and no others."""

    def read(value: object) -> object:
        table = _table(value)
        for name in sorted(table.keys() ^ readers.keys()):
            raise SettingsError(f"{_short(name)} is {'unknown' if name in table else 'missing'}")
        return cls(**{name: reader(table[name]) for name, reader in readers.items()})

    return read


def _path(value: object) -> Path:
    table = _table(value)
    encoding = table.get("encoding")
    if encoding not in ENCODINGS:
        raise _wrong(encoding, f"one of {', '.join(ENCODINGS)}")
    number = _number(PATH_ID_MAX)(table.get("id"))
    chosen = (_text if encoding == "address" else _count)(table.get("value"))
    to = tuple(_prefix(item) for item in _items(table.get("to"), PREFIXES_MAX))
    return Path(number, encoding, chosen, to)


def _prefix(value: object) -> str:
    try:
        return str(ipaddress.ip_network(_text(value)))
    except ValueError as error:
        raise SettingsError(_short(error)) from None


def _paths(value: object) -> tuple[Path, ...]:
    return tuple(_path(item) for item in _items(value, PATHS_MAX))


def _optional(read: Reader) -> Reader:
    return lambda value: None if value is None else read(value)


_DSCP: Final = _number(DSCP_MAX)
_READERS: Final[Mapping[str, Reader]] = {
    "link_rate_bps": _number(RATE_BPS_MAX),
    "mtu": _number(MTU_MAX, 1),
    "link_up": _flag,
    "paths": _paths,
    "priority_levels": _number(LEVELS, 1),
    "cutoffs": _numbers(CUTOFF_MAX, LEVELS),
    "marks": _optional(
        _fields(
            Marks,
            {
                "dscp_data": _DSCP,
                "dscp_control": _DSCP,
                "dscp_homa": _numbers(DSCP_MAX, LEVELS, LEVELS),
                "pcp": _numbers(PCP_MAX, LEVELS, LEVELS),
            },
        )
    ),
    "trimming": _fields(
        Trimming,
        {
            "enabled": _flag,
            "size": _number(MTU_MAX),
            "dscp_trimmable": _DSCP,
            "dscp_trimmed": _numbers(DSCP_MAX, DSCP_MAX + 1),
            "dscp_last_hop": _optional(_DSCP),
        },
    ),
}


def _reader(name: str) -> Reader:
    if name not in _READERS:
        raise SettingsError("unknown here: of a newer switchd?")
    return _READERS[name]
