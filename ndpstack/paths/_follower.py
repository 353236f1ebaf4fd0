"""Gives a core what a switchd tells its host: at the start, and within moments of a change."""

from __future__ import annotations

import dataclasses
import logging
import threading
import time
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from ndpstack._address import unpack
from ndpstack._core import ffi, lib
from ndpstack._errors import UserError
from ndpstack._reason import reason_of
from ndpstack._rows import raw_peers
from ndpstack.errors import NdpError
from ndpstack.paths._settings import LEVELS
from ndpstack.paths._watcher import PathWatcher

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ndpstack import _core
    from ndpstack._dispatch import Dispatcher
    from ndpstack.paths._settings import HostSettings, Marks, Trimming

log = logging.getLogger("ndpstack.paths")

FIRST_SECONDS: Final = 1.0
"""How long a start waits for switchd; without it the host goes on with what it knows."""
LOOK_SECONDS: Final = 1.0
"""How often it is looked for peers that have no paths yet."""

Part = Callable[["_core.nd_stack_settings", "_core.nd_stack_settings", "HostSettings"], object]
Source = Literal["switchd", "config", "own"]


@dataclass(frozen=True)
class Applied:
    """A setting as the core has it."""

    value: object
    """As it was told; None where nobody told."""
    source: Source
    """Who did: `switchd`, or `config` for whoever opened the core; `own` is the interface's, or a
    default."""
    since: float
    """When that began, of time.monotonic()."""


class Follower:
    """Follows a switchd on behalf of one core, in a thread of its own.

    What is told stays when the daemon goes away. A setting that the core refuses stays as it was,
    and the others come into force.

    Args:
        dispatcher: Of the core, which is in this process.
        address: Where switchd serves hosts.
        host: Our name there; found by our addresses when empty.
        addresses: Our own.
        given: Settings that whoever opened the core insists on, by name.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        address: str,
        host: str,
        addresses: Sequence[str],
        given: Mapping[str, object],
    ) -> None:
        now = time.monotonic()
        self._dispatcher = dispatcher
        self._news = threading.Event()
        self._closed = False
        self._watcher = PathWatcher(address, host, addresses, lambda _: self._news.set())
        self._opened = self._settings_now()
        self._applied = {name: Applied(None, "own", now) for name in (*_PARTS, "paths")}
        for name, value in given.items():
            self._applied[name] = Applied(value, "config", now)
        self._told_at: float | None = None
        self._last: HostSettings | None = None
        self._refused: dict[str, int] = {}
        self._reasons: dict[str, str] = {}
        self._paths: dict[int, bytes] = {}
        self._has_stumbled = False
        self._thread = threading.Thread(target=self._run, name="ndpstack-follow", daemon=True)

    def start(self) -> None:
        """The first settings are in force when it returns, where switchd answers at once."""
        self._watcher.start()
        try:
            self._watcher.wait(FIRST_SECONDS)
        except UserError as error:
            log.warning("%s; starting without", error)
        self._apply()
        self._thread.start()

    def close(self) -> None:
        """Follows no longer; may be called again."""
        self._closed = True
        self._news.set()
        self._watcher.close()
        if self._thread.is_alive():
            self._thread.join()

    def describe(self) -> dict[str, object]:
        """What is in force, where it comes from and how old it is."""
        now, watcher = time.monotonic(), self._watcher
        refused = dict(watcher.refused)
        for name, count in list(self._refused.items()):
            refused[name] = refused.get(name, 0) + count
        return {
            "address": watcher.address,
            "connected": watcher.connected,
            "problem": "" if watcher.connected else watcher.problem,
            "outages": watcher.outages,
            "told_s": None if self._told_at is None else round(now - self._told_at, 3),
            "settings": {
                name: {
                    "value": applied.value,
                    "source": applied.source,
                    "age_s": round(now - applied.since, 3),
                }
                for name, applied in list(self._applied.items())
            },
            "refused": refused,
            "reasons": {**watcher.reasons, **self._reasons},
        }

    def _run(self) -> None:
        while True:
            self._news.wait(LOOK_SECONDS)
            self._news.clear()
            if self._closed:
                return
            try:
                self._apply()
            except NdpError as error:
                log.warning("%s: settings are followed no longer", error)
                return
            except Exception:
                if not self._has_stumbled:
                    log.exception("settings cannot be applied now; trying again")
                self._has_stumbled = True
            else:
                self._has_stumbled = False

    def _apply(self) -> None:
        settings = self._watcher.settings
        if settings is None:
            return
        if settings is not self._last:
            self._last, self._told_at = settings, time.monotonic()
            for name, part in _PARTS.items():
                if self._applied[name].source != "config":
                    self._apply_part(name, part, settings)
            self._note("paths", [path.id for path in settings.paths])
        self._give_paths(settings)

    def _apply_part(self, name: str, part: Part, settings: HostSettings) -> None:
        """Tells the core, if it is something new."""
        raw, error = self._settings_now(), ffi.new("struct nd_error *")
        try:
            value = part(raw, self._opened, settings)
        except Exception as mistake:  # Such as more than a field holds.
            self._refuse(name, f"{type(mistake).__name__}: {mistake}")
            return
        self._reasons.pop(name, None)
        if value == self._applied[name].value:
            return
        if lib.nd_app_set(self._dispatcher.app, raw, error) == 0:
            self._note(name, value)
        else:
            self._refuse(name, reason_of(error))

    def _refuse(self, name: str, reason: str) -> None:
        log.warning("%s: %s refused: %s", self._watcher.address, name, reason)
        self._refused[name] = self._refused.get(name, 0) + 1
        self._reasons[name] = reason

    def _note(self, name: str, value: object) -> None:
        source: Source = "own" if value is None else "switchd"
        if (self._applied[name].value, self._applied[name].source) != (value, source):
            self._applied[name] = Applied(value, source, time.monotonic())

    def _settings_now(self) -> _core.nd_stack_settings:
        raw = ffi.new("struct nd_stack_settings *")
        code = lib.nd_app_settings(self._dispatcher.app, raw)
        self._dispatcher.check(code, "the settings of the core cannot be read")
        return raw

    # ---- paths ----

    def _give_paths(self, settings: HostSettings) -> None:
        """Gives NDP the paths to the peers that it knows, where they are not those it has."""
        known = {}
        for row in raw_peers(self._dispatcher):
            known[row.handle] = unpack(bytes(ffi.buffer(row.address)))
        self._paths = {handle: ids for handle, ids in self._paths.items() if handle in known}
        for handle, address in known.items():
            ids = array("H", (path.id for path in settings.paths_to(address))).tobytes()
            if ids and ids != self._paths.get(handle) and self._say_paths(handle, ids):
                self._paths[handle] = ids

    def _say_paths(self, handle: int, ids: bytes) -> bool:
        """False when there is no room now; it is said again with the next look."""
        code = lib.nd_app_send(
            self._dispatcher.app, lib.ND_PROTO_NDP, lib.ND_COMMAND_PATHS, 0, handle, 0, 0, 0,
            lib.ND_NEVER, ids, len(ids),
        )  # fmt: skip
        return code >= 0


# ---- one setting after the other ----

# Each writes what is told into the first settings, what it was opened with where nothing is, and
# returns what is shown of it.


def _set_link(
    raw: _core.nd_stack_settings, opened: _core.nd_stack_settings, told: HostSettings
) -> object:
    raw.link_bps = told.link_rate_bps or opened.link_bps
    return told.link_rate_bps or None


def _set_mtu(
    raw: _core.nd_stack_settings, opened: _core.nd_stack_settings, told: HostSettings
) -> object:
    raw.mtu = told.mtu or opened.mtu
    return told.mtu or None


def _set_priorities(
    raw: _core.nd_stack_settings,
    opened: _core.nd_stack_settings,  # noqa: ARG001
    told: HostSettings,
) -> object:
    """Each of fewer levels than eight stands for adjacent ones of the eight."""
    levels = told.priority_levels
    width = LEVELS // levels
    cutoffs = [0] * LEVELS
    for number, cutoff in enumerate(told.cutoffs[:levels]):
        top = LEVELS - number * width
        cutoffs[top - width : top] = [cutoff] * width
    raw.levels = levels
    raw.cutoffs[0:LEVELS] = cutoffs
    return {"levels": levels, "cutoffs": list(told.cutoffs)}


def _set_marks(
    raw: _core.nd_stack_settings, opened: _core.nd_stack_settings, told: HostSettings
) -> object:
    raw.frame = opened.frame
    shown: dict[str, object] = {}
    if told.marks is not None:
        shown |= _take_marks(raw.frame, told.marks)
    if told.trimming.enabled:
        shown |= _take_trimming(raw.frame, told.trimming)
    return shown or None


def _take_marks(frame: _core.nd_frame_config, marks: Marks) -> dict[str, object]:
    shown = dataclasses.asdict(marks)
    for name, value in shown.items():
        setattr(frame, name, value)
    return shown


def _take_trimming(frame: _core.nd_frame_config, trimming: Trimming) -> dict[str, object]:
    """A frame that was cut at our own link says so by its code point, if others have another."""
    shown: dict[str, object] = {"dscp_trimmable": trimming.dscp_trimmable}
    last_hop = trimming.dscp_last_hop
    elsewhere = [dscp for dscp in trimming.dscp_trimmed if dscp != last_hop]
    if elsewhere:
        shown["dscp_trimmed"] = elsewhere[0]
    if elsewhere or last_hop is not None:
        shown["dscp_trimmed_last_hop"] = elsewhere[0] if last_hop is None else last_hop
    for name, value in shown.items():
        setattr(frame, name, value)
    return shown


_PARTS: Final[Mapping[str, Part]] = {
    "marks": _set_marks,
    "link_rate_bps": _set_link,
    "mtu": _set_mtu,
    "priorities": _set_priorities,
}
