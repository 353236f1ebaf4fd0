/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict priorities, as Homa wants them: N levels, packet.priority picks one, the highest that has
 * a packet is served. With fewer levels than 8, neighbouring priorities share one.
 */
#ifndef ND_QUEUE_STRICT_H
#define ND_QUEUE_STRICT_H

#include "queue/limit.h"
#include "queue/queue.h"

#define ND_STRICT_LEVELS_MAX 8

struct nd_strict_config {
	uint32_t levels;          /* 1 to 8 */
	struct nd_limit level;    /* of each level */
	struct nd_limit total;    /* of all levels together */
	struct nd_shared *shared; /* buffer it takes its bytes from, or NULL */
};

/* The level that a priority of 0 to 7 is served at; level levels - 1 is served first. */
static inline uint32_t nd_strict_level(uint32_t levels, uint8_t priority)
{
	return (priority & (ND_STRICT_LEVELS_MAX - 1)) * levels / ND_STRICT_LEVELS_MAX;
}

extern const struct nd_queue_ops nd_strict_ops;

#endif
