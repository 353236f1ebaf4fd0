/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a simulation, shared by the files that make one up: sim (loop), port (links),
 * switch (forwarding), host (endpoints), app (flows), probe (watching).
 *
 * DESIGN NOTES
 * 1. A packet in flight is in the pool and in no list; the event that brings it to the next node
 *    names it. Where it goes from there is known when it sets out, and the event's hint.
 * 2. A hop costs one event: see port.h for how a port's end of transmission does without.
 * 3. Data packets carry which flow they belong to in the value of their payload pointer, which
 *    nobody follows because endpoints without rx memory only handle lengths. Engines add the
 *    offset to it, so the upper half is the flow and the lower half the offset.
 * 4. A port, its counters and its discipline are one block of memory; with the packets they are
 *    what a hop touches, so they are fetched into the cache before they are due (see foresee.h).
 * 5. What is rarely used (faults, phantom queues, probes) hangs on port flags that are zero on a
 *    plain port, so that the common path tests one byte.
 */
#ifndef ND_SIM_STATE_H
#define ND_SIM_STATE_H

#include "base/pool.h"
#include "base/rng.h"
#include "sim/agenda.h"
#include "sim/keep.h"
#include "sim/sim.h"
#include "transport/nic.h"

/* event.what: kind in the upper bits, host, port or flow in the lower ones. */
#define ND_WORK_SHIFT 28
#define ND_WORK_MASK ((1u << ND_WORK_SHIFT) - 1)

enum nd_work {
	ND_WORK_ARRIVE,  /* port: packet arg is at its other end, last bit included */
	ND_WORK_SERVE,   /* port: the wire is free, and nothing that arrives says so in time */
	ND_WORK_NIC,     /* host: the NIC has room and the endpoints may have packets */
	ND_WORK_TIMER,   /* host: a deadline of an endpoint */
	ND_WORK_RECEIVE, /* host: packet arg has passed the software delay */
	ND_WORK_FLOWS,   /* the next flows in order of start time */
	ND_WORK_START,   /* flow: triggered, and its delay is over */
	ND_WORK_CHANGE,  /* the next changes of links */
};

/* port.flags: why a launch takes the long way. */
enum {
	ND_PORT_DOWN = 1 << 0,
	ND_PORT_FAULTY = 1 << 1,  /* loses or spoils packets */
	ND_PORT_PHANTOM = 1 << 2,
	ND_PORT_WATCHED = 1 << 3, /* a probe or the wire check looks at what is sent */
	ND_PORT_JITTER = 1 << 4,  /* a NIC whose software takes a varying time to send */
	ND_PORT_PROMPT = 1 << 5,  /* ends of transmission show elsewhere: it shares its buffer */
};

#define ND_PORT_COST_SHIFT 20

/* Its discipline follows it in memory. A host's NIC has none: its packets come from endpoints, and
 * what lies there is zero, a queue without packets. */
struct nd_sim_port {
	_Alignas(64)
	nd_ps busy_until;   /* when the wire is free */
	uint64_t byte_cost; /* ps a byte, in 1/2^20 */
	nd_ps delay;        /* propagation, plus latency of the switch it leads to */
	uint32_t peer;      /* node it leads to */
	bool waking;        /* of a host: a NIC event is pending */
	uint8_t flags;
	uint8_t serving;    /* priority of the packet on the wire, or last on it */
	uint8_t tier;
	struct nd_queue_counters counters; /* of the discipline */
	struct nd_sim_port_extra *extra;   /* when flags need it */
};

_Static_assert(offsetof(struct nd_sim_port, counters.dropped_packets) == 64,
	       "a packet that comes and goes touches one cache line of its port");

/* What a plain port has no need of. */
struct nd_sim_port_extra {
	struct nd_rng rng;
	uint32_t loss;        /* probability of losing a packet, in 1/2^32 */
	uint32_t corrupt;     /* probability of spoiling a byte, in 1/2^48 */
	nd_ps arrived_at;     /* packets stay in order when delays vary */
	struct nd_phantom phantom; /* with ND_PORT_PHANTOM */
	struct nd_phantom_counters phantom_counters;
};

struct nd_sim_switch {
	struct nd_rng rng;
	uint64_t salt; /* of the flow hash */
	uint32_t turn; /* round robin */
};

struct nd_host {
	_Alignas(64)
	nd_ps timer_at;    /* the event that counts */
	nd_ps timer_later; /* one that was overtaken and is still pending */
	nd_ps received_at; /* software hands packets over in order */
	nd_ps slack;       /* how far the wire may be booked when a packet is handed over */
	struct nd_nic nic; /* endpoints, one for each engine; the port does the booking */
};

/* Progress of one flow. */
struct nd_progress {
	uint64_t id;         /* connection or RPC at the source */
	uint64_t unsent;     /* bytes not yet handed to the engine */
	uint64_t unreceived; /* bytes not yet arrived in whole messages */
	uint32_t messages;   /* handed to the engine and not yet ended */
	bool closed;         /* the engine knows that nothing follows */
};

/* Side record of a packet for the delay probe, by pool index. */
struct nd_packet_delay {
	nd_ps queued_ps;
	uint32_t blocked_ns; /* of the wait that has begun: for a less urgent packet in service */
	uint32_t lag_ns;
	uint32_t wait_ns;
};

/* A host as a receiver, for the waste probe. */
struct nd_waste {
	uint32_t open;       /* messages begun and not ended */
	nd_ps open_since;
	nd_ps idle_mark;     /* last hop's busy time up to open_since */
};

struct nd_probe_state {
	uint64_t *goodput;
	uint32_t goodput_rows;
	struct nd_sim_depth *depths;
	uint32_t *depth_bytes; /* of each queue when it changed last */
	struct nd_packet_delay *delays;
	nd_ps *busy;           /* transmission time of each host's last hop */
	struct nd_waste *wastes;
	struct nd_sim_record *records;
	uint32_t record_count;
	uint64_t record_lost;
	uint64_t priority_bytes[16];
};

struct nd_sim {
	struct nd_agenda agenda;
	struct nd_pool pool;
	nd_ps now;
	nd_ns now_ns;
	uint64_t trace_hash;
	uint8_t *ports;        /* blocks: struct nd_sim_port and its queue */
	size_t port_bytes;     /* of a block */
	struct nd_topology topology;
	struct nd_sim_switch *switches;
	struct nd_host *hosts;
	uint8_t *endpoints;    /* of the first engine, of each host */
	size_t endpoint_bytes; /* from one of them to the next */
	void (*foresee)(const void *endpoint, const struct nd_packet *packet, enum nd_foresee step);
	uint32_t route;
	bool direct;           /* senders choose paths through a Clos: the next port is arithmetic */
	uint32_t fresh;        /* packet that an endpoint may fill in next */
	uint32_t engine_count;
	uint32_t unfinished;   /* flows that the run waits for */
	uint64_t tag;          /* payload value of the packet being received, or 0 */
	struct nd_sim_counters counters;

	struct nd_flow *flows;
	struct nd_flow_row *rows;
	struct nd_progress *progress;
	uint32_t flow_count;
	uint32_t awaited;      /* flows that are not background */
	uint32_t *by_start;    /* flows without trigger in order of start */
	uint32_t by_start_count;
	uint32_t by_start_next;
	struct nd_trigger *triggers; /* needs counts down */
	uint32_t *trigger_first;     /* where each trigger's flows begin in trigger_flows */
	uint32_t *trigger_flows;
	uint32_t trigger_count;

	struct nd_sim_config config;
	struct nd_sim_engine engines[ND_SIM_ENGINES_MAX];
	struct nd_sim_change *changes;
	uint32_t change_next;
	struct nd_sim_host_row *host_rows;
	struct nd_rng *delay_rngs; /* of each host */
	struct nd_shared *shared;  /* buffer of each switch, when ports share it */
	uint8_t *configs;          /* of the ports that do */
	size_t config_bytes;       /* of each of them */
	struct nd_probe_state probe;
	struct nd_capture *capture; /* frames, when a probe or the wire check wants them */
	struct nd_keep keep; /* all memory of the simulation */
	char error[ND_ERROR_TEXT_BYTES];
	int status; /* why it cannot go on, or 0 */
	bool stop;  /* it cannot, or all flows that it waits for are over */
};

static inline void nd_sim_stop(struct nd_sim *sim, enum nd_sim_status status)
{
	sim->status = (int)status;
	sim->stop = true;
}

/* payload value of a flow's packets: see DESIGN NOTES 3. */
static inline const uint8_t *nd_sim_tag(uint32_t flow, bool reply)
{
	return (const uint8_t *)(uintptr_t)(((uint64_t)flow * 2 + reply + 1) << 32);
}

/* Flow of a packet or of sim->tag, or ND_NONE. */
static inline uint32_t nd_sim_tag_flow(uint64_t tag)
{
	return tag ? (uint32_t)(((tag >> 32) - 1) >> 1) : ND_NONE;
}

static inline bool nd_sim_tag_is_reply(uint64_t tag)
{
	return ((tag >> 32) - 1) & 1;
}

static inline uint64_t nd_sim_packet_tag(const struct nd_packet *packet)
{
	return (uint64_t)(uintptr_t)packet->payload;
}

static inline struct nd_packet *nd_sim_packet(const struct nd_sim *sim, uint32_t index)
{
	return (struct nd_packet *)(void *)sim->pool.items + index;
}

/* Everything of a port lies together, so that its address follows from the number alone. */
static inline struct nd_sim_port *nd_sim_port(const struct nd_sim *sim, uint32_t number)
{
	return (struct nd_sim_port *)(void *)(sim->ports + number * sim->port_bytes);
}

static inline struct nd_queue *nd_sim_queue(struct nd_sim_port *port)
{
	return (struct nd_queue *)(void *)(port + 1);
}

static inline void nd_sim_put(struct nd_sim *sim, nd_ps time, enum nd_work work, uint32_t place,
			      uint32_t arg)
{
	nd_agenda_put(&sim->agenda, time, (uint32_t)work << ND_WORK_SHIFT | place, arg, ND_NONE);
}

static inline void *nd_sim_endpoint(const struct nd_sim *sim, uint32_t host, uint32_t engine)
{
	return sim->hosts[host].nic.members[engine].endpoint;
}

/* The same for the first engine, without a look at the host. */
static inline uint8_t *nd_sim_first_endpoint(const struct nd_sim *sim, uint32_t host)
{
	return sim->endpoints + host * sim->endpoint_bytes;
}

/* port.c */
/* Begins to send the next packet of the port; whether there was one that may be sent. */
bool nd_sim_port_serve(struct nd_sim *sim, struct nd_sim_port *port, uint32_t number, nd_ps start);
void nd_sim_port_offer(struct nd_sim *sim, uint32_t port, uint32_t index);

/* switch.c */
/* Port that a packet leaves the switch by, or ND_NONE when that is drawn on forwarding. */
uint32_t nd_sim_switch_resolve(const struct nd_sim *sim, uint32_t node,
			       const struct nd_packet *packet);
void nd_sim_switch_forward(struct nd_sim *sim, uint32_t node, uint32_t index);

/* host.c */
void nd_host_arrive(struct nd_sim *sim, uint32_t host, uint32_t index);
void nd_host_receive(struct nd_sim *sim, uint32_t host, uint32_t index);
void nd_host_timer(struct nd_sim *sim, uint32_t host);
void nd_host_nic(struct nd_sim *sim, uint32_t host);
/* After a command: events, packets, deadline. */
void nd_host_settle(struct nd_sim *sim, uint32_t host);

/* app.c */
void nd_app_start_due(struct nd_sim *sim);
void nd_app_start(struct nd_sim *sim, uint32_t flow);
void nd_app_event(struct nd_sim *sim, uint32_t host, uint32_t engine,
		  const struct nd_event *event);

/* link.c: delays */
nd_ps nd_delay_sample(struct nd_rng *rng, const struct nd_sim_delay *delay);

/* link.c */
bool nd_link_pass(struct nd_sim *sim, uint32_t port, uint32_t index, nd_ps start);
void nd_link_change_due(struct nd_sim *sim);
uint64_t nd_link_byte_cost(uint64_t rate_bps);

#endif
