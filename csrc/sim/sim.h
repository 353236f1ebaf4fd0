/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator: engines and disciplines in virtual time.
 *
 * A simulation is built from one plain config (topology, engines, disciplines, delays, faults,
 * probes) and arrays of flows and triggers. It runs until a time, can be asked to go on, and its
 * results are arrays that belong to it. Nothing calls back. One simulation has one owner thread;
 * any number of simulations may run in parallel.
 *
 * DESIGN NOTES
 * 1. Same config, flows and seed give the same run, bit for bit, on every compiler and with any
 *    probes: trace_hash says so. No floating point decides anything.
 * 2. Time is in picoseconds here and in nanoseconds for the engines (rounded down); deadlines
 *    come back exactly.
 * 3. The packet that a port is sending has left its discipline. A switch whose buffer holds the
 *    packet in service as well (as in the papers) is a discipline of one packet less.
 * 4. Hosts hand a packet to the NIC as late as possible: while the bytes not yet sent, the new
 *    packet included, stay within nic_packets full ones. 1 is the ideal NIC of the papers'
 *    simulators, 2 is what Homa's section 4 asks of real ones.
 * 5. A transmission is found out about when it matters, not when it begins (see port.h). Counters
 *    and depths of a run that is stopped in the middle may lack what ports began to send within
 *    the last propagation delay; a run that goes on is the same as one that never stopped.
 */
#ifndef ND_SIM_SIM_H
#define ND_SIM_SIM_H

#include "base/counters.h"
#include "base/error.h"
#include "queue/phantom.h"
#include "queue/queue.h"
#include "sim/flow.h"
#include "sim/topology.h"
#include "transport/transport.h"

#define ND_SIM_ENGINES_MAX 4 /* as many as a NIC has members, see transport/nic.h */
#define ND_SIM_CLASSES_MAX 255

/* One protocol that hosts speak. Hosts of different classes may have different configs. */
struct nd_sim_engine {
	const struct nd_transport_ops *ops;
	const void *const *configs; /* one for each class */
	const uint8_t *host_class;  /* class of each host; NULL: all are of class 0 */
	uint32_t classes;
	uint32_t message_bytes_max; /* longer flows are sent as several messages */
	/* For the best possible times: how a message is cut into packets. */
	uint32_t payload_bytes_max; /* of a full data packet */
	uint32_t overhead_bytes;    /* wire_bytes - payload_bytes of a data packet */
	uint32_t wire_bytes_min;    /* of a data packet */
	uint32_t service;           /* port that servers listen on */
};

/* The egress of all ports of one tier. */
struct nd_sim_egress {
	const struct nd_queue_ops *ops;
	const void *config;
	/* With a shared buffer each switch gets its own copy of config, of config_bytes, with the
	 * address of its struct nd_shared stored at shared_offset. 0 bytes: no shared buffer. */
	uint32_t config_bytes;
	uint32_t shared_offset;
	uint32_t shared_bytes;     /* buffer of a switch */
	uint32_t shared_alpha_256; /* dynamic threshold, see queue/shared.h */
	const struct nd_phantom_config *phantom; /* at the exit of each port, or NULL */
};

enum nd_sim_route {
	ND_SIM_ROUTE_SOURCE = 0,      /* packet.path, chosen by the sender */
	ND_SIM_ROUTE_RANDOM = 1,      /* switches draw a port for each packet */
	ND_SIM_ROUTE_ROUND_ROBIN = 2, /* switches take turns for each packet */
	ND_SIM_ROUTE_FLOW = 3,        /* hash of source, target, flow and switch */
};

/* A delay: fixed, plus one of quantiles[], each equally likely. */
struct nd_sim_delay {
	nd_ps fixed_ps;
	const uint32_t *quantiles_ps; /* measured distribution, or NULL */
	uint32_t count;
	uint32_t spare;
};

enum nd_sim_change_kind {
	ND_SIM_CHANGE_RATE = 0,    /* value: bit/s */
	ND_SIM_CHANGE_DOWN = 1,    /* everything sent is lost */
	ND_SIM_CHANGE_UP = 2,
	ND_SIM_CHANGE_LOSS = 3,    /* value / 2^32, 1 at most: probability of losing a packet */
	ND_SIM_CHANGE_CORRUPT = 4, /* value / 2^48: probability of spoiling a byte */
	ND_SIM_CHANGE_DELAY = 5,   /* value: propagation in ps */
};

struct nd_sim_change {
	nd_ps time_ps;
	uint64_t value;
	uint32_t port;
	uint16_t kind;      /* enum nd_sim_change_kind */
	uint16_t both_ways; /* the reverse port as well */
};

/* What is watched besides flow rows and counters. Watching never changes the run. */
struct nd_sim_probes {
	nd_ps goodput_bin_ps;     /* payload that arrived, in bins of this width; 0: off */
	uint32_t goodput_bins;    /* bins kept; what comes later counts in the last one */
	uint32_t goodput_by_flow; /* 1: a series for each flow, 0: for each host */
	uint32_t queues;          /* 1: mean and largest depth of each port */
	uint32_t delays;          /* 1: lag_ns and wait_ns of the flow rows */
	uint32_t waste;           /* 1: idle time of last hops whose host waits for bytes */
	uint32_t timeline;        /* records kept of the packet timeline; 0: off */
	uint32_t timeline_host;   /* only packets from or to this host, or ND_NONE: all */
	uint32_t pcap_port;       /* every packet that this port sends, or ND_NONE */
	uint32_t spare;
	const char *pcap_path;
};

struct nd_sim_config {
	uint64_t seed;
	struct nd_topology_config topology;
	const struct nd_sim_engine *engines;
	uint32_t engine_count;
	uint32_t route;        /* enum nd_sim_route */
	struct nd_sim_egress egress[ND_TIER_COUNT]; /* ND_TIER_NIC is not used: hosts have none */
	uint32_t nic_packets;  /* 1 or more; see DESIGN NOTES 4 */
	uint32_t packet_bytes; /* of a full packet on the wire, what nic_packets counts */
	struct nd_sim_delay receive_delay; /* wire -> engine */
	struct nd_sim_delay send_delay;    /* engine -> wire */
	struct nd_sim_delay timer_delay;   /* deadline -> engine */
	const struct nd_sim_change *changes; /* in order of time */
	uint32_t change_count;
	uint32_t packets_max;  /* in the network at once; 0: derived from the number of hosts */
	uint32_t events_max;   /* pending at once; 0: derived */
	uint32_t wire_check;   /* 1: encode, decode and compare every packet */
	struct nd_sim_probes probes;
};

/* Why nd_sim_run came back. */
enum nd_sim_status {
	ND_SIM_DONE = 0,    /* every flow that is not background is done or failed */
	ND_SIM_UNTIL = 1,   /* the time was reached first */
	ND_SIM_STUCK = 2,   /* nothing is going to happen any more, and flows are unfinished */
	ND_SIM_LIMIT = 3,   /* packets_max or events_max was reached; nd_sim_error says which */
	ND_SIM_BROKEN = 4,  /* an invariant is broken; nd_sim_error says which */
};

#define ND_SIM_COUNTERS(X) \
	X(events, "Events served.") \
	X(hops, "Packets whose transmission was started, by hosts and switches.") \
	X(sent_packets, "Packets that hosts sent.") \
	X(sent_bytes, "Bytes on the wire of the packets that hosts sent.") \
	X(data_packets, "Of the sent: packets with payload.") \
	X(received_packets, "Packets handed to engines.") \
	X(received_bytes, "Bytes on the wire of the packets handed to engines.") \
	X(received_trimmed_packets, "Of the received: trimmed headers.") \
	X(payload_bytes, "Payload bytes handed to engines, duplicates included.") \
	X(dropped_packets, "Packets dropped or evicted by disciplines.") \
	X(lost_packets, "Packets lost on links that were down or lossy.") \
	X(corrupted_packets, "Packets spoiled on a link and dropped at its end.") \
	X(bounced_packets, "Trimmed headers that switches turned around.") \
	X(unknown_packets, "Packets that arrived at a host without an engine for them.") \
	X(flows_started, "Flows started.") \
	X(flows_done, "Flows done.") \
	X(flows_failed, "Flows failed.") \
	X(timers, "Times that an engine's deadline was served.") \
	X(timers_stale, "Timer events that had been overtaken by an earlier deadline.")
ND_COUNTERS_STRUCT(nd_sim_counters, ND_SIM_COUNTERS);
extern const struct nd_counters_table nd_sim_counters_table;

/* Depth of a port's queue over the run (probe queues). The packet in service is not counted. */
struct nd_sim_depth {
	uint64_t bytes_ns;    /* integral of the depth over time, until changed_ps */
	uint32_t bytes_max;
	uint32_t packets_max;
	nd_ps changed_ps;
};

/* What one host received. */
struct nd_sim_host_row {
	uint64_t payload_bytes;
	uint64_t wire_bytes;
	nd_ps idle_ps;         /* probe waste: last hop idle while bytes were expected */
	nd_ps expecting_ps;    /* probe waste: time with messages that had begun and not ended */
};

enum nd_sim_record_kind {
	ND_SIM_RECORD_SEND = 1,    /* a port starts to send the packet, for duration_ns */
	ND_SIM_RECORD_RECEIVE = 2, /* an engine gets it */
	ND_SIM_RECORD_TRIM = 3,    /* one that arrives, or one in the queue in its place */
	ND_SIM_RECORD_DROP = 4,
	ND_SIM_RECORD_BOUNCE = 5,
	ND_SIM_RECORD_LOSE = 6,
};

/* One entry of the packet timeline. */
struct nd_sim_record {
	nd_ps time_ps;
	uint32_t duration_ns;
	uint32_t port;      /* host number for RECEIVE */
	uint32_t packet;    /* slot of the packet: the same while it lives */
	uint32_t source;
	uint32_t target;
	uint32_t flow;      /* of data packets, else ND_NONE */
	uint32_t sequence;  /* NDP: packet number; Homa: offset */
	uint16_t wire_bytes;
	uint8_t kind;       /* enum nd_sim_record_kind */
	uint8_t protocol;
	uint8_t type;
	uint8_t priority;
	uint8_t marks;
	uint8_t spare;
};

struct nd_sim;

/* Copies config and everything it points to except the configs of engines, disciplines and phantom
 * queues, which must outlive the simulation. flows and triggers are copied. NULL with *error
 * filled in on failure. */
struct nd_sim *nd_sim_new(const struct nd_sim_config *config, const struct nd_flow *flows,
			  uint32_t flow_count, const struct nd_trigger *triggers,
			  uint32_t trigger_count, struct nd_error *error);
void nd_sim_free(struct nd_sim *sim);

/* Serves all events up to and including until_ps, or fewer when the work is done: enum
 * nd_sim_status. May be called again with a later time. */
int nd_sim_run(struct nd_sim *sim, nd_ps until_ps);

/* Text of the last LIMIT or BROKEN, or "". */
const char *nd_sim_error(const struct nd_sim *sim);

/* Checks conservation and the audits of every engine, queue and pool; NULL or what is wrong. */
const char *nd_sim_audit(struct nd_sim *sim);

nd_ps nd_sim_now(const struct nd_sim *sim);
uint64_t nd_sim_trace_hash(const struct nd_sim *sim);
uint32_t nd_sim_unfinished(const struct nd_sim *sim);
const struct nd_topology *nd_sim_topology(const struct nd_sim *sim);
const struct nd_sim_counters *nd_sim_counters(const struct nd_sim *sim);
/* Bytes of memory that the simulation asked for. */
size_t nd_sim_memory(const struct nd_sim *sim);

/* Arrays of the simulation; count may be NULL. */
const struct nd_flow *nd_sim_flows(const struct nd_sim *sim, uint32_t *count);
const struct nd_flow_row *nd_sim_rows(const struct nd_sim *sim, uint32_t *count);
/* Brought up to the present time by the call. */
const struct nd_sim_host_row *nd_sim_hosts(struct nd_sim *sim, uint32_t *count);
/* Queue counters of a port, NULL for the NIC of a host. */
const struct nd_queue_counters *nd_sim_queue_counters(const struct nd_sim *sim, uint32_t port);
/* Counters of a port's phantom queue, NULL where there is none. */
const struct nd_phantom_counters *nd_sim_phantom_counters(const struct nd_sim *sim, uint32_t port);
/* Counters of a host's engine, in the order of its ops->counters_table. */
const uint64_t *nd_sim_engine_counters(const struct nd_sim *sim, uint32_t host, uint32_t engine);
/* Probe queues: one entry a port, or NULL. Brought up to the present time by the call. */
const struct nd_sim_depth *nd_sim_depths(struct nd_sim *sim, uint32_t *count);
/* Probe goodput: series[row * bins + bin] in bytes; rows are flows or hosts. NULL: off. */
const uint64_t *nd_sim_goodput(const struct nd_sim *sim, uint32_t *rows, uint32_t *bins);
/* Wire bytes handed to engines by packet priority: 8 of packets with payload, then 8 without. */
const uint64_t *nd_sim_priority_bytes(const struct nd_sim *sim);
/* Probe timeline; *lost counts records that did not fit. */
const struct nd_sim_record *nd_sim_timeline(const struct nd_sim *sim, uint32_t *count,
					    uint64_t *lost);

/* Shortest possible time of a message from source to target on one path of an idle network. */
nd_ps nd_sim_best(const struct nd_sim *sim, uint32_t engine, uint32_t source, uint32_t target,
		  uint64_t bytes);

#endif
