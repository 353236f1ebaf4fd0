"""The packet timeline as a trace for chrome://tracing and Perfetto: a track for each port."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ndpstack._core import lib

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from ndpstack.sim import Run

_KINDS = {
    lib.ND_SIM_RECORD_SEND: "send",
    lib.ND_SIM_RECORD_RECEIVE: "receive",
    lib.ND_SIM_RECORD_TRIM: "trim",
    lib.ND_SIM_RECORD_DROP: "drop",
    lib.ND_SIM_RECORD_BOUNCE: "bounce",
    lib.ND_SIM_RECORD_LOSE: "lose",
}


def _event(entry: np.void, names: list[str]) -> dict[str, object]:
    kind = _KINDS[int(entry["kind"])]
    flow = int(entry["flow"])
    packet = "control" if flow == lib.ND_NONE else f"flow {flow} #{entry['sequence']}"
    event: dict[str, object] = {
        "name": packet if kind == "send" else f"{kind} {packet}",
        "cat": kind,
        "ph": "X" if kind == "send" else "i",
        "ts": int(entry["time_ps"]) / 1e6,
        "pid": 0,
        "tid": int(entry["port"]),
        "args": {
            "source": names[int(entry["source"])],
            "target": names[int(entry["target"])],
            "bytes": int(entry["wire_bytes"]),
            "priority": int(entry["priority"]),
            "type": int(entry["type"]),
            "marks": int(entry["marks"]),
        },
    }
    if kind == "send":
        event["dur"] = int(entry["duration_ns"]) / 1e3
    else:
        event["s"] = "t"
    return event


def _track(port: int, name: str) -> dict[str, object]:
    return {"name": "thread_name", "ph": "M", "pid": 0, "tid": port, "args": {"name": name}}


def write_timeline(path: Path, run: Run) -> Path:
    """Writes the trace; times are in microseconds of virtual time."""
    network = run.plan.network
    names = [network.name(host) for host in range(network.hosts)]
    timeline = run.timeline
    events = [_event(entry, names) for entry in timeline]
    ports = sorted({int(port) for port in timeline["port"]})
    events += [_track(port, network.port_name(port)) for port in ports]
    path.write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}))
    return path
