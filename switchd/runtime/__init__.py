"""Keeps the data path as the plan says, through changes and failures."""

from switchd.runtime._apply import device_of as device_of
from switchd.runtime._manager import Manager as Manager
from switchd.runtime._ports import LivePort as LivePort
from switchd.runtime._ports import LiveSwitch as LiveSwitch
