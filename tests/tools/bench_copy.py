"""Measure from which size on a received message is cheaper to lend than to copy.

    python tests/tools/bench_copy.py            # a table by size, and where the ways cross
    python tests/tools/bench_copy.py --runs 9

Messages of NDP wait at their receiver while it takes them one by one, reads nothing of them and
drops them: all are copied, or all are lent, whatever the threshold says. Both ways take turns.
"""

from __future__ import annotations

import argparse
import sys
import time
from statistics import median
from typing import Final
from unittest import mock

from bench_fast import conditions

import ndpstack
from ndpstack import _lease

SIZES: Final = tuple(1 << shift for shift in range(6, 19))
MESSAGES: Final = 32
"""At once: a connection has at most 64 that its receiver has not given back."""

PORT: Final = 5000
WAYS: Final = {"copied": 1 << 30, "lent": -1}
"""The threshold that takes each way."""


def taken_us(sender: ndpstack.NdpSocket, receiver: ndpstack.NdpSocket, size: int) -> float:
    """Microseconds to take a message that is there and to drop it."""
    for _ in range(MESSAGES):
        sender.send(bytes(size))
    sender.flush(timeout=60)
    receiver.recv(timeout=60)  # With it the others come in, and only wait to be taken.
    begin = time.perf_counter()
    for _ in range(MESSAGES - 1):
        receiver.recv(timeout=60)
    return (time.perf_counter() - begin) / (MESSAGES - 1) * 1e6


def measure(runs: int) -> dict[int, dict[str, float]]:
    """Medians of microseconds, by size and way."""
    found: dict[int, dict[str, list[float]]] = {size: {way: [] for way in WAYS} for size in SIZES}
    with (
        ndpstack.memory_pair() as (here, there),
        ndpstack.NdpSocket(there) as listener,
        ndpstack.NdpSocket(here) as sender,
    ):
        listener.bind(PORT)
        listener.listen()
        sender.connect((there.address, PORT))
        sender.send(b"")
        with listener.accept(timeout=60) as receiver:
            receiver.recv(timeout=60)
            for _ in range(runs + 1):
                for size, ways in found.items():
                    for way, threshold in WAYS.items():
                        with mock.patch.object(_lease, "COPY_BYTES", threshold):
                            ways[way].append(taken_us(sender, receiver, size))
    # The first run warms up.
    return {
        size: {way: median(times[1:]) for way, times in ways.items()}
        for size, ways in found.items()
    }


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int, default=21, help="of each size; the median counts")
    arguments = parser.parse_args()
    rows = measure(arguments.runs)
    print("| bytes | copied | lent | cheaper |\n|---|---|---|---|")
    for size, row in rows.items():
        cheaper = min(row, key=lambda way: row[way])
        print(f"| {size:,} | {row['copied']:.2f} us | {row['lent']:.2f} us | {cheaper} |")
    lent = [size for size, row in rows.items() if row["lent"] < row["copied"]]
    print(f"\nLent is cheaper from {min(lent):,} bytes on." if lent else "\nCopied is cheaper.")
    print(f"Messages are lent above {_lease.COPY_BYTES:,} bytes.")
    facts = conditions(arguments.runs)
    print(f"\nConditions: {', '.join(f'{name} {value}' for name, value in facts.items())}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
