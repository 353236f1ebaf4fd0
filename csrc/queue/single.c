// SPDX-License-Identifier: Apache-2.0
/* One FIFO behind the discipline contract. */
#include "queue/single.h"

#include "base/refuse.h"

const char *const nd_single_classes[] = { "packets", NULL };

int nd_single_check(const struct nd_limit *limit, const struct nd_shared *shared, const char **why)
{
	if (!nd_limit_is_set(limit) && !shared)
		return nd_refuse(why, "limit.packets", 0,
				 "a queue needs a limit: set limit.packets, limit.bytes or shared");
	return 0;
}

size_t nd_single_bytes(const void *config)
{
	(void)config;
	return sizeof(struct nd_single);
}

void nd_single_init(struct nd_single *single, const struct nd_queue *queue, const void *config,
		    struct nd_shared *shared)
{
	*single = (struct nd_single){ .queue = *queue, .config = config, .shared = shared };
	nd_fifo_init(&single->fifo);
}

bool nd_single_push(struct nd_single *single, uint32_t index, const struct nd_limit *limit)
{
	struct nd_queue *queue = &single->queue;
	const struct nd_packet *packet = nd_queue_packet(queue, index);
	uint32_t bytes = packet->wire_bytes;

	if (!nd_limit_admits(limit, queue->bytes, queue->packets, bytes) ||
	    (single->shared && !nd_shared_admits(single->shared, queue->bytes, bytes)))
		return false;
	nd_fifo_push(&single->fifo, queue->pool, index);
	nd_queue_hold(queue, single->shared, packet);
	return true;
}

uint32_t nd_single_dequeue(struct nd_queue *queue, nd_ns now)
{
	struct nd_single *single = (struct nd_single *)queue;
	const struct nd_packet *packet;
	uint32_t index;

	(void)now;
	if (!queue->packets || nd_queue_is_blocked(queue, 0))
		return ND_NONE;
	index = nd_fifo_pop(&single->fifo, queue->pool);
	packet = nd_queue_packet(queue, index);
	nd_queue_let_go(queue, single->shared, packet);
	nd_queue_count_served(queue, packet);
	return index;
}

void nd_single_foresee(const struct nd_queue *queue)
{
	nd_queue_fetch(queue, ((const struct nd_single *)queue)->fifo.head);
}

struct nd_queue_depth nd_single_depth(const struct nd_queue *queue, uint32_t class)
{
	(void)class;
	return (struct nd_queue_depth){ .packets = queue->packets, .bytes = queue->bytes };
}

const char *nd_single_audit(const struct nd_queue *queue, const struct nd_limit *limit,
			    struct nd_queue_tally *tally)
{
	const struct nd_single *single = (const struct nd_single *)queue;

	if (!nd_limit_holds(limit, queue->bytes, queue->packets))
		return "the queue is above its limit";
	return nd_fifo_audit(&single->fifo, queue->pool, tally);
}
