/* SPDX-License-Identifier: Apache-2.0 */
/* Which discipline, with which limits, a swarm's options ask for. */
#ifndef ND_SIM_SWARM_QUEUE_H
#define ND_SIM_SWARM_QUEUE_H

#include "queue/queue.h"
#include "sim/swarm_options.h"

/* Room for the config of any discipline. */
struct nd_swarm_queue {
	const struct nd_queue_ops *ops;
	_Alignas(64) uint8_t config[512];
};

void nd_swarm_queue_choose(struct nd_swarm_queue *queue, const struct nd_swarm_options *options,
			   bool last_hop);

#endif
