/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bookkeeping that every discipline does alike: each packet that comes in, is held, is served
 * or is shed passes through exactly one of these, so conservation holds by construction.
 */
#ifndef ND_QUEUE_ACCOUNT_H
#define ND_QUEUE_ACCOUNT_H

#include "queue/queue.h"
#include "queue/shared.h"

static inline struct nd_packet *nd_queue_packet(const struct nd_queue *queue, uint32_t index)
{
	return nd_pool_at(queue->pool, index);
}

/* Fetches a packet into the cache; ND_NONE: nothing. */
static inline void nd_queue_fetch(const struct nd_queue *queue, uint32_t index)
{
	if (index != ND_NONE)
		nd_fetch(nd_queue_packet(queue, index));
}

static inline bool nd_queue_is_blocked(const struct nd_queue *queue, uint32_t class)
{
	return (queue->blocked >> class) & 1;
}

static inline void nd_queue_count_arrival(struct nd_queue *queue, const struct nd_packet *packet)
{
	queue->counters->enqueued_packets++;
	queue->counters->enqueued_bytes += packet->wire_bytes;
	if (packet->marks & ND_MARK_TRIMMED)
		queue->counters->trimmed_arrived_packets++;
}

/* The packet is linked in: from now on it is in the queue's totals and in the shared buffer. */
static inline void nd_queue_hold(struct nd_queue *queue, struct nd_shared *shared,
				 const struct nd_packet *packet)
{
	queue->packets++;
	queue->bytes += packet->wire_bytes;
	if (shared)
		nd_shared_take(shared, packet->wire_bytes);
}

/* The opposite; wire_bytes must be what they were when the packet was linked in. */
static inline void nd_queue_let_go(struct nd_queue *queue, struct nd_shared *shared,
				   const struct nd_packet *packet)
{
	queue->packets--;
	queue->bytes -= packet->wire_bytes;
	if (shared)
		nd_shared_give(shared, packet->wire_bytes);
}

/* A packet that was let go leaves on the wire. */
static inline void nd_queue_count_served(struct nd_queue *queue, const struct nd_packet *packet)
{
	queue->counters->dequeued_packets++;
	queue->counters->dequeued_bytes += packet->wire_bytes;
	if (packet->marks & ND_MARK_TRIMMED)
		queue->counters->trimmed_sent_packets++;
}

/* A packet that is not (or no longer) held is lost. */
static inline enum nd_verdict nd_queue_drop(struct nd_queue *queue, uint32_t index,
					    struct nd_shed *shed)
{
	struct nd_packet *packet = nd_queue_packet(queue, index);

	queue->counters->dropped_packets++;
	queue->counters->dropped_bytes += packet->wire_bytes;
	if (packet->marks & ND_MARK_TRIMMED)
		queue->counters->trimmed_dropped_packets++;
	packet->next = shed->dropped;
	shed->dropped = index;
	return ND_DROPPED;
}

/* A trimmed header that is not held goes back to its sender. */
static inline enum nd_verdict nd_queue_return(struct nd_queue *queue, uint32_t index,
					      struct nd_shed *shed)
{
	struct nd_packet *packet = nd_queue_packet(queue, index);

	queue->counters->returned_packets++;
	queue->counters->returned_bytes += packet->wire_bytes;
	nd_packet_bounce(packet);
	packet->next = shed->returned;
	shed->returned = index;
	return ND_RETURNED;
}

/* Cuts the payload of a packet that is not held. */
static inline void nd_queue_trim(struct nd_queue *queue, struct nd_packet *packet, uint8_t marks)
{
	queue->counters->trimmed_packets++;
	queue->counters->trimmed_bytes += (uint64_t)packet->wire_bytes - packet->header_bytes;
	nd_packet_trim(packet);
	packet->marks = (uint8_t)(packet->marks | marks);
}

static inline void nd_queue_tally_add(struct nd_queue_tally *tally, const struct nd_packet *packet)
{
	tally->packets++;
	tally->bytes += packet->wire_bytes;
	tally->trimmed += (packet->marks & ND_MARK_TRIMMED) != 0;
}

#endif
