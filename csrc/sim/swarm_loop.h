/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The swarm's event loop: a binary heap of (time, order), virtual time, nothing else.
 *
 * Events that fall on one nanosecond run in the order in which they were added.
 */
#ifndef ND_SIM_SWARM_LOOP_H
#define ND_SIM_SWARM_LOOP_H

#include "base/types.h"

enum nd_swarm_event_kind {
	ND_SWARM_ARRIVE,   /* arg: packet that reaches the end of its link */
	ND_SWARM_PORT,     /* arg: port that has sent a packet */
	ND_SWARM_NIC,      /* arg: host whose link is free */
	ND_SWARM_TIMER,    /* arg: host whose endpoints have a deadline */
	ND_SWARM_POLL,     /* arg: host whose applications look at their events */
	ND_SWARM_RESUME,   /* arg: host that ends its pause */
	ND_SWARM_RELEASE,  /* arg: held message that its application is done with */
	ND_SWARM_REPLY,    /* arg: RPC that its server answers */
	ND_SWARM_ACTION,   /* an application does something */
	ND_SWARM_FLAP,     /* a link fails */
	ND_SWARM_PARTITION,/* two groups of hosts lose each other */
	ND_SWARM_RESTART,  /* a host restarts */
	ND_SWARM_PAUSE,    /* a host stands still */
};

struct nd_swarm_event {
	nd_ns at;
	uint64_t order;
	uint32_t kind;
	uint32_t arg;
};

struct nd_swarm_loop {
	struct nd_swarm_event *heap;
	uint32_t count;
	uint32_t limit; /* entries that heap has room for; it grows */
	nd_ns now;
	uint64_t added;
	uint64_t done;
};

/* Empties the loop, back to time 0; its memory is kept. */
void nd_swarm_loop_reset(struct nd_swarm_loop *loop);
void nd_swarm_loop_free(struct nd_swarm_loop *loop);

/* at >= now. */
void nd_swarm_loop_add(struct nd_swarm_loop *loop, nd_ns at, enum nd_swarm_event_kind kind,
		       uint32_t arg);

/*
 * Takes out the next event up to the given time and moves now to it. Without one, now becomes
 * that time and the answer is false.
 */
bool nd_swarm_loop_next(struct nd_swarm_loop *loop, nd_ns until, struct nd_swarm_event *event);

#endif
