/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credit, as it shows on the wire: nobody sends what the receiver has not allowed, nobody allows
 * more than its limits. Held against every packet, from the settings alone, without a look into
 * an engine.
 */
#ifndef ND_SIM_SWARM_CHECK_H
#define ND_SIM_SWARM_CHECK_H

#include "base/map.h"
#include "wire/packet.h"

#define ND_SWARM_FLOWS_MAX 4096

struct nd_swarm;

/* One direction of an RPC or connection, as its packets show it. */
struct nd_swarm_flow {
	uint64_t allowed;  /* Homa: bytes from the start; NDP: packets pulled */
	uint64_t arrived;  /* Homa: bytes that came whole to the receiver, again counted again */
	uint64_t sent;     /* NDP: new packets sent for pulls */
	uint64_t first;    /* NDP: packets of the first window */
	uint64_t repaired; /* NDP: retransmissions that no pull asked for */
};

struct nd_swarm_check {
	struct nd_swarm_flow flows[ND_SWARM_FLOWS_MAX];
	uint32_t count;
	struct nd_map map; /* key of a flow -> its index */
	void *map_memory;
};

/* Empties the books for a new run. */
void nd_swarm_check_reset(struct nd_swarm *swarm);
void nd_swarm_check_free(struct nd_swarm *swarm);

/* A host has put the packet on its link; a host has taken it from there. */
void nd_swarm_check_homa_sent(struct nd_swarm *swarm, uint32_t host,
			      const struct nd_packet *packet);
void nd_swarm_check_homa_received(struct nd_swarm *swarm, uint32_t host,
				  const struct nd_packet *packet);

#endif
