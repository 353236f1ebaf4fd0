"""The reference pages, from their sources: keys of scenario files, commands.

They are written when the documentation is built, so they cannot be stale.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ndpstack import toml as units
from ndpstack._disciplines import DISCIPLINES, Phantom, Queue
from ndpstack.cli._main import COMMANDS, build_parser
from ndpstack.scenario import _schema as schema
from ndpstack.scenario import shipped_scenarios, workload_names
from ndpstack.scenario._load import load_scenario
from ndpstack.scenario._protocols import PROTOCOLS
from ndpstack.toml import dashed
from ndpstack.toml.structs import CHOICES, struct_fields

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ("csrc/transport", "csrc/queue", "csrc/sim", "csrc/wire")
INTRO = """\
# Scenario files

A scenario is a TOML file: what there is, what it does, what is watched. Keys are written with
dashes, values with their units; a key that is not listed here is refused. `--set key=value` changes
any of them from the command line, with dots between the keys of nested tables and an index into
lists: `--set topology.k=8 --set traffic.0.size=1MB`.

| quantity | written like | units |
|---|---|---|
| size | `"9KB"` | B, KB, MB, GB (powers of 1000), KiB, MiB, GiB (of 1024) |
| rate | `"10Gbit"` | bit, Kbit, Mbit, Gbit, Tbit, each also with /s |
| time | `"1.5us"` | ps, ns, us, ms, s, min |
| share | `"80%"` | %, ppm, or a number from 0 to 1 |
| frequency | `"2500/s"` | /s, K/s, M/s, /ms, /us |
| probability | `"1e-6"` | a number, or % |
| limit | `"8pkt"`, `"72KB"`, `["8pkt", "72KB"]` | packets, bytes, or both |
"""

WORKLOAD_FORMS = """\
; or `{ pareto-shape = 1.05, mean = "100KB" }`; or a file, by a path that ends in `.txt`: a line
`# interpolation: step` (sizes are those of the file) or `linear` (they lie between two of them),
then a line for each size with its bytes and the probability of at most so many, both ascending,
the last probability 1.
"""

TYPES: Mapping[str, str] = {
    "Bytes": "size",
    "BitRate": "rate",
    "LinkRate": "rate",
    "Picoseconds": "time",
    "LinkDelay": "time",
    "Time": "time",
    "PartsPerMillion": "share",
    "PerSecond": "frequency",
    "Fraction": "probability",
    "int": "number",
    "Count": "number",
    "Positive": "number",
    "Nodes": "number",
    "Seed": "number",
    "float": "number",
    "str": "text",
    "bool": "true, false",
    "Path": "path",
    "Workload": "workload",
}


WRITERS: Mapping[str, Callable[[int], str]] = {
    "time": units.format_time,
    "rate": units.format_rate,
    "size": units.format_size,
    "share": lambda ppm: f"{ppm / 10_000:g}%",
}
"""How the defaults of a kind are written."""


def field_docs(cls: type) -> dict[str, str]:
    """Docstrings under the fields of a dataclass, inherited ones included."""
    docs: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if not dataclasses.is_dataclass(base):
            continue
        body = ast.parse(inspect.getsource(base)).body[0]
        assert isinstance(body, ast.ClassDef)
        name = ""
        for node in body.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                name = node.target.id
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and name:
                docs[name] = str(node.value.value)
    return docs


def type_text(annotation: str) -> str:
    """A field's annotation in the reader's words."""
    literal = re.search(r"Literal\[(.*?)\]", annotation)
    if literal:
        return literal[1].replace('"', "`").replace("'", "`")
    words = [TYPES[word] for word in re.findall(r"\w+", annotation) if word in TYPES]
    if "Endless" in annotation:
        words.append("`endless`")
    if annotation.startswith("Mapping["):
        return "tables by name"
    if annotation.startswith("tuple["):
        return f"list of {words[0]}s" if words else "list of tables"
    return " or ".join(dict.fromkeys(words)) or "table"


def default_text(item: dataclasses.Field[object]) -> str:
    """A field's default as it would be written."""
    value = item.default
    if value is dataclasses.MISSING:
        return "" if item.default_factory is not dataclasses.MISSING else "**needed**"
    if value is None or dataclasses.is_dataclass(value) or value in ((), ""):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if value == 0:
        return "`0`"
    kind = type_text(str(item.type))
    if isinstance(value, int) and kind in WRITERS:
        return f"`{WRITERS[kind](value)}`"
    return f"`{value}`"


def key_table(cls: type, leave_out: frozenset[str] = frozenset()) -> Iterator[str]:
    """A table of the keys of a dataclass."""
    docs = field_docs(cls)
    rows = [item for item in dataclasses.fields(cls) if item.name not in leave_out | {"settings"}]
    if not rows:
        return
    yield "| key | value | default | |"
    yield "|---|---|---|---|"
    for item in rows:
        kind = type_text(str(item.type)).replace("|", "\\|")
        text = " ".join(docs[item.name].split())
        yield f"| `{dashed(item.name)}` | {kind} | {default_text(item)} | {text} |"
    yield ""


def variants(base: type, kinds: Mapping[str, type], title: str, table: str) -> Iterator[str]:
    """A section for a table with a `kind`."""
    yield f"## {title}\n"
    yield f"{base.__doc__}\n"
    yield f"Keys of every `{table}`, beside `kind`:\n"
    yield from key_table(base)
    common = frozenset(item.name for item in dataclasses.fields(base))
    for kind, cls in kinds.items():
        yield f'### kind = "{kind}"\n'
        yield f"{cls.__doc__}\n"
        yield from key_table(cls, common)


def section(cls: type, title: str) -> Iterator[str]:
    """A section for a plain table."""
    yield f"## {title}\n"
    yield f"{cls.__doc__}\n"
    yield from key_table(cls)


def header_comments(struct: str) -> dict[str, str]:
    """What the C header says about each field of a struct."""
    for folder in HEADERS:
        for path in sorted((ROOT / folder).glob("*.h")):
            body = re.search(rf"^struct {struct} {{\n(.*?)^}};", path.read_text(), re.S | re.M)
            if body:
                return dict(_comments(body[1]))
    raise LookupError(struct)


def _comments(body: str) -> Iterator[tuple[str, str]]:
    """Comments behind a field, or before the group of fields that it is in."""
    before = ""
    for match in re.finditer(r"/\*(.*?)\*/\n?|([^;/]+);([^\n]*?)(?:/\*(.*?)\*/)?\n", body, re.S):
        if match[1] is not None:
            before = _prose(match[1])
            continue
        if match[2].startswith("\n"):
            before = ""
        name = re.sub(r"\[.*?\]", "", match[2]).split()[-1].lstrip("*")
        yield name, _prose(match[4]) if match[4] else before


def _prose(comment: str) -> str:
    text = re.sub(r"\s*\n\s*\*?\s*", " ", comment).strip()
    return text.replace("|", "\\|").replace("<", "&lt;")


def unit_text(name: str, cname: str) -> str:
    """What a field of a C struct takes."""
    words = name.split("_")
    if name in CHOICES:
        return ", ".join(f"`{word}`" for word in CHOICES[name])
    if cname == "struct nd_limit":
        return "limit"
    if cname.startswith("struct"):
        return "table"
    if cname in ("bool", "_Bool"):
        return "true, false"
    for unit, kind in (
        ("bytes", "size, or packets"),
        ("ns", "time"),
        ("ps", "time"),
        ("bps", "rate"),
        ("permille", "share"),
        ("ppm", "share"),
    ):
        if unit in words:
            return kind
    if name == "cutoffs":
        return "list of sizes"
    return "list of numbers" if cname.endswith("]") else "number"


def settings_table(struct: str) -> Iterator[str]:
    """A table of the fields of a config struct."""
    yield "| key | value | |"
    yield "|---|---|---|"
    yield from settings_rows(struct)
    yield ""


def settings_rows(struct: str, above: str = "") -> Iterator[str]:
    """A row for each field, and for each of a struct within the struct."""
    comments = header_comments(struct)
    for name, ctype in struct_fields(struct).items():
        key = f"{above}{dashed(name)}"
        yield f"| `{key}` | {unit_text(name, ctype.cname)} | {comments.get(name, '')} |"
        if ctype.kind == "struct" and ctype.cname != "struct nd_limit":
            yield from settings_rows(ctype.cname.removeprefix("struct "), f"{key}.")


def settings_sections() -> Iterator[str]:
    """Settings of every engine and discipline."""
    yield "## Settings of the transports\n"
    yield "Further keys of `[transport.NAME]`; what is not set comes from the preset.\n"
    for name, protocol in PROTOCOLS.items():
        presets = ", ".join(f"`{preset}`" for preset in protocol.presets)
        yield f"### transport.{name}\n"
        yield f"Presets: {presets}.\n"
        yield from settings_table(protocol.struct)
    yield "## Settings of the disciplines\n"
    yield "Further keys of `[switch.queue]` and `[switch.ports.…]`. `8pkt` where bytes are wanted "
    yield "stands for so many full packets.\n"
    for name, discipline in DISCIPLINES.items():
        presets = ", ".join(f"`{preset}`" for preset in discipline.presets)
        yield f'### discipline = "{name}"\n'
        yield f"Presets: {presets}.\n"
        yield from settings_table(discipline.struct)


def scenario_page() -> str:
    """reference/scenario.md."""
    lines = [INTRO]
    lines += section(schema.Scenario, "The file")
    lines += variants(schema.Topology, schema.TOPOLOGIES, "topology", "[topology]")
    lines += section(schema.Switch, "switch")
    lines += section(Queue, "switch.queue and switch.ports")
    lines += section(Phantom, "switch.queue.phantom")
    lines += section(schema.Hosts, "hosts")
    lines += section(schema.Delay, "hosts.receive-delay, send-delay, timer-delay")
    lines += section(schema.Transport, "transport")
    lines += variants(schema.Traffic, schema.TRAFFIC, "traffic", "[[traffic]]")
    lines += section(schema.LinkChange, "link")
    lines += section(schema.Probes, "probes")
    lines += section(schema.Capture, "probes.capture")
    lines += section(schema.Limits, "limits")
    lines += settings_sections()
    lines.append("## Workloads\n")
    lines.append(
        "Distributions of sizes by name: "
        + ", ".join(f"`{name}`" for name in workload_names())
        + WORKLOAD_FORMS
    )
    lines.append("## Scenarios that come with ndpstack\n")
    lines.append("| name | |\n|---|---|")
    lines += [
        f"| `{name}` | {load_scenario(name).scenario.title} |" for name in shipped_scenarios()
    ]
    return "\n".join(lines).rstrip() + "\n"


def commands_page() -> str:
    """reference/commands.md."""
    parts = ["# Commands\n", f"```text\n{build_parser(None).format_help().rstrip()}\n```\n"]
    for name in COMMANDS:
        parser = _verbs(build_parser(name))[name]
        parts.append(f"## ndpstack {name}\n\n```text\n{parser.format_help().rstrip()}\n```\n")
        for verb, sub in _verbs(parser).items():
            text = sub.format_help().rstrip()
            parts.append(f"### ndpstack {name} {verb}\n\n```text\n{text}\n```\n")
    return "\n".join(parts).rstrip() + "\n"


def _verbs(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """The parsers below a parser, by name."""
    choices = (action.choices for action in parser._actions)
    return next((found for found in choices if isinstance(found, dict)), {})


def write_pages(folder: Path) -> None:
    """Writes the pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scenario.md").write_text(scenario_page())
    (folder / "commands.md").write_text(commands_page())
