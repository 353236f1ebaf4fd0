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
	uint64_t ps_per_byte;       /* 0: as fast as the port takes them */
	uint64_t free_ps;           /* when the link has sent all that was taken */
	uint64_t catch_up_ps;       /* most lost time that is made up for */
};

/* rate_bps 0: not paced. -ERANGE outside ND_EGRESS_RATE_MIN_BPS..MAX, and nothing changes. */
int nd_egress_set_rate(struct nd_egress *egress, uint64_t rate_bps, nd_ns catch_up);

/* Puts a packet that came after `since` into the discipline; see nd_queue_enqueue. */
static inline enum nd_verdict nd_egress_put(struct nd_egress *egress, uint32_t index, nd_ns since,
					    nd_ns now, struct nd_shed *shed)
{
	/* The link was idle: what starts now cannot have started before it came. */
	if (egress->queue->packets == 0)
		egress->free_ps = nd_max_u64(egress->free_ps, since * 1000);
	return nd_queue_enqueue(egress->queue, index, now, shed);
}

/* The next packet to send, or ND_NONE when there is none or the link is still busy. */
static inline uint32_t nd_egress_take(struct nd_egress *egress, nd_ns now)
{
	uint64_t now_ps = now * 1000;
	struct nd_packet *packet;
	uint32_t index;

	if (egress->queue->packets == 0 || egress->free_ps > now_ps)
		return ND_NONE;
	index = nd_queue_dequeue(egress->queue, now);
	if (index == ND_NONE)
		return ND_NONE;
	packet = nd_pool_at(egress->queue->pool, index);
	if (egress->free_ps + egress->catch_up_ps < now_ps)
		egress->free_ps = now_ps - egress->catch_up_ps;
	if (egress->phantom)
		nd_phantom_pass(egress->phantom, packet, egress->free_ps / 1000);
	egress->free_ps += packet->wire_bytes * egress->ps_per_byte;
	return index;
}

/* When the next packet may be taken, or ND_NEVER when none waits. */
static inline nd_ns nd_egress_deadline(const struct nd_egress *egress)
{
	return egress->queue->packets ? (egress->free_ps + 999) / 1000 : ND_NEVER;
}

#endif
