"""The configuration in force and how it changes: reload, settings at run time, saving them."""

from __future__ import annotations

import asyncio
import copy
import os
import tempfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack.toml import (
    Table,
    kind_within,
    override,
    spelling,
    split_keys,
    split_override,
    to_toml,
)
from switchd._baselines import Baselines
from switchd._threads import in_thread
from switchd.config import Config, Loaded, Source, assemble, load, merge, plain
from switchd.plan import Change, Field, build_plan, differences, fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from switchd.config import FabricPath
    from switchd.dataplane import SwitchReading
    from switchd.plan import Forwarding, Plan, SwitchPlan
    from switchd.runtime import Manager

SAVED = "90-runtime.toml"
"""File of conf.d that `save` writes."""

LIVE_KEYS = ("log", "log_format")
"""Keys of [daemon] that take effect without a restart."""


class Controller:
    """One configuration, one data path. Methods are called on the event loop."""

    def __init__(
        self,
        path: Path,
        loaded: Loaded,
        manager: Manager,
        on_config: Callable[[], None],
    ) -> None:
        """Begins with the configuration that is in force.

        Args:
            path: The TOML file.
            loaded: What it says.
            manager: Of the data path.
            on_config: Called after another configuration is in force.
        """
        self.path = path
        self.manager = manager
        self.baselines = Baselines()
        self.loaded = loaded
        self.overrides: Table = {}
        self.applied_at = datetime.now(UTC)
        self._lock = asyncio.Lock()
        self._on_config = on_config

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self.loaded.config

    async def supervise(self) -> None:
        """Looks after ports that failed."""
        async with self._lock:
            await in_thread(self.manager.supervise)

    async def follow_kernel(self, forwarding: Callable[[SwitchPlan], Forwarding]) -> None:
        """Gives switches that route as the kernel does its routes of now."""
        async with self._lock:
            await in_thread(self._follow_kernel, forwarding)

    def _follow_kernel(self, forwarding: Callable[[SwitchPlan], Forwarding]) -> None:
        """Takes seconds when there are many routes."""
        for name, live in list(self.manager.live.items()):
            if live.plan.base.fib:
                self.manager.set_kernel_routes(name, forwarding(live.plan))

    async def reload(self, *, dry_run: bool = False) -> list[Change]:
        """Reads the files again; settings made at run time stay.

        Raises:
            UserError: Nothing has changed; the text says why.
        """
        async with self._lock:
            read = partial(load, self.path, self.overrides)
            return await self._change(read, self.overrides, dry_run)

    async def set(self, items: Sequence[str], *, dry_run: bool = False) -> list[Change]:
        """Settings "key.key=value" over those of the files as they were last read.

        What says the same as the files is no setting then.

        Raises:
            UserError: None of them is in force; the text says why.
        """
        async with self._lock:
            table = copy.deepcopy(self.overrides)
            for item in items:
                table = override(table, item, Config)
            changes = await self._override(table, dry_run)
            if not dry_run:
                await self._forget([split_override(item)[0] for item in items])
            return changes

    async def unset(self, keys: Iterable[str], *, dry_run: bool = False) -> list[Change]:
        """Takes settings made at run time back.

        Raises:
            UserError: There is no such setting.
        """
        async with self._lock:
            table = copy.deepcopy(self.overrides)
            for key in keys:
                wanted, rest = split_keys(key)
                if rest or not _remove(table, wanted):
                    raise UserError(
                        f"{key}: not set at run time; `show running-config` lists what is; "
                        "what a file sets is changed there"
                    )
            return await self._override(table, dry_run)

    async def save(self) -> Path:
        """Writes the settings made at run time into conf.d.

        Raises:
            UserError: The file cannot be written, or would not say what is in force.
        """
        async with self._lock:
            target = self.path.parent / "conf.d" / SAVED
            try:
                source = self._to_save(target)
                loaded = self._with(source)
                _write(target, source.text)
            except OSError as error:
                raise UserError(
                    f"{target}: cannot be written: {error.strerror}; let the daemon's user write "
                    "there, or copy `show running-config` into a file"
                ) from error
            self.loaded, self.overrides = loaded, {}
            return target

    def reading(self, switch: str) -> SwitchReading:
        """A switch's counters since they were cleared."""
        return self.baselines.reading(switch, self.manager.live[switch])

    def clear_counters(self) -> None:
        """Counters that operators see begin at 0; Prometheus sees no change."""
        self.baselines.clear(dict(self.manager.live))

    def clear_watermarks(self) -> None:
        """Watermarks begin at what is queued now."""
        for live in self.manager.live.values():
            live.handle.clear_watermarks()

    def running_config(self) -> str:
        """The configuration in force, as TOML."""
        return to_toml(plain(self.config))

    def _to_save(self, target: Path) -> Source:
        """The file of settings made at run time, with those that are not in it yet."""
        known = next((source for source in self.loaded.sources if source.path == target), None)
        written = target.read_bytes() if target.exists() else None
        if written != (known.text.encode() if known else None):
            raise UserError(f"{target}: was changed since it was read; reload, then save")
        table = merge(known.table if known else {}, self.overrides)
        return Source(target, to_toml(table), table)

    def _with(self, saved: Source) -> Loaded:
        """The configuration in force, with settings made at run time in a file."""
        first, *others = self.loaded.sources
        others = [source for source in others if source.path != saved.path]
        sources = [first, *sorted([*others, saved], key=lambda source: source.path)]
        loaded = assemble(sources, self.path.parent)
        if loaded.config != self.config:
            raise UserError(
                f"{saved.path}: files of conf.d that come after it say something else; "
                "take that out of them and reload, then save"
            )
        return loaded

    async def _override(self, overrides: Table, dry_run: bool) -> list[Change]:
        """Other settings over the files; the lock is held."""
        read = partial(assemble, self.loaded.sources, self.path.parent, overrides)
        return await self._change(read, overrides, dry_run)

    async def _forget(self, settings: Iterable[list[str]]) -> None:
        """Takes settings out that are in force without them; the lock is held."""
        fewer = copy.deepcopy(self.overrides)
        for keys in settings:
            _remove(fewer, keys)
        read = partial(assemble, self.loaded.sources, self.path.parent, fewer)
        try:
            loaded, plan = await in_thread(_planned, read)
        except UserError:  # One of them at least is needed.
            return
        if not self._changes(loaded, plan):
            self.loaded, self.overrides = loaded, fewer

    def _changes(self, loaded: Loaded, plan: Plan) -> list[Change]:
        """From what is in force."""
        return [
            *daemon_changes(self.config, loaded.config),
            *differences(self.manager.plan, plan),
            *other_changes(self.config, loaded.config),
        ]

    async def _change(
        self, read: Callable[[], Loaded], overrides: Table, dry_run: bool
    ) -> list[Change]:
        """Another configuration in place of the one in force; the lock is held."""
        loaded, plan = await in_thread(_planned, read)
        changes = self._changes(loaded, plan)
        if dry_run:
            return changes
        try:
            await in_thread(self.manager.apply, plan)
        except Exception:
            self._on_config()  # Switches that were made anew on the way back have no mirrors.
            raise
        self.loaded, self.overrides = loaded, overrides
        self.applied_at = datetime.now(UTC)
        self._on_config()
        for change in changes:
            self.manager.events.add("config", change.what, change.summary())
        return changes


def _planned(read: Callable[[], Loaded]) -> tuple[Loaded, Plan]:
    """A configuration, and what the data path is to be with it."""
    loaded = read()
    return loaded, build_plan(loaded)


def daemon_changes(old: Config, new: Config) -> list[Change]:
    """Changes of [daemon], most of which need a restart."""
    live: list[Field] = []
    later: list[Field] = []
    for field in fields(old.daemon, new.daemon):
        (live if field.name in LIVE_KEYS else later).append(field)
    changes = [Change("change", "daemon", tuple(live))] if live else []
    return [*changes, Change("restart", "daemon", tuple(later))] if later else changes


def other_changes(old: Config, new: Config) -> list[Change]:
    """Changes of what is no part of the data path: hosts' settings and mirrors."""
    changes = []
    paths = tuple(fields(_paths(old), _paths(new)))
    for what, found in (
        ("paths", paths),
        ("hosts", tuple(fields(old.host, new.host))),
        ("priorities", tuple(fields(old.priorities, new.priorities))),
    ):
        if found:
            changes.append(Change("change", what, found))
    for name, switch in new.switch.items():
        before = old.switch[name].mirror if name in old.switch else {}
        found = tuple(fields(before, switch.mirror))
        if found:
            changes.append(Change("change", f"mirrors {name}", found))
    return changes


def _paths(config: Config) -> dict[str, FabricPath]:
    """By number, and for whom where that is said."""
    return {" ".join([str(p.id), *p.hosts, *p.to]): p for p in config.path}


def _remove(table: Table, keys: list[str], kind: object = Config) -> bool:
    """Takes one key out, and tables that are empty then; whether it was there."""
    key = spelling(table, keys[0], kind)
    if key not in table:
        return False
    if len(keys) == 1:
        del table[key]
        return True
    inner = table[key]
    if not isinstance(inner, dict) or not _remove(inner, keys[1:], kind_within(kind, key)):
        return False
    if not inner:
        del table[key]
    return True


def _write(path: Path, text: str) -> None:
    """Replaces a file whole, so that no reader sees a part of it."""
    path.parent.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=".", delete=False
    ) as file:
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).chmod(0o644)
            Path(file.name).replace(path)
        except OSError:
            Path(file.name).unlink(missing_ok=True)
            raise
