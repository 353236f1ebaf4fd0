"""The host service: one core that the applications of a machine share."""

from ndpstack.host._service import HostService as HostService
from ndpstack.host._service import ServiceConfig as ServiceConfig
from ndpstack.host._status import read_status as read_status
