"""The methods of the control API: names, what they take, what they answer, who does it.

The reference page is made from this table, and so is what clients may send.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, cast

from ndpstack import __version__
from ndpstack._logs import Level  # noqa: TC001 - `read_params` looks it up
from ndpstack.control import API_VERSION
from ndpstack.toml import Range, suggest, to_toml
from switchd.config import ConfigError
from switchd.control import _rows as rows
from switchd.control import _views as views
from switchd.control._params import read_params
from switchd.control._server import CallError

if TYPE_CHECKING:
    from switchd._controller import Controller
    from switchd._events import Event
    from switchd._mirrors import Mirrors
    from switchd.control._server import Server, Session
    from switchd.hosts import HostService

log = logging.getLogger("switchd.control")

# ---- what methods take ----


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """No parameters."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings at run time."""

    items: tuple[str, ...]
    """For `set`: "switch.tor0.port.h1.rate=5Gbit"; for `unset`: keys without values."""
    dry_run: bool = False
    """Say what would change, and change nothing."""


@dataclass(frozen=True, kw_only=True)
class Reload:
    """How to reload."""

    dry_run: bool = False
    """Say what would change, and change nothing."""


@dataclass(frozen=True, kw_only=True)
class Clear:
    """What to clear."""

    what: Literal["counters", "watermarks"] = "counters"
    """What begins anew for operators; Prometheus sees no change."""


@dataclass(frozen=True, kw_only=True)
class Log:
    """A level."""

    logger: str = "switchd"
    """Which logger; "switchd" for all."""
    level: Level
    """The least level that is logged."""


@dataclass(frozen=True, kw_only=True)
class Capture:
    """What to capture."""

    switch: str
    """Of which switch."""
    ports: tuple[str, ...] = ()
    """Of which ports; all when empty."""
    direction: Literal["rx", "tx", "both"] = "both"
    """Frames that arrive, that leave, or all."""
    snaplen: Annotated[int, Range(14, 9238)] = 256
    """Bytes of each frame that are kept."""


@dataclass(frozen=True, kw_only=True)
class CaptureEnd:
    """Which capture."""

    id: int
    """As `capture.start` said."""


# ---- the table ----

Params = object
Run = Callable[["Api", "Session", Params], Awaitable[object]]


@dataclass(frozen=True)
class Method:
    """A method of the API."""

    name: str
    summary: str
    params: type
    result: type
    many: bool
    """Whether it answers a list of results."""
    run: Run


class Api:
    """Answers calls; one for each daemon."""

    def __init__(self, controller: Controller, mirrors: Mirrors, hosts: HostService) -> None:
        self.controller = controller
        self.mirrors = mirrors
        self.hosts = hosts
        self.server: Server | None = None
        """Whose counters `show runtime` has."""
        self.started = time.monotonic()
        self._rounds = (self.started, controller.manager.plane.heartbeat())
        self._followers: set[Session] = set()
        self._loop = asyncio.get_running_loop()
        controller.manager.events.listen(self._happened)

    async def call(self, session: Session, method: str, params: object) -> object:
        """The answer to a call, as plain values.

        Raises:
            UserError: Why there is none.
        """
        found = METHODS.get(method)
        if found is None:
            hint = suggest(method, list(METHODS), "there are")
            raise CallError("unknown-method", f"there is no method {method!r}; {hint}")
        try:
            result = await found.run(self, session, read_params(found.params, params, method))
        except ConfigError as error:
            raise CallError("invalid-config", str(error)) from error
        if isinstance(result, list):
            return [vars(row) for row in result]
        return vars(result)

    def closed(self, session: Session) -> None:
        """A client is gone, and its captures with it."""
        self.mirrors.stop_captures(session)
        self._followers.discard(session)

    def follow(self, session: Session) -> None:
        """Tells a client of each event from now on."""
        self._followers.add(session)

    def _happened(self, event: Event) -> None:
        """From any thread."""
        params = vars(views.event(event))
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._tell, params)

    def _tell(self, params: dict[str, object]) -> None:
        for session in list(self._followers):
            session.notify("event", params)

    def runtime(self) -> rows.RuntimeRow:
        """`show runtime`."""
        plane = self.controller.manager.plane
        now, beat = time.monotonic(), plane.heartbeat()
        then, before = self._rounds
        self._rounds = (now, beat)
        seconds = max(now - then, 1e-9)
        counters = self.server.counters if self.server else None
        return rows.RuntimeRow(
            rounds=beat.rounds,
            rounds_per_second=(beat.rounds - before.rounds) / seconds,
            busy_percent=100 * beat.busy_rounds / max(beat.rounds, 1),
            frames_per_busy_round=beat.frames / max(beat.busy_rounds, 1),
            asleep_percent=min(100.0, (beat.sleep_ns - before.sleep_ns) / seconds / 1e7),
            gap_us_max=beat.gap_ns_max / 1000,
            control_clients=len(self.server.sessions) if self.server else 0,
            control_calls=counters.calls if counters else 0,
            control_errors=counters.errors if counters else 0,
            control_slowed=counters.slowed if counters else 0,
            control_refused=counters.refused if counters else 0,
            audit="; ".join(self.controller.manager.audit()) or "ok",
        )

    def status(self) -> rows.StatusRow:
        """`show status`."""
        ports = [port for _, _, port in self.controller.manager.ports()]
        return rows.StatusRow(
            version=__version__,
            api=API_VERSION,
            pid=os.getpid(),
            uptime_seconds=time.monotonic() - self.started,
            config=str(self.controller.path),
            switches=len(self.controller.manager.live),
            ports=len(ports),
            ports_down=sum(not port.forwards for port in ports),
            unsaved=bool(self.controller.overrides),
            applied=self.controller.applied_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        )


METHODS: dict[str, Method] = {}


def _method(name: str, params: type, result: type, *, many: bool = False) -> Callable[[Run], Run]:
    def register(run: Run) -> Run:
        METHODS[name] = Method(name, (run.__doc__ or "").strip(), params, result, many, run)
        return run

    return register


def _view(
    name: str, result: type, summary: str, view: Callable[[Controller], list[object]]
) -> None:
    async def run(api: Api, session: Session, params: Params) -> object:  # noqa: ARG001
        return view(api.controller)

    METHODS[name] = Method(name, summary, Nothing, result, many=True, run=run)


def _views() -> None:
    table: list[tuple[str, type, str, object]] = [
        ("show.ports", rows.PortRow, "Ports with their states and counters.", views.ports),
        ("show.queues", rows.QueueRow, "Queues: what they hold, what they did.", views.queues),
        ("show.watermarks", rows.WatermarkRow, "Most that each queue held.", views.watermarks),
        ("show.trim", rows.TrimRow, "Trimming by port.", views.trim),
        ("show.ecn", rows.EcnRow, "Congestion marks by port.", views.ecn),
        ("show.phantom", rows.PhantomRow, "Phantom queues.", views.phantom),
        ("show.drops", rows.DropRow, "Every reason for a drop, what happened first.", views.drops),
        ("show.counters", rows.CounterRow, "All that the core counts.", views.counters),
        ("show.fdb", rows.FdbRow, "Ethernet addresses.", views.fdb),
        ("show.routes", rows.RouteRow, "Routes.", views.routes),
        ("show.paths", rows.PathRow, "Paths that hosts are told.", views.paths),
        ("show.profiles", rows.ProfileRow, "Profiles.", views.profiles),
        ("show.events", rows.EventRow, "What happened, the oldest first.", views.events),
    ]
    for name, result, summary, view in table:
        _view(name, result, summary, cast("Callable[[Controller], list[object]]", view))


_views()


@_method("version", Nothing, rows.VersionRow)
async def _version(api: Api, session: Session, params: Params) -> object:  # noqa: ARG001
    """Versions; what a client asks first."""
    return rows.VersionRow(API_VERSION, __version__)


@_method("show.version", Nothing, rows.VersionRow)
async def _show_version(api: Api, session: Session, params: Params) -> object:
    """The same, as a view."""
    return await _version(api, session, params)


@_method("events", Nothing, rows.EventRow, many=True)
async def _events(api: Api, session: Session, params: Params) -> object:  # noqa: ARG001
    """What happened; what happens from now on follows as notifications `event`."""
    api.follow(session)
    return views.events(api.controller)


@_method("show.status", Nothing, rows.StatusRow)
async def _status(api: Api, session: Session, params: Params) -> object:  # noqa: ARG001
    """The daemon in a line."""
    return api.status()


@_method("show.runtime", Nothing, rows.RuntimeRow)
async def _runtime(api: Api, session: Session, params: Params) -> object:  # noqa: ARG001
    """How the data path and the control plane do."""
    return api.runtime()


@_method("show.hosts", Nothing, rows.HostRow, many=True)
async def _hosts(api: Api, session: Session, params: Params) -> object:  # noqa: ARG001
    """Hosts, configured and connected."""
    return api.hosts.rows()


@_method("show.mirrors", Nothing, rows.MirrorRow, many=True)
async def _mirrors(api: Api, session: Session, params: Params) -> object:  # noqa: ARG001
    """Mirrors."""
    return api.mirrors.rows()


@_method("show.running-config", Nothing, rows.ConfigRow)
async def _running(api: Api, session: Session, params: Params) -> object:  # noqa: ARG001
    """The configuration in force."""
    controller = api.controller
    return rows.ConfigRow(controller.running_config(), to_toml(controller.overrides).strip())


@_method("show.log", Nothing, rows.LogRow, many=True)
async def _show_log(api: Api, session: Session, params: Params) -> object:  # noqa: ARG001
    """Loggers with a level of their own."""
    return _loggers()


@_method("set", Settings, rows.ChangeRow, many=True)
async def _set(api: Api, session: Session, params: Params) -> object:
    """Settings at run time, all or none; they last until the daemon ends, or are saved."""
    assert isinstance(params, Settings)
    changes = await api.controller.set(params.items, dry_run=params.dry_run)
    _record(session, "set", params.dry_run, params.items)
    return views.changes(changes)


@_method("unset", Settings, rows.ChangeRow, many=True)
async def _unset(api: Api, session: Session, params: Params) -> object:
    """Takes settings made at run time back."""
    assert isinstance(params, Settings)
    changes = await api.controller.unset(params.items, dry_run=params.dry_run)
    _record(session, "unset", params.dry_run, params.items)
    return views.changes(changes)


@_method("reload", Reload, rows.ChangeRow, many=True)
async def _reload(api: Api, session: Session, params: Params) -> object:
    """Reads the configuration again and applies what differs, all or nothing."""
    assert isinstance(params, Reload)
    changes = await api.controller.reload(dry_run=params.dry_run)
    _record(session, "reload", params.dry_run, ())
    return views.changes(changes)


@_method("save", Nothing, rows.ConfigRow)
async def _save(api: Api, session: Session, params: Params) -> object:  # noqa: ARG001
    """Writes settings made at run time into conf.d; answers the file's path as `text`."""
    path = await api.controller.save()
    return rows.ConfigRow(str(path), "")


@_method("clear", Clear, rows.StatusRow)
async def _clear(api: Api, session: Session, params: Params) -> object:
    """Begins counting anew for operators."""
    assert isinstance(params, Clear)
    if params.what == "counters":
        api.controller.clear_counters()
    else:
        api.controller.clear_watermarks()
    _record(session, f"clear {params.what}", dry_run=False, items=())
    return api.status()


@_method("log", Log, rows.LogRow, many=True)
async def _log(api: Api, session: Session, params: Params) -> object:  # noqa: ARG001
    """Changes a level at once, until the daemon ends."""
    assert isinstance(params, Log)
    if params.logger not in logging.root.manager.loggerDict:
        known = [name for name in logging.root.manager.loggerDict if name.startswith("switchd")]
        hint = suggest(params.logger, known, "there are")
        raise CallError("invalid", f"there is no logger {params.logger!r}; {hint}")
    logging.getLogger(params.logger).setLevel(params.level.upper())
    return _loggers()


@_method("capture.start", Capture, rows.CaptureRow)
async def _capture(api: Api, session: Session, params: Params) -> object:
    """Begins a capture (pcapng) that ends with `capture.stop` or the connection."""
    assert isinstance(params, Capture)
    number = api.mirrors.start_capture(
        session, params.switch, params.ports, params.direction, params.snaplen
    )
    return rows.CaptureRow(number)


@_method("capture.stop", CaptureEnd, rows.CaptureRow)
async def _capture_stop(api: Api, session: Session, params: Params) -> object:
    """Ends a capture; what it has is sent first."""
    assert isinstance(params, CaptureEnd)
    await api.mirrors.stop_capture(session, params.id)
    return rows.CaptureRow(params.id)


def _record(session: Session, what: str, dry_run: bool, items: tuple[str, ...]) -> None:
    """Who changed what: for the journal."""
    if not dry_run:
        log.info("%s by %s %s", what, session.peer, " ".join(items))


def _loggers() -> list[rows.LogRow]:
    found = []
    for name in sorted(logging.root.manager.loggerDict):
        logger = logging.getLogger(name)
        if name.startswith("switchd") and logger.level != logging.NOTSET:
            found.append(rows.LogRow(name, logging.getLevelName(logger.level).lower()))
    return found
