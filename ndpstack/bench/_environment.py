"""What a measurement was taken on, and what about it makes the figures worse than they could be."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ndpstack import __version__
from ndpstack.bench._bed import MTU, cpus

CPUS_WANTED = 4
"""Two applications and two cores, each on one of its own."""

BUSY_LOAD = 0.5
"""Load a CPU above which others are at work."""

PACKAGES = ("uvloop", "pyzmq", "grpcio")
CPUINFO = Path("/proc/cpuinfo")
GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")

Facts = dict[str, str]


def processor() -> str:
    """The first CPU: name, family, model, and the cache of its own.

    Clouds give processors of several generations one name, and figures differ by factors.
    """
    first = CPUINFO.read_text(errors="replace").split("\n\n", 1)[0]
    facts = {
        name.strip(): value.strip()
        for name, _, value in (line.partition(":") for line in first.splitlines())
    }
    name = facts.get("model name", platform.machine())
    known = [
        f"{word} {facts[key]}"
        for word, key in (("family", "cpu family"), ("model", "model"), ("cache", "cache size"))
        if key in facts
    ]
    return f"{name} ({', '.join(known)})" if known else name


def _governor() -> str:
    try:
        return GOVERNOR.read_text().strip()
    except OSError:
        return ""


def _packages() -> str:
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def environment(world: str, mtu: int = MTU) -> Facts:
    """Machine, kernel, versions, and the link."""
    facts = {
        "machine": f"{processor()}, {cpus()} CPUs, load {os.getloadavg()[0]:.1f}",
        "kernel": platform.release(),
        "versions": f"ndpstack {__version__}, Python {platform.python_version()}",
        "link": f"one veth pair between two network namespaces, MTU {mtu}, offloads on"
        if world == "netns"
        else "ours: shared memory; the others: loopback",
        "profile": "adaptive, the default",
    }
    packages = _packages()
    if packages:
        facts["versions"] += f", {packages}"
    governor = _governor()
    if governor:
        facts["governor"] = governor
    return facts


def degraded(world: str) -> list[str]:
    """What makes figures worse here than elsewhere, a sentence each."""
    found = []
    if cpus() < CPUS_WANTED:
        found.append(
            f"{cpus()} CPUs for two applications and two cores: every round trip waits for threads "
            "to be switched"
        )
    if os.getloadavg()[0] > BUSY_LOAD * cpus():
        found.append("other processes are at work: tails are theirs, compare within a round only")
    if _governor() not in {"", "performance"}:
        found.append(f"governor {_governor()}: CPUs slow down between requests")
    if world == "netns":
        found.append("veth has no zero-copy: AF_XDP copies each packet in the kernel's softirq")
    else:
        found.append("not the same link for all: loopback is not shared memory")
    return found
