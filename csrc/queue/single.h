/* SPDX-License-Identifier: Apache-2.0 */
/* What the disciplines that are one FIFO (droptail, ecn, cut_payload) have in common. */
#ifndef ND_QUEUE_SINGLE_H
#define ND_QUEUE_SINGLE_H

#include "queue/fifo.h"
#include "queue/limit.h"

struct nd_single {
	struct nd_queue queue;
	const void *config;       /* the discipline's own */
	struct nd_shared *shared; /* or NULL */
	struct nd_fifo fifo;
};

extern const char *const nd_single_classes[];

/* Refuses a queue that nothing bounds. */
int nd_single_check(const struct nd_limit *limit, const struct nd_shared *shared, const char **why);
size_t nd_single_bytes(const void *config);
void nd_single_init(struct nd_single *single, const struct nd_queue *queue, const void *config,
		    struct nd_shared *shared);

/* Links the packet in at the tail when both limits allow it. */
bool nd_single_push(struct nd_single *single, uint32_t index, const struct nd_limit *limit);

uint32_t nd_single_dequeue(struct nd_queue *queue, nd_ns now);
void nd_single_foresee(const struct nd_queue *queue);
struct nd_queue_depth nd_single_depth(const struct nd_queue *queue, uint32_t class);
const char *nd_single_audit(const struct nd_queue *queue, const struct nd_limit *limit,
			    struct nd_queue_tally *tally);

#endif
