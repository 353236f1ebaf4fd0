"""The product doing its main job on real packets, in under three minutes."""

from ndpstack.demo._page import write_page as write_page
from ndpstack.demo._runs import Demo as Demo
from ndpstack.demo._runs import Done as Done
from ndpstack.demo._tables import demo_tables as demo_tables
from ndpstack.demo._tables import machine_of as machine_of
from ndpstack.demo._tables import what_is_lost as what_is_lost
from ndpstack.demo._tables import what_is_wrong as what_is_wrong
