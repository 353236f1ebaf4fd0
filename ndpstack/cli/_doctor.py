"""`ndpstack doctor`: says what keeps the stack from running well here, and mends it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ndpstack.cli._exit import Exit
from ndpstack.doctor import Finding, Status, examine_interface, examine_machine

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument(
        "interface",
        nargs="*",
        metavar="IF",
        help="interface of this network namespace to look at as well",
    )
    parser.add_argument(
        "--fix", action="store_true", help="mend what can be mended, then look again"
    )


def _examine(interfaces: list[str]) -> list[Finding]:
    findings = examine_machine()
    for name in interfaces:
        findings += examine_interface(name)
    return findings


def _mend(findings: list[Finding]) -> None:
    for finding in findings:
        if finding.repair and finding.status is not Status.OK:
            finding.repair()


def _print(findings: list[Finding]) -> None:
    for finding in findings:
        print(f"{finding.status.value:>4}  {finding.check}: {finding.text}")
        if finding.remedy:
            print(f"      -> {finding.remedy}")


def execute(arguments: argparse.Namespace) -> int:
    """Examines, mends when asked to, and prints; fails when anything is still wrong."""
    findings = _examine(arguments.interface)
    if arguments.fix:
        _mend(findings)
        findings = _examine(arguments.interface)
    if arguments.json:
        print(json.dumps({"schema_version": 1, "findings": [f.as_dict() for f in findings]}))
    else:
        _print(findings)
    is_wrong = any(finding.status is Status.FAIL for finding in findings)
    return Exit.FAILED if is_wrong else Exit.OK
