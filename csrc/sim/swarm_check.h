/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credit, as it shows on the wire: nobody sends what the receiver has not allowed, nobody allows
 * more than its limits. Held against every packet, from the settings alone, without a look into
 * an engine.
 */
#ifndef ND_SIM_SWARM_CHECK_H
#define ND_SIM_SWARM_CHECK_H

#include "base/map.h"
#include "sim/swarm_options.h"
#include "wire/packet.h"

#define ND_SWARM_FLOWS_MAX 4096

struct nd_swarm;

#define ND_SWARM_SEQUENCES_MAX 65536 /* of one flow; what comes after is not checked */

/* One direction of an RPC or connection, as its packets show it. */
struct nd_swarm_flow {
	uint64_t allowed; /* Homa: bytes from the start; NDP: packets, those without a pull included */
	uint64_t arrived; /* Homa: bytes that came whole to the receiver, again counted again */
	uint64_t sent;    /* NDP: packets, retransmissions included */
	uint32_t pulled;  /* NDP: highest pull counter that came back */
	uint32_t next;    /* NDP: one past the highest sequence sent */
	uint32_t acked;   /* NDP: sequences acknowledged, each counted once */
	uint8_t *seen;    /* NDP: a bit for each of them */
	uint32_t base;    /* NDP: all below were said to have arrived */
	uint32_t pulled_since; /* NDP: pulls that came since then */
	uint32_t train;        /* NDP: first number of the train under way */
	uint32_t deferred;     /* NDP: of its window, until older packets are acknowledged */
	bool ended;       /* NDP: nothing was queued behind the last new packet */
};

struct nd_swarm_check {
	struct nd_swarm_flow flows[ND_SWARM_FLOWS_MAX];
	uint32_t count;
	struct nd_map map; /* key of a flow -> its index */
	void *map_memory;
	uint64_t ndp_excess[ND_SWARM_HOSTS_MAX]; /* packets sent beyond what pulls allowed */
	uint32_t ndp_incarnation[ND_SWARM_HOSTS_MAX]; /* of the host that they belong to */
};

/* Empties the books for a new run. */
void nd_swarm_check_reset(struct nd_swarm *swarm);
void nd_swarm_check_free(struct nd_swarm *swarm);

/* A host has put the packet on its link; a host has taken it from there. */
void nd_swarm_check_homa_sent(struct nd_swarm *swarm, uint32_t host,
			      const struct nd_packet *packet);
void nd_swarm_check_homa_received(struct nd_swarm *swarm, uint32_t host,
				  const struct nd_packet *packet);
void nd_swarm_check_ndp_sent(struct nd_swarm *swarm, uint32_t host,
			     const struct nd_packet *packet);
void nd_swarm_check_ndp_received(struct nd_swarm *swarm, uint32_t host,
				 const struct nd_packet *packet);

/* The flow of that key, made when it is new; NULL when there is no room for it. */
struct nd_swarm_flow *nd_swarm_check_flow(struct nd_swarm *swarm, uint64_t key);

#endif
