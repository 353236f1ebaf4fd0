"""What the data path is to be, and what has to change for it."""

from switchd.plan._build import build_plan as build_plan
from switchd.plan._diff import EFFECTS as EFFECTS
from switchd.plan._diff import Change as Change
from switchd.plan._diff import Field as Field
from switchd.plan._diff import differences as differences
from switchd.plan._diff import fields as fields
from switchd.plan._diff import port_change as port_change
from switchd.plan._queues import PROFILES as PROFILES
from switchd.plan._types import BasePlan as BasePlan
from switchd.plan._types import Forwarding as Forwarding
from switchd.plan._types import Plan as Plan
from switchd.plan._types import RoutePlan as RoutePlan
from switchd.plan._types import SwitchPlan as SwitchPlan
