// SPDX-License-Identifier: Apache-2.0
/* The disciplines of a swarm run. */
#include "sim/swarm_queue.h"

struct fifo_config {
	uint32_t packets_max;
};

struct fifo {
	struct nd_queue base;
	const struct fifo_config *config;
	uint32_t head, tail;
};

static size_t fifo_bytes(const void *config)
{
	(void)config;
	return sizeof(struct fifo);
}

static void fifo_init(struct nd_queue *queue, const struct nd_pool *pool, const void *config,
		      struct nd_queue_counters *counters, uint64_t seed);

static enum nd_verdict fifo_enqueue(struct nd_queue *queue, uint32_t index, nd_ns now,
				    struct nd_shed *shed)
{
	struct fifo *fifo = (struct fifo *)queue;
	struct nd_packet *packet = nd_pool_at(queue->pool, index);

	(void)now;
	queue->counters->enqueued_packets++;
	packet->next = ND_NONE;
	if (queue->packets >= fifo->config->packets_max) {
		queue->counters->dropped_packets++;
		shed->dropped = index;
		return ND_DROPPED;
	}
	if (queue->packets == 0)
		fifo->head = index;
	else
		((struct nd_packet *)nd_pool_at(queue->pool, fifo->tail))->next = index;
	fifo->tail = index;
	queue->packets++;
	return ND_KEPT;
}

static uint32_t fifo_dequeue(struct nd_queue *queue, nd_ns now)
{
	struct fifo *fifo = (struct fifo *)queue;
	uint32_t index = fifo->head;

	(void)now;
	if (queue->packets == 0)
		return ND_NONE;
	fifo->head = ((struct nd_packet *)nd_pool_at(queue->pool, index))->next;
	queue->packets--;
	queue->counters->dequeued_packets++;
	return index;
}

static const char *fifo_audit(const struct nd_queue *queue)
{
	(void)queue;
	return NULL;
}

static const struct nd_queue_ops fifo_ops = {
	.name = "fifo",
	.bytes = fifo_bytes,
	.init = fifo_init,
	.enqueue = fifo_enqueue,
	.dequeue = fifo_dequeue,
	.audit = fifo_audit,
};

static void fifo_init(struct nd_queue *queue, const struct nd_pool *pool, const void *config,
		      struct nd_queue_counters *counters, uint64_t seed)
{
	struct fifo *fifo = (struct fifo *)queue;

	(void)seed;
	*fifo = (struct fifo){
		.base = { .ops = &fifo_ops, .pool = pool, .counters = counters },
		.config = config,
	};
}

void nd_swarm_queue_choose(struct nd_swarm_queue *queue, const struct nd_swarm_options *options,
			   bool last_hop)
{
	(void)last_hop;
	queue->ops = &fifo_ops;
	*(struct fifo_config *)(void *)queue->config =
		(struct fifo_config){ .packets_max = options->buffer_packets };
}
