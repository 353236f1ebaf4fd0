/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The discipline contract: what an output queue is to a switch port, real or simulated.
 *
 * A discipline holds packets of one pool, linked by index, and decides which to keep, trim, drop,
 * return or evict. It never looks at a clock or a wire format: packets carry their sizes.
 *
 * DESIGN NOTES
 * 1. Configs are shared by pointer and counters lie apart, so that the state of a port is one or
 *    two cache lines: the simulator has tens of thousands of ports.
 * 2. Conservation holds after every call, in packets and in bytes:
 *	enqueued = dequeued + dropped + returned (+ trimmed_bytes, in bytes) + queued
 *	trimmed + trimmed_arrived = trimmed_sent + trimmed_dropped + returned + trimmed ones queued
 *    nd_queue_audit() checks both.
 */
#ifndef ND_QUEUE_QUEUE_H
#define ND_QUEUE_QUEUE_H

#include "base/counters.h"
#include "base/pool.h"
#include "base/types.h"
#include "wire/packet.h"

/* What became of the packet that arrived. */
enum nd_verdict {
	ND_KEPT,     /* queued whole (another packet may have been trimmed or shed for it) */
	ND_TRIMMED,  /* queued as a header */
	ND_DROPPED,  /* not queued: it is in shed->dropped */
	ND_RETURNED, /* not queued: its header is in shed->returned, addressed to its sender */
};

/* What an arrival did to others, and itself; lists linked through packet->next. */
struct nd_shed {
	uint32_t dropped;  /* pool index of the first packet to free, or ND_NONE */
	uint32_t returned; /* pool index of the first header to send back, or ND_NONE */
	uint32_t cut;      /* pool index of a queued packet that was trimmed for it, or ND_NONE */
};

#define ND_SHED_EMPTY \
	((struct nd_shed){ .dropped = ND_NONE, .returned = ND_NONE, .cut = ND_NONE })

/* One list for all disciplines, so that tools print the same columns for each. */
#define ND_QUEUE_COUNTERS(X) \
	X(enqueued_packets, "Packets offered to the queue.") \
	X(enqueued_bytes, "Bytes of the packets offered to the queue.") \
	X(dequeued_packets, "Packets served, trimmed ones included.") \
	X(dequeued_bytes, "Bytes served, as they leave.") \
	X(dropped_packets, "Packets lost here because a limit was reached, for any reason.") \
	X(dropped_bytes, "Bytes of the packets dropped, as they were at that moment.") \
	X(evicted_packets, "Of the dropped: queued packets that made room for a more urgent one.") \
	X(marked_packets, "Packets marked CE by the queue's threshold.") \
	X(trimmed_packets, "Packets whose payload was cut.") \
	X(trimmed_bytes, "Payload bytes cut.") \
	X(trimmed_arrived_packets, "Packets that arrived trimmed by a switch before this one.") \
	X(trimmed_sent_packets, "Trimmed headers served.") \
	X(trimmed_dropped_packets, "Of the dropped: trimmed headers that met a full queue.") \
	X(returned_packets, "Trimmed headers returned to their sender.") \
	X(returned_bytes, "Bytes of the headers returned to their sender.") \
	X(control_dropped_packets, "Of the dropped: control packets that met a full header queue.")
ND_COUNTERS_STRUCT(nd_queue_counters, ND_QUEUE_COUNTERS);
extern const struct nd_counters_table nd_queue_counters_table;

struct nd_queue_ops;

/* Every discipline's struct begins with this. */
struct nd_queue {
	const struct nd_queue_ops *ops;
	const struct nd_pool *pool; /* of struct nd_packet, shared by the ports of a switch */
	struct nd_queue_counters *counters;
	uint32_t packets; /* queued now */
	uint32_t bytes;   /* queued now */
	uint32_t blocked; /* bit i set: class i is not served (operator's hold, PFC, tests) */
};

/* What an audit finds by walking the lists. */
struct nd_queue_tally {
	uint32_t packets;
	uint32_t bytes;
	uint32_t trimmed; /* packets among them that are trimmed */
};

/* Depth of one class of a discipline: its data queue, its header queue, a priority level. */
struct nd_queue_depth {
	uint32_t packets;
	uint32_t bytes;
};

#define ND_QUEUE_CLASSES_MAX 8

struct nd_queue_ops {
	const char *name;
	/* Names of the classes that can be blocked and measured, ended by NULL. */
	const char *const *classes;
	/* 0 or -EINVAL with *why naming field, value, limit and remedy (see nd_refuse). */
	int (*check)(const void *config, const char **why);
	/* Bytes of zeroed 64-byte aligned memory that init needs. config stays valid and shared. */
	size_t (*bytes)(const void *config);
	void (*init)(struct nd_queue *queue, const struct nd_pool *pool, const void *config,
		     struct nd_queue_counters *counters, uint64_t seed);
	/* shed must be ND_SHED_EMPTY on entry. */
	enum nd_verdict (*enqueue)(struct nd_queue *queue, uint32_t index, nd_ns now,
				   struct nd_shed *shed);
	/* Index of the packet to send now, or ND_NONE when empty or blocked. */
	uint32_t (*dequeue)(struct nd_queue *queue, nd_ns now);
	/* Fetches the packets into the cache that dequeue is likely to return next. NULL where that
	 * is not cheap to tell. */
	void (*foresee)(const struct nd_queue *queue);
	struct nd_queue_depth (*depth)(const struct nd_queue *queue, uint32_t class);
	/* Adds what it holds to the tally; NULL or what is wrong with lists and limits. */
	const char *(*audit)(const struct nd_queue *queue, struct nd_queue_tally *tally);
};

/* The discipline of that name, or NULL. */
const struct nd_queue_ops *nd_queue_find(const char *name);

/* All disciplines, ended by NULL. */
extern const struct nd_queue_ops *const nd_queue_disciplines[];

/* NULL or what is wrong: lists, limits, byte counts, both conservation laws. O(queued). */
const char *nd_queue_audit(const struct nd_queue *queue);

static inline enum nd_verdict nd_queue_enqueue(struct nd_queue *queue, uint32_t index, nd_ns now,
					       struct nd_shed *shed)
{
	return queue->ops->enqueue(queue, index, now, shed);
}

static inline uint32_t nd_queue_dequeue(struct nd_queue *queue, nd_ns now)
{
	return queue->ops->dequeue(queue, now);
}

#endif
