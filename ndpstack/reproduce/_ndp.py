"""The experiments of the NDP paper (SIGCOMM'17), and of the OMNeT++ model of it."""

from __future__ import annotations

from ndpstack.reproduce import _ndp_incast as incast
from ndpstack.reproduce import _ndp_load as load
from ndpstack.reproduce import _ndp_paths as paths
from ndpstack.reproduce import _ndp_spacing as spacing
from ndpstack.reproduce import _ndp_switch as switch
from ndpstack.reproduce import _ndp_testbed as testbed
from ndpstack.reproduce import _omnet as omnet
from ndpstack.reproduce._experiment import Experiment

EXPERIMENTS = (
    Experiment("E-N01", "unresponsive senders", "NDP F2", switch.unresponsive, True, 40),
    Experiment("E-N02", "nine packets at once", "NDP F3", testbed.nine_packets, True, 1),
    Experiment("E-N03", "latency of packets", "NDP F4", incast.latencies, True, 60),
    Experiment("E-N04", "constants", "NDP §3.2", testbed.constants, True, 1),
    Experiment(
        "E-N05", "path choice", "NDP §3.1.1", load.path_choice, True, 10, also=("E-N06", "E-N28")
    ),
    Experiment("E-N08", "7:1 incast on 8 servers", "NDP F9", testbed.testbed_incast, True, 10),
    Experiment(
        "E-N09", "a prioritised short flow", "NDP F10", testbed.prioritised_short_flow, True, 5
    ),
    Experiment("E-N10", "window, two hosts", "NDP F11", testbed.initial_window, True, 5),
    Experiment("E-N11", "PULL spacing", "NDP F12", testbed.pull_spacing, True, 1),
    Experiment("E-N12", "measured spacing, permutation", "NDP §6", spacing.many, True, 60),
    Experiment("E-N13", "measured spacing, incast", "NDP F13", spacing.incast, True, 30),
    Experiment("E-N14", "permutation", "NDP F14", load.permutation, True, 20),
    Experiment("E-N15", "an idle pair in a loaded network", "NDP F15", load.idle_pair, True, 60),
    Experiment("E-N16", "incast of 450 KB", "NDP F16", incast.incast, True, 30),
    Experiment("E-N17", "a prioritised flow in an incast", "NDP §6.1", incast.priority, True, 5),
    Experiment("E-N19", "an incast to a neighbour", "NDP F18, F19", incast.neighbour, True, 5),
    Experiment("E-N20", "initial window and buffer", "NDP F17", load.windows, True, 60),
    Experiment("E-N21", "size of the network", "NDP §6.2", load.sizes, True, 120),
    Experiment("E-N22", "incast to 8000:1", "NDP F20a", incast.incast_scaling, True, 120),
    Experiment("E-N23", "retransmissions in incast", "NDP F20b", incast.retransmissions, True, 10),
    Experiment("E-N24", "collateral damage", "NDP F21", paths.collateral, True, 5),
    Experiment("E-N26", "a slow link", "NDP F22", paths.slow_link, True, 10),
    Experiment("E-N30", "run time", "NDP §6.2", load.run_time, False, 10),
    Experiment("E-O01", "FatTrees", "OMNeT++ T1", omnet.fat_trees, True, 5),
    Experiment("E-O02", "short flows", "OMNeT++ F6", omnet.short_flows, True, 20),
    Experiment("E-O03", "balance over cores", "OMNeT++ F7", omnet.core_balance, True, 30),
    Experiment("E-O04", "initial window", "OMNeT++ F8a", omnet.initial_window, True, 5),
    Experiment("E-O05", "sizes and rates", "OMNeT++ F8b", omnet.sizes_and_rates, True, 120),
    Experiment("E-O06", "web search", "OMNeT++ F9", omnet.web_search, True, 500),
)
