"""Testbeds: hosts and switches in network namespaces, joined by veth pairs."""

from ndpstack.testbed._errors import TestbedError as TestbedError
from ndpstack.testbed._folder import left_folders as left_folders
from ndpstack.testbed._folder import remove_folder as remove_folder
from ndpstack.testbed._folder import temporary_folder as temporary_folder
from ndpstack.testbed._guard import guarded as guarded
from ndpstack.testbed._lab import Lab as Lab
from ndpstack.testbed._lab import lab_name as lab_name
from ndpstack.testbed._lab import leftovers as leftovers
from ndpstack.testbed._lab import namespace_of as namespace_of
from ndpstack.testbed._lab import remove as remove
from ndpstack.testbed._lab import require_lab as require_lab
from ndpstack.testbed._lab import take_down as take_down
from ndpstack.testbed._lab import why_unavailable as why_unavailable
from ndpstack.testbed._plan import HostAddress as HostAddress
from ndpstack.testbed._plan import Link as Link
from ndpstack.testbed._plan import Node as Node
from ndpstack.testbed._plan import Plan as Plan
from ndpstack.testbed._plan import PlanBuilder as PlanBuilder
from ndpstack.testbed._plan import back_to_back as back_to_back
from ndpstack.testbed._plan import leaf_spine as leaf_spine
from ndpstack.testbed._plan import single_switch as single_switch
from ndpstack.testbed._signals import interruptible as interruptible
from ndpstack.testbed._state import State as State
from ndpstack.testbed._state import labs as labs
