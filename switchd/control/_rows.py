"""What the control API answers: rows of plain values, one dataclass for each table.

Values are such that a row goes out as it is: numbers, texts, lists of texts, no row within a row.

Names are stable; a new field may be added without a new version of the API. The docstring under a
field is its line in the reference.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StatusRow:
    """The daemon."""

    version: str
    """Of ndpstack."""
    api: int
    """Of this protocol."""
    pid: int
    """Process."""
    uptime_seconds: float
    """Since it started."""
    config: str
    """Path of its configuration."""
    switches: int
    """How many it runs."""
    ports: int
    """Of all switches."""
    ports_down: int
    """Of these, not forwarding."""
    unsaved: bool
    """Whether settings were made at run time that are not in a file."""
    applied: str
    """When the configuration was last applied, UTC."""


@dataclass(frozen=True)
class PortRow:
    """A port, with what passed since counters were cleared."""

    switch: str
    """Its switch."""
    port: str
    """Its name."""
    state: str
    """up, down, disabled, or absent (its device cannot be opened)."""
    backend: str
    """How its frames come and go, in use."""
    device: str
    """Interface or address."""
    mtu: int
    """In bytes."""
    rate_bps: int
    """Of the link that it stands for, 0 for as fast as the device is."""
    profile: str
    """Its profile."""
    rx_packets: int
    """Frames received."""
    rx_bytes: int
    """Bytes received."""
    tx_packets: int
    """Frames sent."""
    tx_bytes: int
    """Bytes sent."""
    drops: int
    """Frames dropped, for any reason; `show drops` says which."""
    reopened: int
    """Times that the device was opened again."""
    reason: str
    """Why it is not up, or what is not as asked for."""


@dataclass(frozen=True)
class QueueRow:
    """The queue of a port: what it holds, and what became of packets since the last clear."""

    switch: str
    """Its switch."""
    port: str
    """Its port."""
    discipline: str
    """What decides."""
    packets: int
    """Queued now."""
    bytes: int
    """Queued now."""
    enqueued: int
    """Packets offered."""
    dequeued: int
    """Packets served."""
    dropped: int
    """Packets lost."""
    evicted: int
    """Of the dropped, packets that made room for others."""
    trimmed: int
    """Packets whose payload was cut."""
    marked: int
    """Packets marked by the queue's threshold."""
    returned: int
    """Headers returned to their sender."""


@dataclass(frozen=True)
class WatermarkRow:
    """A class of a port's queue: now, and at most since watermarks were cleared."""

    switch: str
    """Its switch."""
    port: str
    """Its port."""
    queue: str
    """The class: data, headers, a priority level."""
    packets: int
    """Queued now."""
    bytes: int
    """Queued now."""
    packets_max: int
    """Most packets."""
    bytes_max: int
    """Most bytes."""


@dataclass(frozen=True)
class TrimRow:
    """Trimming at a port, in SONiC's columns: trim = trim_sent + trim_drop + returned + queued."""

    switch: str
    """Its switch."""
    port: str
    """Its port."""
    action: str
    """trim or drop: what becomes of data that does not fit."""
    size: int
    """Bytes that stay, 0 for the headers."""
    dscp: int
    """Code point of trimmed frames."""
    location: str
    """last-hop or fabric: what trimmed frames say of where it was."""
    trim: int
    """Packets trimmed here."""
    trim_bytes: int
    """Payload bytes cut."""
    trim_arrived: int
    """Packets that arrived trimmed."""
    trim_sent: int
    """Trimmed headers sent."""
    trim_drop: int
    """Trimmed headers dropped."""
    returned: int
    """Trimmed headers returned to their sender."""


@dataclass(frozen=True)
class EcnRow:
    """Congestion marks at a port."""

    switch: str
    """Its switch."""
    port: str
    """Its port."""
    marked: int
    """By the queue's threshold."""
    phantom_marked: int
    """By the phantom queue."""
    unmarked: int
    """Due by the phantom queue, but their sender does not understand ECN."""


@dataclass(frozen=True)
class PhantomRow:
    """The phantom queue of a port."""

    switch: str
    """Its switch."""
    port: str
    """Its port."""
    rate_bps: int
    """Drain rate."""
    threshold: int
    """Bytes above which it marks."""
    level: int
    """Bytes now."""
    passed: int
    """Packets that passed."""
    marked: int
    """Packets marked."""


@dataclass(frozen=True)
class DropRow:
    """A reason for which frames are dropped or not as they were sent."""

    where: str
    """Switch, or switch/port."""
    group: str
    """Counter group: switch, port, queue, faults, wire or fdb."""
    reason: str
    """Counter."""
    frames: int
    """How many since the last clear."""
    meaning: str
    """What it counts."""


@dataclass(frozen=True)
class CounterRow:
    """A counter of a switch or of a port, since counters were cleared."""

    switch: str
    """Its switch."""
    port: str
    """Its port; empty for what the switch itself counts."""
    group: str
    """Counter group: port, queue, phantom, faults; of a switch: switch, wire or fdb."""
    counter: str
    """Its name."""
    value: int
    """How often, or how much."""


@dataclass(frozen=True)
class FdbRow:
    """An Ethernet address that a switch knows."""

    switch: str
    """Whose."""
    mac: str
    """The address."""
    vlan: int
    """VLAN, 0 for none."""
    to: str
    """Port or group."""
    static: bool
    """Configured: never ages, never moves."""
    age_seconds: float
    """Since its last frame."""


@dataclass(frozen=True)
class RouteRow:
    """A route of a switch."""

    switch: str
    """Whose."""
    prefix: str
    """Where to."""
    to: str
    """Port or group."""
    ports: str
    """Ports that lead there."""
    hops: str
    """Next hops."""
    origin: str
    """configured or kernel."""


@dataclass(frozen=True)
class PathRow:
    """A path that hosts are told."""

    id: int
    """Its number."""
    encoding: str
    """How a sender chooses it."""
    value: str
    """The source port, address, label or route."""
    to: str
    """Destinations, or all."""
    via: str
    """Ports that it passes."""
    state: str
    """up, or down at the port named."""


@dataclass(frozen=True)
class HostRow:
    """A host, configured or connected."""

    host: str
    """Its name, or its address."""
    port: str
    """The port that leads to it."""
    addresses: str
    """Its addresses."""
    connected: int
    """Connections from it."""
    paths: int
    """Paths that it has now."""
    generation: int
    """Of the settings that it was told."""


@dataclass(frozen=True)
class ProfileRow:
    """A profile."""

    profile: str
    """Its name."""
    origin: str
    """built-in or configured."""
    discipline: str
    """What decides."""
    settings: str
    """What differs from the discipline's presets."""
    ports: int
    """Ports that use it."""


@dataclass(frozen=True)
class MirrorRow:
    """A mirror."""

    switch: str
    """Its switch."""
    mirror: str
    """Its name."""
    source: str
    """Ports."""
    direction: str
    """rx, tx or both."""
    file: str
    """Where to."""
    state: str
    """running, full, or why it is not."""
    bytes: int
    """Written."""
    lost: int
    """Frames that came faster than they were written."""


@dataclass(frozen=True)
class RuntimeRow:
    """The data path's thread, and the control plane."""

    rounds: int
    """Rounds since the start: the heartbeat."""
    rounds_per_second: float
    """Since the last time that this was asked, or the start."""
    busy_percent: float
    """Rounds that moved frames."""
    frames_per_busy_round: float
    """How well batching works."""
    asleep_percent: float
    """Time spent blocked."""
    gap_us_max: float
    """Longest time between two rounds that was not slept: what preemption cost."""
    control_clients: int
    """Connected now."""
    control_calls: int
    """Calls answered."""
    control_errors: int
    """Of these, refused."""
    control_slowed: int
    """Times that a client had to wait because its calls took more than `client-cpu`."""
    control_refused: int
    """Clients refused: too many, without permission, malformed, oversized, not reading."""
    audit: str
    """"ok", or what breaks conservation."""


@dataclass(frozen=True)
class EventRow:
    """Something that happened."""

    time: str
    """When, UTC."""
    kind: str
    """link, port, routes or config."""
    what: str
    """A port as "tor0/h1", a switch, or what changed."""
    text: str
    """What happened to it."""


@dataclass(frozen=True)
class ConfigRow:
    """The configuration in force."""

    text: str
    """As TOML, without what has its default."""
    unsaved: str
    """Settings made at run time that are not in a file, as TOML."""


@dataclass(frozen=True)
class LogRow:
    """A logger with a level of its own."""

    logger: str
    """Its name; "switchd" stands for all of them."""
    level: str
    """The least level that is logged."""


@dataclass(frozen=True)
class ChangeRow:
    """Something that changes, changed, or would change."""

    kind: str
    """add, remove, change, reopen, rebuild or restart."""
    what: str
    """What changes."""
    effect: str
    """What that means."""
    fields: list[str]
    """Values: "name: old -> new"."""


@dataclass(frozen=True)
class VersionRow:
    """What speaks."""

    api: int
    """Version of this protocol."""
    version: str
    """Version of ndpstack."""


@dataclass(frozen=True)
class CaptureRow:
    """A capture that has begun; its bytes follow as notifications `capture` with `data`."""

    id: int
    """For `capture.stop`."""
