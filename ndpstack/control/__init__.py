"""The control protocol: msgpack-RPC between switchd, its tools and its hosts."""

from ndpstack.control._client import Client as Client
from ndpstack.control._client import ControlError as ControlError
from ndpstack.control._client import UnreachableError as UnreachableError
from ndpstack.control._client import parse_address as parse_address
from ndpstack.control._wire import API_VERSION as API_VERSION
from ndpstack.control._wire import FEED_BYTES as FEED_BYTES
from ndpstack.control._wire import MESSAGE_BYTES_MAX as MESSAGE_BYTES_MAX
from ndpstack.control._wire import Call as Call
from ndpstack.control._wire import Message as Message
from ndpstack.control._wire import Notification as Notification
from ndpstack.control._wire import Reply as Reply
from ndpstack.control._wire import Splitter as Splitter
from ndpstack.control._wire import WireError as WireError
from ndpstack.control._wire import encode as encode
