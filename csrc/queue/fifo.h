/* SPDX-License-Identifier: Apache-2.0 */
/* A first-in first-out list of packets, linked through packet->next. */
#ifndef ND_QUEUE_FIFO_H
#define ND_QUEUE_FIFO_H

#include "queue/account.h"

struct nd_fifo {
	uint32_t head; /* ND_NONE when empty */
	uint32_t tail; /* meaningless when empty */
	uint32_t packets;
	uint32_t bytes;
};

static inline void nd_fifo_init(struct nd_fifo *fifo)
{
	*fifo = (struct nd_fifo){ .head = ND_NONE, .tail = ND_NONE };
}

static inline void nd_fifo_push(struct nd_fifo *fifo, const struct nd_pool *pool, uint32_t index)
{
	struct nd_packet *packet = nd_pool_at(pool, index);

	packet->next = ND_NONE;
	if (fifo->head == ND_NONE)
		fifo->head = index;
	else
		((struct nd_packet *)nd_pool_at(pool, fifo->tail))->next = index;
	fifo->tail = index;
	fifo->packets++;
	fifo->bytes += packet->wire_bytes;
}

/* The FIFO must not be empty. */
static inline uint32_t nd_fifo_pop(struct nd_fifo *fifo, const struct nd_pool *pool)
{
	uint32_t index = fifo->head;
	const struct nd_packet *packet = nd_pool_at(pool, index);

	fifo->head = packet->next;
	fifo->packets--;
	fifo->bytes -= packet->wire_bytes;
	return index;
}

/* NULL or what is wrong; adds what it holds to the tally. */
const char *nd_fifo_audit(const struct nd_fifo *fifo, const struct nd_pool *pool,
			  struct nd_queue_tally *tally);

#endif
