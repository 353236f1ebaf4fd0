"""What a core tells of itself: connections, RPCs, peers and applications as rows, and counters."""

from __future__ import annotations

import errno
import time
from typing import TYPE_CHECKING, Final

from ndpstack._address import unpack
from ndpstack._core import ffi, lib
from ndpstack._rows import ROWS, indices, raw_peers
from ndpstack._stack import GROUPS, Stack
from ndpstack.errors import NdpError

if TYPE_CHECKING:
    from ndpstack import _core

Row = dict[str, int | str | float]

PROTOCOLS: Final = {lib.ND_PROTO_NDP: "ndp", lib.ND_PROTO_HOMA: "homa"}
STATES: Final = {
    "ndp": (
        "free", "new", "opening", "open", "closing", "time-wait", "reset-wait", "ended",
    ),
    "homa": ("free", "outgoing", "incoming", "service", "replying", "unacked", "closed"),
}  # fmt: skip
WAYS: Final = ("none", "derived", "learned", "set")


def _seconds_since(moment: int) -> float:
    return max(0.0, (time.clock_gettime_ns(time.CLOCK_MONOTONIC) - moment) / 1e9)


def _address(raw: _core.CData) -> str:
    return unpack(bytes(ffi.buffer(raw)))


def exchanges(stack: Stack) -> list[Row]:
    """Connections and RPCs.

    Raises:
        NdpError: The core is in another process.
    """
    app, out = stack.dispatcher.app, ffi.new("struct nd_exchange[]", ROWS)
    rows = indices(stack.dispatcher, lambda at: lib.nd_app_exchanges(app, at, out, ROWS))
    return [
        {
            "protocol": PROTOCOLS[row.protocol],
            "state": STATES[PROTOCOLS[row.protocol]][row.state],
            "role": "server" if row.accepted else "client",
            "peer": _address(row.address),
            "port": row.port,
            "id": row.id,
            "application": row.app,
            "priority": row.priority,
            "messages": row.messages,
            "unsent_bytes": row.unsent_bytes,
            "unacked_packets": row.unacked_packets,
            "allowed": row.allowed,
            "arrived_bytes": row.arrived_bytes,
            "arriving_bytes": row.arriving_bytes,
            "silent_s": round(_seconds_since(row.heard_at), 6),
        }
        for row in map(out.__getitem__, rows)
    ]


def peers(stack: Stack) -> list[Row]:
    """Hosts that the core knows beside its own.

    Raises:
        NdpError: The core is in another process.
    """
    return [
        {
            "peer": _address(row.address),
            "mac": bytes(ffi.buffer(row.mac)).hex(":"),
            "way": WAYS[row.way],
            "idle_s": round(_seconds_since(row.used_at), 6),
        }
        for row in raw_peers(stack.dispatcher)
    ]


def applications(stack: Stack) -> list[Row]:
    """Applications with their queues.

    Raises:
        NdpError: The core is in another process.
    """
    app, out = stack.dispatcher.app, ffi.new("struct nd_stack_app[]", ROWS)
    rows = indices(stack.dispatcher, lambda at: lib.nd_app_apps(app, at, out, ROWS))
    return [
        {
            "application": row.index,
            "pid": row.pid,
            "held_messages": row.held,
            "events_waiting": row.events,
            "events_late": row.backlog,
        }
        for row in map(out.__getitem__, rows)
    ]


def counters(stack: Stack) -> dict[str, dict[str, int]]:
    """The values of each group. A protocol that does not run, or a port that is closed, has none.

    Raises:
        NdpError: The core is in another process.
    """
    found = {}
    for group in GROUPS:
        try:
            found[group] = stack.counters(group)
        except NdpError as error:
            if error.errno != errno.ENOENT:
                raise
    return found


_ROWS: Final = {"exchanges": exchanges, "peers": peers, "applications": applications}


def document(stack: Stack, name: str) -> dict[str, object] | None:
    """What `ndpstack ss` and `stat` show, by the document's name; None: there is no such one.

    Raises:
        NdpError: The core is in another process.
    """
    made: dict[str, object] = {"schema_version": 1, "stack": stack.name}
    if name == "counters":
        return made | {"counters": counters(stack), "help": stack.counter_texts()}
    rows = _ROWS.get(name)
    return made | {name: rows(stack)} if rows else None
