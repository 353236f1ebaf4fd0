/* SPDX-License-Identifier: Apache-2.0 */
/* Which discipline, with which limits, a swarm's options ask for. */
#ifndef ND_SIM_SWARM_QUEUE_H
#define ND_SIM_SWARM_QUEUE_H

#include "queue/queue.h"
#include "queue/shared.h"
#include "sim/swarm_options.h"

/* options.discipline */
enum nd_swarm_discipline {
	ND_SWARM_QUEUE_DROPTAIL,
	ND_SWARM_QUEUE_ECN,
	ND_SWARM_QUEUE_NDP,
	ND_SWARM_QUEUE_CUT_PAYLOAD,
	ND_SWARM_QUEUE_STRICT,
	ND_SWARM_QUEUE_PFABRIC,
	ND_SWARM_QUEUE_NETFPGA,
	ND_SWARM_QUEUE_P4,
	ND_SWARM_QUEUE_FAIR,
	ND_SWARM_QUEUE_DISCIPLINES,
};

#define ND_SWARM_QUEUE_CONFIG_BYTES 256

/* A discipline with its config, which points into itself: it stays where it was made. */
struct nd_swarm_queue {
	const struct nd_queue_ops *ops;
	_Alignas(64) uint8_t config[ND_SWARM_QUEUE_CONFIG_BYTES];
};

/* shared is the buffer of all ports, or NULL when each has its own. */
void nd_swarm_queue_choose(struct nd_swarm_queue *queue, const struct nd_swarm_options *options,
			   struct nd_shared *shared, bool last_hop);

/* Full packets that a port's queue takes. */
uint32_t nd_swarm_queue_packets(const struct nd_swarm_options *options);

/* The buffer that the ports of such a run share. */
struct nd_shared_config nd_swarm_queue_shared(const struct nd_swarm_options *options);

#endif
