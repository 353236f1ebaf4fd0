// SPDX-License-Identifier: Apache-2.0
/* The disciplines of a swarm run. */
#include "sim/swarm_queue.h"

#include "queue/droptail.h"

void nd_swarm_queue_choose(struct nd_swarm_queue *queue, const struct nd_swarm_options *options,
			   bool last_hop)
{
	(void)last_hop;
	queue->ops = &nd_droptail_ops;
	*(struct nd_droptail_config *)(void *)queue->config =
		(struct nd_droptail_config){ .limit = { .packets = options->buffer_packets } };
}
