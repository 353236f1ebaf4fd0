// SPDX-License-Identifier: Apache-2.0
/* Walks a FIFO to prove that its counts are true. */
#include "queue/fifo.h"

const char *nd_fifo_audit(const struct nd_fifo *fifo, const struct nd_pool *pool,
			  struct nd_queue_tally *tally)
{
	struct nd_queue_tally own = { 0 };
	uint32_t last = ND_NONE;

	for (uint32_t at = fifo->head; at != ND_NONE;) {
		const struct nd_packet *packet = nd_pool_at(pool, at);

		nd_queue_tally_add(&own, packet);
		if (own.packets > pool->limit)
			return "a list runs in a circle";
		last = at;
		at = packet->next;
	}
	if (last != ND_NONE && last != fifo->tail)
		return "a list's tail is not its last packet";
	if (own.packets != fifo->packets || own.bytes != fifo->bytes)
		return "a list's counts differ from what it holds";
	tally->packets += own.packets;
	tally->bytes += own.bytes;
	tally->trimmed += own.trimmed;
	return NULL;
}
