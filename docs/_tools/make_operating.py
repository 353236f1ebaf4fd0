"""The pages of docs/operating that have a source: configuration, switchctl, control API, metrics.

They are written when the documentation is built, so they cannot be stale.
"""

from __future__ import annotations

import argparse
import dataclasses
import types
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Union, get_args, get_origin

from alerts import ALERTS
from make_reference import field_docs, settings_table

from ndpstack import toml as units
from ndpstack.switch import counter_texts
from ndpstack.toml import dashed, field_types, inline
from switchd._main import build_parser as daemon_parser
from switchd.config import _schema as schema
from switchd.config._write import written_value
from switchd.control import METHODS, ServerCounters
from switchd.metrics import metric_names
from switchd.plan import PROFILES
from switchd.switchctl import build_parser

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WORDS: Mapping[object, str] = {
    units.Bytes: "size",
    units.BitRate: "rate",
    units.Picoseconds: "time",
    units.PartsPerMillion: "share",
    units.Limit: "limit",
    Fraction: "probability",
    schema.MacAddress: "Ethernet address",
    schema.Prefix: "prefix",
    schema.Address: "address",
    schema.PortPath: "switch/port",
    schema.FileName: "file name",
    int: "number",
    float: "number",
    str: "text",
    bool: "true, false",
    Path: "path",
    object: "any",
}

SECTIONS: tuple[tuple[str, type], ...] = (
    ("[daemon]", schema.Daemon),
    ("[profile.NAME]", schema.Profile),
    ("[switch.NAME]", schema.Switch),
    ("[switch.NAME.trim]", schema.Trim),
    ("[switch.NAME.port.NAME]", schema.Port),
    ("[switch.NAME.port.NAME.ecn]", schema.Ecn),
    ("[switch.NAME.port.NAME.phantom]", schema.Phantom),
    ("[switch.NAME.port.NAME.faults]", schema.Faults),
    ("[switch.NAME.group.NAME]", schema.Group),
    ("[[switch.NAME.address]]", schema.StaticAddress),
    ("[[switch.NAME.route]]", schema.Route),
    ("[switch.NAME.mirror.NAME]", schema.Mirror),
    ("[[path]]", schema.FabricPath),
    ("[host.NAME]", schema.Host),
    ("[priorities]", schema.Priorities),
)

CONFIGURATION = """\
# Configuration reference

switchd reads one TOML file, `/etc/ndpstack/switchd.toml` unless `--config` names another, and then
`conf.d/*.toml` beside it in the order of their names: tables are merged, lists of tables follow one
another, other values replace. Keys are written with dashes; underscores are taken, too. A key that
is not listed here is refused, with its line and the nearest one that is. `switchd --check-config
FILE` lists every mistake and runs nothing.

Names of switches, ports, groups, mirrors and hosts have up to 15 letters, digits and any of
`_ . : -`.

| quantity | written like | units |
|---|---|---|
| size | `"9KB"` | B, KB, MB, GB (powers of 1000), KiB, MiB, GiB (of 1024) |
| rate | `"10Gbit"` | bit, Kbit, Mbit, Gbit, Tbit, each also with /s |
| time | `"1.5us"` | ps, ns, us, ms, s, min |
| share | `"80%"` | %, ppm, or a number from 0 to 1 |
| probability | `"1e-6"` | a number, or % |
| limit | `"8pkt"`, `"72KB"`, `["8pkt", "72KB"]` | packets, bytes, or both |
"""

WIRE_TEXT = """\
## [switch.NAME.wire]

How packets look. Hosts are told `dscp-…` and `pcp`; UDP ports have to be the same everywhere. What
hosts send and check (`hop-limit`, `verify`, `homa-in-udp`, `homa-checksum`) changes nothing here.
"""

PROFILE_TEXT = """\
## Built-in profiles

| profile | discipline | |
|---|---|---|
"""

PROFILE_NOTES = {
    "ndp": "8 data packets, as many bytes of headers, 10:1, coin, return to sender",
    "homa": "eight strict priorities",
    "pfabric": "smallest remaining size first, a small buffer",
    "ecn": "one queue that marks above a threshold (DCTCP)",
    "droptail": "one queue that drops what does not fit",
    "mixed": "NDP beside Homa and kernel traffic, each side half of the link under load",
}

METRICS = """\
# Metrics

switchd exports these to Prometheus at `daemon.metrics` (127.0.0.1:9121 unless configured), read
from the data path when they are asked for. Counters begin at 0 when their switch or port is made
anew ([what a change means](running.md#change-the-configuration)) and never go back otherwise: not
when a port is opened again, nor by `switchctl clear`. Labels: `switch`, and `port` where it is a
port's, `queue` where it is a class's, `socket` where it is the control plane's.

`deploy/grafana/switchd.json` is a dashboard over them. "…" in a condition stands for the metric.

| metric | meaning | alert | action |
|---|---|---|---|
"""

API = """\
# Control API

`switchctl` is one client of it; yours can be another one. Over a UNIX stream socket
(`daemon.control`), each message is one msgpack array, and messages follow one another without
anything between them:

| message | |
|---|---|
| `[0, id, method, [params]]` | a call; `params` is at most one map, `id` from 0 to 2^32 - 1 |
| `[1, id, error, result]` | its reply; `error` is nil, or a map of `code` and `message` |
| `[2, method, [params]]` | a notification of the daemon |

Call `version` first: `api` is raised when a message that was right before becomes wrong. New fields
may appear at any time. A message is at most 1 MiB; a client that sends anything else is hung up on
after a notification `error`, and counted. Calls of one client are answered in order, and may take
the share `daemon.client-cpu` of a CPU after a burst of 0.2 s. Error codes: `unknown-method`,
`invalid` (parameters), `invalid-config`, `refused`; the message names the remedy.

| notification | when | parameters |
|---|---|---|
| `event` | something happens, after a call of `events` | as the rows that it answered |
| `capture` | a capture has frames | `id`; `data`, more of a pcapng file; `lost`, frames so far |
| `error` | the client is about to be hung up on | `code` `malformed`; `message` |

"""


def kind_text(kind: object) -> str:
    """What a key takes, in the reader's words."""
    origin, args = get_origin(kind), get_args(kind)
    if kind in WORDS:
        return WORDS[kind]
    if origin is Annotated:
        least, most = (limit_text(args[0], limit) for limit in (args[1].least, args[1].most))
        return f"{kind_text(args[0])}, {least} to {most}"
    if origin in (Union, types.UnionType):
        return " or ".join(kind_text(arg) for arg in args if arg is not type(None))
    if origin is Literal:
        return ", ".join(f"`{arg}`" for arg in args)
    if origin is tuple:
        return f"list of {kind_text(args[0])}"
    if dataclasses.is_dataclass(kind):
        return "table"
    return "table" if origin is not None else str(kind)


def limit_text(kind: object, limit: float) -> str:
    """The end of a range, as it would be written."""
    return f"{limit / 10_000:g}%" if kind is units.PartsPerMillion else str(limit)


def default_text(kind: object, item: dataclasses.Field[object]) -> str:
    """A default as it would be written."""
    if item.default is dataclasses.MISSING:
        return "" if item.default_factory is not dataclasses.MISSING else "**needed**"
    if item.default in (None, (), "") or dataclasses.is_dataclass(item.default):
        return "" if not isinstance(item.default, units.Limit) else _written(kind, item.default)
    return _written(kind, item.default)


def _written(kind: object, value: object) -> str:
    if kind is Fraction and not value:
        return "`0`"
    return f"`{inline(written_value(kind, value))}`"


def key_table(cls: type) -> Iterator[str]:
    """A table of the keys of a dataclass."""
    docs, kinds = field_docs(cls), field_types(cls)
    yield "| key | value | default | |"
    yield "|---|---|---|---|"
    for item in dataclasses.fields(cls):
        if item.name != "settings":
            kind = kinds[item.name]
            cells = [f"`{dashed(item.name)}`", kind_text(kind), default_text(kind, item)]
            yield f"| {' | '.join(cells)} | {' '.join(docs[item.name].split())} |"
    yield ""


def configuration_page() -> str:
    """operating/configuration.md."""
    lines = [CONFIGURATION]
    for title, cls in SECTIONS:
        lines += [f"## {title}\n", " ".join((cls.__doc__ or "").split()) + "\n", *key_table(cls)]
        if cls is schema.Switch:
            lines += [WIRE_TEXT, *settings_table("nd_frame_config")]
    lines.append(PROFILE_TEXT.rstrip())
    for name, profile in PROFILES.items():
        lines.append(f"| `{name}` | {profile.discipline} | {PROFILE_NOTES[name]} |")
    lines.append(
        "\nSettings of the disciplines, which are further keys of `[profile.NAME]`, are those of\n"
        "[scenario files](../reference/scenario.md)."
    )
    return "\n".join(lines) + "\n"


def metrics_page() -> str:
    """operating/metrics.md."""
    rows = []
    for name, meaning in sorted(metric_names(counter_texts(), ServerCounters()).items()):
        alert = ALERTS.get(name.removeprefix("ndpstack_").removesuffix("_total"))
        when, action = (f"`{alert.when}`", alert.action) if alert else ("", "")
        rows.append(f"| `{name}` | {meaning} | {when} | {action} |")
    return METRICS + "\n".join(rows) + "\n"


def field_rows(cls: type) -> Iterator[str]:
    """Fields of a parameter or a result."""
    docs, kinds = field_docs(cls), field_types(cls)
    for item in dataclasses.fields(cls):
        text = " ".join(docs[item.name].split()).replace("|", "\\|")
        needed = "" if default_text(kinds[item.name], item) != "**needed**" else "needed: "
        yield f"| `{item.name}` | {kind_text(kinds[item.name])} | {needed}{text} |"


def result_rows(cls: type) -> Iterator[str]:
    """Fields of a result: all are always there."""
    docs, kinds = field_docs(cls), field_types(cls)
    for item in dataclasses.fields(cls):
        text = " ".join(docs[item.name].split()).replace("|", "\\|")
        yield f"| `{item.name}` | {kind_text(kinds[item.name])} | {text} |"


def api_page() -> str:
    """operating/control-api.md."""
    lines = [API]
    for name, method in sorted(METHODS.items()):
        lines += [f"## {name}\n", method.summary + "\n"]
        if dataclasses.fields(method.params):
            lines += ["Takes:\n", "| parameter | value | |", "|---|---|---|"]
            lines += [*field_rows(method.params), ""]
        what = "a list of maps of" if method.many else "a map of"
        lines += [f"Answers {what}:\n", "| field | value | |", "|---|---|---|"]
        lines += [*result_rows(method.result), ""]
    return "\n".join(lines).rstrip() + "\n"


def commands_page() -> str:
    """operating/commands.md."""
    parser = build_parser()
    parts = ["# switchd and switchctl\n", "## switchd\n", _help(daemon_parser())]
    parts += ["## switchctl\n", _help(parser)]
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for name, sub in action.choices.items():
                parts += [f"### switchctl {name}\n", _help(sub)]
    return "\n".join(parts).rstrip() + "\n"


def _help(parser: argparse.ArgumentParser) -> str:
    parser.formatter_class = lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=96)
    return f"```text\n{parser.format_help().rstrip()}\n```\n"


def write_pages(folder: Path) -> None:
    """Writes the pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "configuration.md").write_text(configuration_page())
    (folder / "metrics.md").write_text(metrics_page())
    (folder / "control-api.md").write_text(api_page())
    (folder / "commands.md").write_text(commands_page())
