/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exit of a switch port: a discipline, perhaps a phantom queue behind it, drained at the rate
 * of the link it stands for.
 *
 * The link is virtual: while packets wait it is busy, and time that the worker lost to a
 * preemption is made up for, as on a real link whose transmitter never sleeps. An idle link saves
 * nothing up but the time since its worker last looked for frames: what arrives now may have come
 * then. The phantom queue sees each packet at the time when it begins on that link.
 */
#ifndef ND_SWITCH_EGRESS_H
#define ND_SWITCH_EGRESS_H

#include "base/types.h"
#include "queue/phantom.h"
#include "queue/queue.h"

#define ND_EGRESS_RATE_MIN_BPS UINT64_C(1000000)
#define ND_EGRESS_RATE_MAX_BPS UINT64_C(400000000000)

struct nd_egress {
	struct nd_queue *queue;
	struct nd_phantom *phantom; /* or NULL */
	uint64_t byte_cost; /* ns a byte, in 1/2^30; 0: as fast as the port takes them */
	nd_ns free_at;      /* when the link has sent all that was taken ... */
	uint32_t free_part; /* ... and this much later, in 1/2^30 ns */
	nd_ns catch_up;     /* most lost time that is made up for */
};

#define ND_EGRESS_PART_BITS 30

/* rate_bps 0: not paced. -ERANGE outside ND_EGRESS_RATE_MIN_BPS..MAX, and nothing changes. */
int nd_egress_set_rate(struct nd_egress *egress, uint64_t rate_bps, nd_ns catch_up);

/* The link is free at the moment and not before. */
static inline void nd_egress_free_at(struct nd_egress *egress, nd_ns moment)
{
	egress->free_at = moment;
	egress->free_part = 0;
}

/* Puts a packet that came after `since` into the discipline; see nd_queue_enqueue. */
static inline enum nd_verdict nd_egress_put(struct nd_egress *egress, uint32_t index, nd_ns since,
					    nd_ns now, struct nd_shed *shed)
{
	/* The link was idle: what starts now cannot have started before it came. */
	if (egress->queue->packets == 0 && egress->free_at < since)
		nd_egress_free_at(egress, since);
	return nd_queue_enqueue(egress->queue, index, now, shed);
}

/* When the next packet may be taken, or ND_NEVER when none waits. */
static inline nd_ns nd_egress_deadline(const struct nd_egress *egress)
{
	return egress->queue->packets ? egress->free_at + (egress->free_part > 0) : ND_NEVER;
}

/* The next packet to send, or ND_NONE when there is none or the link is still busy. */
static inline uint32_t nd_egress_take(struct nd_egress *egress, nd_ns now)
{
	struct nd_packet *packet;
	uint64_t cost;
	uint32_t index;

	if (nd_egress_deadline(egress) > now)
		return ND_NONE;
	index = nd_queue_dequeue(egress->queue, now);
	if (index == ND_NONE)
		return ND_NONE;
	packet = nd_pool_at(egress->queue->pool, index);
	if (now - egress->free_at > egress->catch_up)
		nd_egress_free_at(egress, now - egress->catch_up);
	if (egress->phantom)
		nd_phantom_pass(egress->phantom, packet, egress->free_at);
	cost = packet->wire_bytes * egress->byte_cost + egress->free_part;
	egress->free_at += cost >> ND_EGRESS_PART_BITS;
	egress->free_part = cost & ((1u << ND_EGRESS_PART_BITS) - 1);
	return index;
}

#endif
