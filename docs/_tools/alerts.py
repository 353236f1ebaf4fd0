"""When a metric asks for somebody, and what they do. Metrics without an entry are for graphs.

Keys are metrics without `ndpstack_` and `_total`; a test holds that each exists.
"""

from __future__ import annotations

from typing import NamedTuple


class Alert(NamedTuple):
    """A condition, as PromQL has it for the metric, and the remedy."""

    when: str
    action: str


GROWS = "rate(…[5m]) > 0"
CONGESTED = "a rate far above the usual"

ALERTS = {
    "port_up": Alert(
        "== 0 for 1m",
        "`switchctl show ports` says why: cable, peer, or device.",
    ),
    "port_reopened": Alert(
        GROWS,
        "The device comes and goes: look at its driver and at the kernel log.",
    ),
    "port_rx_dropped_oversize": Alert(
        GROWS,
        "A sender leaves segmentation to its NIC: `ethtool -K DEV tso off gso off`; or "
        "raise `mtu`.",
    ),
    "port_rx_dropped_short": Alert(
        GROWS,
        "A broken sender or cable: `switchctl capture`.",
    ),
    "port_rx_dropped_foreign": Alert(
        GROWS,
        "Something else sends to the UDP port: find it by capture.",
    ),
    "port_rx_dropped_corrupt": Alert(
        GROWS,
        "A peer in shared memory misbehaves: restart it.",
    ),
    "port_rx_dropped_kernel": Alert(
        GROWS,
        "Frames larger than a buffer: compare MTUs at both ends.",
    ),
    "port_rx_ring_full": Alert(
        GROWS,
        "The data path is too slow or preempted: give it a CPU (`daemon.cpu`), raise `rx-frames`.",
    ),
    "port_rx_fill_empty": Alert(
        GROWS,
        "As for rx_ring_full.",
    ),
    "port_rx_invalid": Alert(
        GROWS,
        "A fault of the driver: note the kernel and report it.",
    ),
    "port_tx_dropped_oversize": Alert(
        GROWS,
        "MTUs of ports differ: make them equal.",
    ),
    "port_tx_dropped_unsendable": Alert(
        GROWS,
        "A UDP port carries UDP over its own family only.",
    ),
    "port_tx_dropped_down": Alert(
        GROWS,
        "Frames go to a link that is down: see its state.",
    ),
    "port_tx_dropped_kernel": Alert(
        GROWS,
        "The interface refuses frames: its own counters say why.",
    ),
    "port_tx_invalid": Alert(
        GROWS,
        "A fault of the driver: note the kernel and report it.",
    ),
    "port_tx_stuck": Alert(
        GROWS,
        "The other end of a pair has a smaller MTU, or the driver stops: the port is opened again "
        "by itself; make the MTUs equal, or report it.",
    ),
    "port_peer_refused": Alert(
        GROWS,
        "Somebody without the right attaches to a memory port.",
    ),
    "queue_dropped_packets": Alert(
        "rate / enqueued > 1 %",
        "Overload: compare with the profile; TCP drops here by design.",
    ),
    "queue_trimmed_packets": Alert(
        "rate / enqueued > 20 % for 5m",
        "Incast is normal in bursts; for long, look for a receiver that is too slow or "
        "an uplink short.",
    ),
    "queue_trimmed_dropped_packets": Alert(
        GROWS,
        "The header queue is full: raise `header-buffers`, or turn return-to-sender on.",
    ),
    "queue_control_dropped_packets": Alert(
        GROWS,
        "ACKs and pulls are lost: set `control-reserve-bytes` in the profile.",
    ),
    "queue_returned_packets": Alert(
        CONGESTED,
        "The largest incasts only: if it lasts, raise `header-buffers`.",
    ),
    "queue_marked_packets": Alert(
        "rate / enqueued > 50 %",
        "Senders do not heed ECN, or `ecn.threshold` is too low.",
    ),
    "phantom_unmarked_packets": Alert(
        CONGESTED,
        "Senders without ECN use the port: HULL's headroom is not kept.",
    ),
    "switch_buffers_used": Alert(
        "> 90 % of switch_buffers",
        "Raise `packets` of the switch.",
    ),
    "switch_dropped_no_buffer": Alert(
        GROWS,
        "Raise `packets` of the switch.",
    ),
    "switch_dropped_oversize": Alert(
        GROWS,
        "Raise `frame` of the switch, or lower the MTU of hosts.",
    ),
    "switch_dropped_malformed": Alert(
        GROWS,
        "A broken sender: `switchctl capture`.",
    ),
    "switch_dropped_unknown": Alert(
        GROWS,
        'An address is not configured: add `address`, or learn: `forwarding = "learned"`.',
    ),
    "switch_dropped_no_path": Alert(
        GROWS,
        "All ports of a group are down: `switchctl show routes`.",
    ),
    "switch_dropped_hairpin": Alert(
        GROWS,
        "Two stations behind one port talk through the switch: a loop?",
    ),
    "switch_dropped_faults": Alert(
        "> 0 outside tests",
        "Faults are injected: `switchctl fault PORT off`.",
    ),
    "switch_dropped_trim": Alert(
        GROWS,
        "Frames cannot be trimmed as decided: capture one and report it.",
    ),
    "switch_dropped_bounce": Alert(
        CONGESTED,
        "Returned headers that meet a full queue: see returned.",
    ),
    "switch_flooded": Alert(
        CONGESTED,
        "Addresses age out before their stations speak: raise `aging`, pin them by `address`.",
    ),
    "fdb_full": Alert(
        GROWS,
        "Raise `addresses`, or somebody floods the table: see `show fdb`.",
    ),
    "fdb_moved": Alert(
        GROWS,
        "A loop, or two stations with one address.",
    ),
    "path_up": Alert(
        "== 0 for 1m",
        "A port of the path is down: `switchctl show paths`.",
    ),
    "worker_rounds": Alert(
        "rate(…[1m]) == 0",
        "The data path hangs; systemd restarts it.",
    ),
    "worker_gap_seconds_max": Alert(
        "> 0.005",
        "Preemption: isolate a CPU and set `daemon.cpu`; on a virtual machine, pin it.",
    ),
    "control_refused_full": Alert(
        GROWS,
        "Raise `clients-max`, or find who leaves connections open.",
    ),
    "control_refused_permission": Alert(
        GROWS,
        "Somebody without the right tries: see the journal.",
    ),
    "control_refused_malformed": Alert(
        GROWS,
        "A client that is none, or of another version: see the journal.",
    ),
    "control_refused_unread": Alert(
        GROWS,
        "A client hangs: see the journal for its process.",
    ),
}
