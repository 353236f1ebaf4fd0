"""Tells hosts their paths, priorities, link rates, MTUs and trimming."""

from switchd.hosts._service import HOST_LIMITS as HOST_LIMITS
from switchd.hosts._service import HostService as HostService
