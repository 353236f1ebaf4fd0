"""Mends what the doctor found, and says what became of each attempt."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyroute2.ethtool.ioctl import EthtoolError
from pyroute2.netlink.exceptions import NetlinkError

from ndpstack._errors import UserError
from ndpstack.doctor._finding import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ndpstack.doctor._finding import Finding

FORBIDDEN = (errno.EPERM, errno.EACCES)


@dataclass(frozen=True)
class Repair:
    """An attempt to mend a finding."""

    finding: Finding

    error: str | None = None
    """Why it could not be mended, with the remedy; None: it was mended."""

    def as_line(self) -> str:
        """The attempt for people."""
        if self.error is None:
            return f"mended  {self.finding.label}: {self.finding.text}"
        return f"could not be mended  {self.finding.label}: {self.finding.text}: {self.error}"

    def as_dict(self) -> dict[str, str | None]:
        """The attempt for `--json`."""
        return {
            "check": self.finding.check,
            "interface": self.finding.interface,
            "text": self.finding.text,
            "error": self.error,
        }


def mend(findings: Iterable[Finding], *, warnings: bool) -> list[Repair]:
    """Repairs what stands in the way and can be mended; an attempt that fails ends none.

    Args:
        findings: Of the checks.
        warnings: Repair what is only warned of as well.
    """
    wanted = (Status.FAIL, Status.WARN) if warnings else (Status.FAIL,)
    return [
        _attempt(finding, finding.repair)
        for finding in findings
        if finding.status in wanted and finding.repair
    ]


def _attempt(finding: Finding, repair: Callable[[], None]) -> Repair:
    try:
        repair()
    except UserError as error:
        return Repair(finding, str(error))
    except (OSError, NetlinkError, EthtoolError) as error:
        return Repair(finding, _explain(error))
    return Repair(finding)


def _explain(error: OSError | NetlinkError | EthtoolError) -> str:
    number = error.code if isinstance(error, NetlinkError) else getattr(error, "errno", None)
    text = os.strerror(number) if number else str(error) or type(error).__name__
    return f"{text}; run as root" if number in FORBIDDEN else text
