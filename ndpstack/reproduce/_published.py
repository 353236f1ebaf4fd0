"""Reads the numbers that the papers' authors released."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources

FOLDER = resources.files("ndpstack") / "data" / "published"

HOMA_NAMES = {
    "w1": "FACEBOOK_KEY_VALUE",
    "w2": "GOOGLE_SEARCH_RPC",
    "w3": "GOOGLE_ALL_RPC",
    "w4": "FACEBOOK_HADOOP_ALL",
    "w5": "DCTCP",
}


@dataclass(frozen=True)
class SizeBin:
    """Slowdown of the messages of one size range in the Homa paper's figures."""

    size_max: int
    """Bytes; the range begins above the bin before."""
    share: float
    """Of all messages that are at most this long."""
    mean: float
    p99: float


def homa_slowdown(transport: str, workload: str, load: float) -> list[SizeBin]:
    """The curve of figures 12 and 13 for "Homa" or "pFabric", "w1".."w5", 0.5 or 0.8."""
    bins = []
    with (FOLDER / "homa_slowdown.csv").open() as file:
        for row in csv.DictReader(file):
            if (row["transport"], row["workload"]) != (transport, HOMA_NAMES[workload]):
                continue
            # Where the authors' run had no message of a size, its numbers are empty.
            if float(row["load"]) == load and row["mean"]:
                bins.append(
                    SizeBin(
                        int(float(row["msg_size_upper"])),
                        float(row["cnt_pct"]) / 100,
                        float(row["mean"]),
                        float(row["p99"]),
                    )
                )
    return bins


def columns(name: str) -> list[list[float]]:
    """The rows of a file of numbers."""
    text = (FOLDER / name).read_text()
    return [[float(word) for word in line.split()] for line in text.splitlines() if line.strip()]
