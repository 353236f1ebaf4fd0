"""Topologies from files: lists of cables, and htsim's descriptions of fat trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack.scenario._schema import LINK_DELAY, LINK_RATE, Clos, Graph
from ndpstack.toml import BitRate, Picoseconds, UnitError, parse_rate, parse_time

if TYPE_CHECKING:
    from pathlib import Path


COUNT_MAX = 2**32 - 1
"""Numbers in these files: what the core can count."""


@dataclass(frozen=True)
class GraphCable:
    """A cable between two nodes; hosts are numbered first, then switches."""

    a: int
    b: int
    rate: int
    delay: int


@dataclass(frozen=True)
class GraphFile:
    """What a file of cables says."""

    hosts: int
    switches: int
    cables: tuple[GraphCable, ...]


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot read this topology: {error}") from None
    lines = (
        (number, line.split("#")[0].split())
        for number, line in enumerate(text.splitlines(), start=1)
    )
    return [(number, words) for number, words in lines if words]


def load_graph(graph: Graph) -> GraphFile:
    """Reads a file of cables.

    The first two lines count the nodes, `hosts 4` and `switches 2`; then a cable a line,
    `host 0  switch 1  [RATE [DELAY]]`, with the topology's rate and delay where left out.
    """
    counts: dict[str, int] = {}
    cables: list[GraphCable] = []
    for number, words in _lines(graph.file):
        where = f"{graph.file}:{number}"
        if len(words) == 2 and words[0] in ("hosts", "switches"):
            counts[words[0]] = _count(words[1], where)
        elif len(words) in (4, 5, 6) and len(counts) == 2:
            a, b = (_node(words[i], words[i + 1], counts, where) for i in (0, 2))
            cables.append(GraphCable(a, b, *_quantities(words[4:], graph, where)))
        else:
            raise UserError(
                f"{where}: neither `hosts N`, `switches N` nor, after both, "
                "`host I switch J [RATE [DELAY]]`"
            )
    if len(counts) != 2:
        raise UserError(f"{graph.file}: `hosts N` and `switches N` must come first")
    return GraphFile(counts["hosts"], counts["switches"], tuple(cables))


def _count(word: str, where: str) -> int:
    if not word.isdecimal() or len(word) > 10 or int(word) > COUNT_MAX:
        raise UserError(f"{where}: {word!r} is not a whole number of up to {COUNT_MAX:,}")
    return int(word)


def _node(kind: str, index: str, counts: dict[str, int], where: str) -> int:
    group = {"host": "hosts", "switch": "switches"}.get(kind)
    if group is None or not index.isdecimal() or _count(index, where) >= counts[group]:
        raise UserError(
            f"{where}: there is no node `{kind} {index}`; hosts and switches are counted from 0"
        )
    return int(index) + (counts["hosts"] if kind == "switch" else 0)


def _quantities(words: list[str], graph: Graph, where: str) -> tuple[int, int]:
    try:
        rate: int = parse_rate(words[0]) if words else graph.rate
        delay: int = parse_time(words[1]) if len(words) > 1 else graph.delay
    except UnitError as error:
        raise UserError(f"{where}: {error}") from None
    for number, (least, most), unit in ((rate, LINK_RATE, "bit/s"), (delay, LINK_DELAY, "ps")):
        if not least <= number <= most:
            raise UserError(f"{where}: {number} {unit} is not within {least} to {most}")
    return rate, delay


def load_htsim(path: Path) -> Clos:
    """Reads an htsim .topo file: tiers of a fat tree by radix, speed and latency.

    Per-tier speeds must agree above the edge, as the builders have one rate for uplinks; queue
    sizes in the file are left to the scenario.
    """
    top: dict[str, int] = {}
    tiers: dict[int, dict[str, int]] = {}
    current = top
    for number, words in _lines(path):
        if len(words) != 2:
            raise UserError(f"{path}:{number}: not `Key value`")
        key, value = words[0].lower(), _count(words[1], f"{path}:{number}")
        if key == "tier":
            current = tiers.setdefault(value, {})
        else:
            current[key] = value
    return _htsim_clos(path, top, tiers)


def _agree(path: Path, tiers: dict[int, dict[str, int]], key: str, first: int) -> None:
    """Refuses tiers that differ in what the builders have one value for."""
    values = {tiers[tier][key] for tier in tiers if tier >= first and key in tiers[tier]}
    if len(values) > 1:
        raise UserError(
            f"{path}: {key} is {', '.join(map(str, sorted(values)))}: it must be the same in all "
            f"tiers{' above the edge' if first else ''}"
        )


def _htsim_clos(path: Path, top: dict[str, int], tiers: dict[int, dict[str, int]]) -> Clos:
    count = top.get("tiers", len(tiers))
    if count not in (2, 3) or any(tier not in tiers for tier in range(count - 1)):
        raise UserError(f"{path}: there must be 2 or 3 tiers, with a `Tier` each from 0 on")
    _agree(path, tiers, "downlink_speed_gbps", 1)
    for key in ("downlink_latency_ns", "switch_latency_ns"):
        _agree(path, tiers, key, 0)
    try:
        nodes, pod = top["nodes"], top.get("podsize", top["nodes"])
        edge = tiers[0]
        per_edge, up = edge["radix_down"], edge["radix_up"]
        uplinks = tiers[1]["radix_up"] if count == 3 else 0
        speed = edge["downlink_speed_gbps"]
        above = tiers[1].get("downlink_speed_gbps", speed) if 1 in tiers else speed
        latency = edge.get("downlink_latency_ns", 1000)
    except KeyError as error:
        raise UserError(f"{path}: {error.args[0]!r} is missing") from None
    if not (nodes and pod and per_edge) or pod % per_edge or nodes % pod:
        raise UserError(
            f"{path}: {nodes} nodes in pods of {pod} with {per_edge} an edge switch "
            "do not divide evenly"
        )
    return Clos(
        pods=nodes // pod,
        edges_per_pod=pod // per_edge,
        hosts_per_edge=per_edge,
        aggs_per_pod=up,
        uplinks_per_agg=uplinks,
        rate=BitRate(speed * 10**9),
        uplink_rate=BitRate(above * 10**9),
        delay=Picoseconds(latency * 1000),
        switch_latency=Picoseconds(edge.get("switch_latency_ns", 0) * 1000),
    )
