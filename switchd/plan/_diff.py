"""What differs between two plans, for the operator to read and for the daemon to do."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ndpstack.switch import PortConfig
    from switchd.plan._types import Forwarding, Plan, SwitchPlan

Kind = Literal["add", "remove", "change", "reopen", "rebuild", "restart"]

EFFECTS: Mapping[Kind, str] = {
    "add": "new",
    "remove": "goes away, with what is queued",
    "change": "changes in place; sockets and counters stay",
    "reopen": "is closed and opened; its queue and counters stay",
    "rebuild": "is made anew, with all its ports",
    "restart": "takes effect when the daemon is started again",
}
"""What a kind of change means to packets."""


@dataclass(frozen=True)
class Field:
    """A value that changes."""

    name: str
    old: object
    new: object


@dataclass(frozen=True)
class Change:
    """One thing that changes."""

    kind: Kind
    what: str
    """"switch tor0", "port tor0/h1", "forwarding tor0"."""
    fields: tuple[Field, ...] = ()

    def summary(self) -> str:
        """The change in one line, without what it is of."""
        values = ", ".join(f"{item.name}: {item.old} -> {item.new}" for item in self.fields)
        return f"{self.kind} ({values})" if values else self.kind

    def lines(self) -> Iterator[str]:
        """The change as text."""
        yield f"{self.kind:8}{self.what}  ({EFFECTS[self.kind]})"
        for field in self.fields:
            yield f"        {field.name}: {field.old} -> {field.new}"


def differences(old: Plan, new: Plan) -> list[Change]:
    """What happens when a plan follows another one."""
    changes = [Change("remove", f"switch {name}") for name in old if name not in new]
    for name, switch in new.items():
        if name not in old:
            changes.append(Change("add", f"switch {name}"))
            changes += [Change("add", f"port {name}/{port}") for port in switch.ports]
        else:
            changes += _switch(name, old[name], switch)
    return changes


def _switch(name: str, old: SwitchPlan, new: SwitchPlan) -> Iterator[Change]:
    if old.base != new.base:
        yield Change("rebuild", f"switch {name}", tuple(fields(old.base, new.base)))
        return
    for port in old.ports:
        if port not in new.ports:
            yield Change("remove", f"port {name}/{port}")
    for port, plan in new.ports.items():
        if port not in old.ports:
            yield Change("add", f"port {name}/{port}")
        elif plan != old.ports[port]:
            yield port_change(f"port {name}/{port}", old.ports[port], plan)
    if old.forwarding != new.forwarding:
        changed = tuple(_forwarding(old.forwarding, new.forwarding))
        yield Change("change", f"forwarding {name}", changed)


def port_change(what: str, old: PortConfig, new: PortConfig) -> Change:
    """The change from one plan of a port to another one."""
    kind: Kind = "change" if old.opening == new.opening else "reopen"
    return Change(kind, what, tuple(fields(old, new)))


def _forwarding(old: Forwarding, new: Forwarding) -> Iterator[Field]:
    groups = ({group.name: group for group in side.groups} for side in (old, new))
    yield from _mapping("group", *groups)
    yield from _mapping("address", old.addresses, new.addresses)
    yield from _mapping("route", old.routes, new.routes)


def _mapping(name: str, old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[Field]:
    for key in [*old, *(key for key in new if key not in old)]:
        before, after = old.get(key), new.get(key)
        if before != after:
            yield Field(f"{name}.{key}", _short(before), _short(after))


def fields(old: object, new: object, prefix: str = "") -> Iterator[Field]:
    """The values that differ between two dataclasses or mappings, however deep."""
    before, after = _items(old), _items(new)
    for key in [*before, *(key for key in after if key not in before)]:
        a, b = before.get(key), after.get(key)
        if a == b:
            continue
        if _items(a) and _items(b):
            yield from fields(a, b, f"{prefix}{key}.")
        else:
            yield Field(f"{prefix}{key}", _short(a), _short(b))


def _items(value: object) -> Mapping[str, object]:
    if isinstance(value, Mapping):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    return {}


def _short(value: object) -> object:
    """A value as it is shown: of a table, its values."""
    if value is None:
        return "none"
    items = _items(value)
    return ", ".join(f"{key}={item}" for key, item in items.items()) if items else value
