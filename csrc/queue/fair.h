/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coexistence (R-NSW-14): two disciplines side by side, one for NDP and one for TCP and the rest,
 * which share the link fairly in bytes whatever their packet sizes.
 */
#ifndef ND_QUEUE_FAIR_H
#define ND_QUEUE_FAIR_H

#include "queue/queue.h"

#define ND_FAIR_CHILDREN 2
/* Below the least, an overdraft of one jumbo packet would take many rounds to repay. */
#define ND_FAIR_QUANTUM_MIN_BYTES 1024
#define ND_FAIR_QUANTUM_MAX_BYTES (1u << 20)

struct nd_fair_child {
	const struct nd_queue_ops *ops;
	const void *config;     /* of that discipline; stays valid and shared */
	uint32_t quantum_bytes; /* served per round: the ratio of the two is the ratio of shares */
};

struct nd_fair_config {
	struct nd_fair_child child[ND_FAIR_CHILDREN];
	uint8_t child_of[ND_PROTO_COUNT]; /* enum nd_protocol -> 0 or 1 */
};

extern const struct nd_queue_ops nd_fair_ops;

#endif
