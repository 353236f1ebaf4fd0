/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pull queue of a host and its pacer: which flow may be pulled next, and when.
 *
 * DESIGN NOTES
 * 1. It knows flows, peers and bytes, not NDP.
 * 2. Every pull carries the wire bytes of the arrival that earned it, and the next pull waits as
 *    long as the link takes for that many. So released bytes equal arrived bytes over any while,
 *    whatever the mix of packet sizes, and uniform packets are spaced exactly.
 * 3. Time is kept in nanoseconds and a remainder in units of 1/link_bps ns: no rounding adds up.
 * 4. Eight levels, served strictly. In a level: round robin of peers, and of a peer's flows. A
 *    group is one peer in one level; groups exist only while flows are open in them.
 * 5. A pull that is taken late does not shift the ones behind it by more than slack_ns allows, so
 *    a busy driver does not cost rate; an empty queue earns nothing.
 */
#ifndef ND_TRANSPORT_PULL_H
#define ND_TRANSPORT_PULL_H

#include "base/types.h"

#define ND_PULL_LEVELS 8

struct nd_pull_flow {
	uint32_t next, prev; /* ring of the group's flows that have pulls */
	uint32_t group;      /* ND_NONE while closed */
	uint32_t pulls;
	uint32_t bytes;      /* that these pulls are expected to release */
};

struct nd_pull_group {
	uint32_t next, prev; /* ring of the level's groups that have pulls */
	uint32_t head;       /* flow to serve next, ND_NONE when none has pulls */
	uint32_t sibling;    /* the peer's next group, or the next free one */
	uint32_t peer;
	uint32_t flows;      /* open in this group */
	uint32_t level;
};

/* What every packet touches is one cache line, and comes first. */
struct nd_pull {
	nd_ns due;          /* the next pull may go at this time */
	uint64_t remainder; /* ... and this many 1/link_bps ns later */
	uint32_t levels; /* bit set: the level has pulls */
	uint32_t total;  /* pulls queued */
	struct nd_pull_flow *flows;
	struct nd_pull_group *groups;
	nd_ns cost_ns;           /* the last pull's time on the link, ... */
	uint64_t cost_remainder; /* the rest of it, */
	uint32_t cost_bytes;     /* and what it was charged */
	uint32_t group_free;
	uint32_t heads[ND_PULL_LEVELS]; /* group to serve next, or ND_NONE */
	uint64_t link_bps;
	nd_ns slack;
	uint32_t *peer_groups; /* first group of each peer, or ND_NONE */
	uint32_t flows_max;
	uint32_t peers_max;
};
_Static_assert(offsetof(struct nd_pull, heads) == 64, "one cache line and what it points to");

/* Bytes of 64-byte aligned memory that init needs. */
size_t nd_pull_bytes(uint32_t flows_max, uint32_t peers_max);
void nd_pull_init(struct nd_pull *queue, void *memory, uint64_t link_bps, nd_ns slack,
		  uint32_t flows_max, uint32_t peers_max);

/* The link has another rate: the pull after the next is spaced by it. */
void nd_pull_set_rate(struct nd_pull *queue, uint64_t link_bps);

/* Opens a flow of peer at level (7 is served first). */
void nd_pull_open(struct nd_pull *queue, uint32_t flow, uint32_t peer, uint32_t level);

/* Closes it; its pulls are gone. */
void nd_pull_close(struct nd_pull *queue, uint32_t flow);

/* One pull more, expected to release wire_bytes. */
void nd_pull_add(struct nd_pull *queue, uint32_t flow, uint32_t wire_bytes, nd_ns now);

/* Removes pulls beyond limit; returns how many. */
uint32_t nd_pull_cap(struct nd_pull *queue, uint32_t flow, uint32_t limit);

/* Takes one pull, which is due: its flow. */
uint32_t nd_pull_take_due(struct nd_pull *queue, nd_ns now);

static inline uint32_t nd_pull_count(const struct nd_pull *queue, uint32_t flow)
{
	return queue->flows[flow].pulls;
}

static inline bool nd_pull_is_due(const struct nd_pull *queue, nd_ns now)
{
	return queue->levels && queue->due <= now;
}

/* Takes one pull when one is due: its flow, or ND_NONE. */
static inline uint32_t nd_pull_take(struct nd_pull *queue, nd_ns now)
{
	return nd_pull_is_due(queue, now) ? nd_pull_take_due(queue, now) : ND_NONE;
}

/* When the next pull is due, ND_NEVER when there is none. */
static inline nd_ns nd_pull_due(const struct nd_pull *queue)
{
	return queue->levels ? queue->due : ND_NEVER;
}

/* NULL or what is wrong. O(flows). */
const char *nd_pull_audit(const struct nd_pull *queue);

#endif
