"""Capture files: which NDP and Homa packets are in them, and what they say."""

from ndpstack.decode._capture import CaptureError as CaptureError
from ndpstack.decode._capture import Record as Record
from ndpstack.decode._capture import read_capture as read_capture
from ndpstack.decode._lua import lua_dissector as lua_dissector
from ndpstack.decode._packet import Decoded as Decoded
from ndpstack.decode._packet import decode_frame as decode_frame
