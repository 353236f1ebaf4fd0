"""`ndpstack doctor`: says what keeps the stack from running well here, and mends it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ndpstack.cli._exit import Exit
from ndpstack.doctor import Finding, Repair, Status, examine_interface, examine_machine, mend

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
        "--fix",
        action="store_true",
        help="mend what fails and can be mended, then look again; XDP programs of others stay",
    )
    parser.add_argument(
        "--fix-warnings",
        action="store_true",
        help="--fix, and mend what is only warned of as well: offloads, for a software switch",
    )


def _examine(interfaces: list[str]) -> list[Finding]:
    findings = examine_machine()
    for name in interfaces:
        findings += examine_interface(name)
    return findings


def _print(repairs: list[Repair], findings: list[Finding]) -> None:
    for repair in repairs:
        print(repair.as_line())
    for finding in findings:
        print(*finding.as_lines(), sep="\n")


def execute(arguments: argparse.Namespace) -> int:
    """Examines, mends when asked to, and prints; fails when anything is still wrong."""
    findings, repairs = _examine(arguments.interface), []
    if arguments.fix or arguments.fix_warnings:
        repairs = mend(findings, warnings=arguments.fix_warnings)
        findings = _examine(arguments.interface)
    if arguments.json:
        document = {
            "schema_version": 1,
            "repairs": [repair.as_dict() for repair in repairs],
            "findings": [finding.as_dict() for finding in findings],
        }
        print(json.dumps(document))
    else:
        _print(repairs, findings)
    is_wrong = any(finding.status is Status.FAIL for finding in findings)
    is_unmended = any(repair.error is not None for repair in repairs)
    return Exit.FAILED if is_wrong or is_unmended else Exit.OK
