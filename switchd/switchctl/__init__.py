"""switchctl: the operator's tool."""

from switchd.switchctl._main import EXIT_CODES as EXIT_CODES
from switchd.switchctl._main import build_parser as build_parser
from switchd.switchctl._main import main as main
