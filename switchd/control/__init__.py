"""The control API: what operators ask of a running daemon, and the socket they ask it on."""

from switchd.control._api import METHODS as METHODS
from switchd.control._api import Api as Api
from switchd.control._api import Method as Method
from switchd.control._server import CallError as CallError
from switchd.control._server import Handler as Handler
from switchd.control._server import Limits as Limits
from switchd.control._server import Server as Server
from switchd.control._server import ServerCounters as ServerCounters
from switchd.control._server import Session as Session
from switchd.control._views import state_of as state_of
