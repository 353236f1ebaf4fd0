/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The discipline contract: what an output queue is to a switch port, real or simulated.
 *
 * A discipline holds packets of one pool, linked by index, and decides which to keep, trim, drop,
 * return or evict. It never looks at a clock or a wire format: packets carry their sizes.
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

/* Packets that left the queue without being served; lists linked through packet->next. */
struct nd_shed {
	uint32_t dropped;  /* pool index of the first packet to free, or ND_NONE */
	uint32_t returned; /* pool index of the first header to send back, or ND_NONE */
};

/* One list for all disciplines, so that tools print the same columns for each. */
#define ND_QUEUE_COUNTERS(X) \
	X(enqueued_packets, "Packets offered to the queue.") \
	X(enqueued_bytes, "Bytes of the packets offered to the queue.") \
	X(dequeued_packets, "Packets served, trimmed ones included.") \
	X(dequeued_bytes, "Bytes served, as they leave.") \
	X(dropped_packets, "Packets dropped because a limit was reached.") \
	X(dropped_bytes, "Bytes of the packets dropped, as they were at that moment.") \
	X(evicted_packets, "Queued packets dropped to make room for a more urgent arrival.") \
	X(marked_packets, "Packets marked CE by the queue's threshold.") \
	X(trimmed_packets, "Packets whose payload was cut.") \
	X(trimmed_sent_packets, "Trimmed headers served.") \
	X(trimmed_dropped_packets, "Trimmed headers dropped on a full header queue.") \
	X(returned_packets, "Trimmed headers returned to their sender.") \
	X(control_dropped_packets, "Control packets dropped on a full header queue.")
ND_COUNTERS_STRUCT(nd_queue_counters, ND_QUEUE_COUNTERS);
extern const struct nd_counters_table nd_queue_counters_table;

struct nd_queue_ops;

/* Every discipline's struct begins with this. */
struct nd_queue {
	const struct nd_queue_ops *ops;
	const struct nd_pool *pool;      /* of struct nd_packet, shared by the ports of a switch */
	uint32_t packets;                /* queued now */
	uint32_t bytes;                  /* queued now */
	struct nd_queue_counters *counters;
};

struct nd_queue_ops {
	const char *name;
	/* 0 or -EINVAL with *why naming field, value, limit and remedy. */
	int (*check)(const void *config, const char **why);
	/* Bytes of zeroed 64-byte aligned memory that init needs. config stays valid and shared. */
	size_t (*bytes)(const void *config);
	void (*init)(struct nd_queue *queue, const struct nd_pool *pool, const void *config,
		     struct nd_queue_counters *counters, uint64_t seed);
	/* shed lists must be ND_NONE on entry. */
	enum nd_verdict (*enqueue)(struct nd_queue *queue, uint32_t index, nd_ns now,
				   struct nd_shed *shed);
	/* Index of the packet to send now, or ND_NONE when empty. */
	uint32_t (*dequeue)(struct nd_queue *queue, nd_ns now);
	/* NULL or what is wrong: lists, byte counts, limits, conservation. O(queued). */
	const char *(*audit)(const struct nd_queue *queue);
};

#endif
