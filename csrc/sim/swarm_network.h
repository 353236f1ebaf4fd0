/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The swarm's network: every host hangs on an edge port and reaches every other over a number of
 * core paths; links lose, double, cut, hold back and corrupt packets, and fail.
 *
 *	host --link--> core port [path][target] --link--> edge port [target] --link--> host
 *
 * Ports own a real discipline of csrc/queue. Packets carry copies of their payload, as a network
 * does: an engine that reuses memory too early delivers wrong bytes.
 */
#ifndef ND_SIM_SWARM_NETWORK_H
#define ND_SIM_SWARM_NETWORK_H

#include "base/pool.h"
#include "base/rng.h"
#include "queue/queue.h"
#include "queue/shared.h"
#include "sim/swarm_options.h"
#include "wire/packet.h"

#define ND_SWARM_PACKETS_MAX 8192
#define ND_SWARM_PORTS_MAX (ND_SWARM_HOSTS_MAX * (ND_SWARM_PATHS_MAX + 1))

struct nd_swarm;

struct nd_swarm_port {
	struct nd_queue *queue;
	struct nd_queue_counters counters;
	uint32_t target;  /* host that the port leads to */
	uint32_t path;    /* core path, or ND_NONE for an edge port */
	uint32_t mbps;
	uint32_t serving; /* packet on its way out, or ND_NONE */
	uint64_t offered, kept, served, dropped, returned;
};

/* Packets: sent + duplicated == delivered + lost + dropped + those still inside. */
struct nd_swarm_network {
	struct nd_pool pool;
	void *pool_memory;
	uint8_t *payloads;  /* ND_SWARM_MTU_MAX bytes for each packet of the pool */
	uint8_t *queues;    /* memory of the disciplines */
	size_t queues_bytes;
	uint8_t stages[ND_SWARM_PACKETS_MAX]; /* links that each packet still has to cross */
	uint8_t damage[ND_SWARM_PACKETS_MAX]; /* enum nd_swarm_damage */
	struct nd_swarm_port ports[ND_SWARM_PORTS_MAX];
	struct nd_shared shared; /* buffer of all ports, where they share one */
	uint32_t port_count;
	struct nd_rng rng;
	bool calm;                                               /* links have no faults now */
	nd_ns link_down[ND_SWARM_HOSTS_MAX];                     /* host's link: until when */
	nd_ns path_down[ND_SWARM_PATHS_MAX][ND_SWARM_HOSTS_MAX]; /* core link: until when */
	nd_ns blocked[ND_SWARM_HOSTS_MAX][ND_SWARM_HOSTS_MAX];   /* from, to: until when */
	uint64_t sent, duplicated, delivered, lost, dropped;
};

/* Address handle of a host, and back (ND_NONE for an address of no host). */
static inline uint32_t nd_swarm_address(uint32_t host)
{
	return UINT32_C(0x0a000001) + host;
}

uint32_t nd_swarm_host_of(const struct nd_swarm *swarm, uint32_t address);

int nd_swarm_network_open(struct nd_swarm *swarm);
void nd_swarm_network_free(struct nd_swarm *swarm);

/* A host puts a packet on its link; it arrives after the time that the link needs for it. */
void nd_swarm_network_send(struct nd_swarm *swarm, uint32_t host, const struct nd_packet *packet);

/* ND_SWARM_ARRIVE and ND_SWARM_PORT events. */
void nd_swarm_network_arrive(struct nd_swarm *swarm, uint32_t index);
void nd_swarm_network_port(struct nd_swarm *swarm, uint32_t port);

/* A packet that a host has read, or never will. */
void nd_swarm_network_release(struct nd_swarm *swarm, uint32_t index, bool delivered);

/* NULL, or which packets or counters do not add up; inboxes is what waits in paused hosts. */
const char *nd_swarm_network_audit(const struct nd_swarm *swarm, bool deep);

/* Time that a link of that rate needs for so many bytes. */
static inline nd_ns nd_swarm_wire_ns(uint32_t bytes, uint32_t mbps)
{
	return (nd_ns)bytes * 8000 / mbps;
}

#endif
