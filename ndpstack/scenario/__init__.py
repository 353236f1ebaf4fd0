"""Scenario files: an experiment as typed, checked data that any world can run."""

from ndpstack.scenario._check import host_count as host_count
from ndpstack.scenario._load import ScenarioFile as ScenarioFile
from ndpstack.scenario._load import load_scenario as load_scenario
from ndpstack.scenario._load import parse_scenario as parse_scenario
from ndpstack.scenario._load import shipped_scenarios as shipped_scenarios
from ndpstack.scenario._schema import Scenario as Scenario
from ndpstack.scenario._workload import Workload as Workload
from ndpstack.scenario._workload import load_workload as load_workload
from ndpstack.scenario._workload import pareto as pareto
from ndpstack.scenario._workload import workload_names as workload_names
