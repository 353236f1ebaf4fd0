/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Priorities: N levels, packet.priority picks one. With fewer levels than 8, neighbouring
 * priorities share one.
 *
 * Levels are strict, as Homa wants them: the highest that has a packet is served. Levels with a
 * weight share what the strict ones leave, by bytes and in proportion to their weights.
 */
#ifndef ND_QUEUE_STRICT_H
#define ND_QUEUE_STRICT_H

#include "queue/limit.h"
#include "queue/queue.h"

#define ND_STRICT_LEVELS_MAX 8
#define ND_STRICT_WEIGHT_MAX 100
#define ND_STRICT_WEIGHT_BYTES 1536u /* served a round for each unit of weight */

struct nd_strict_config {
	uint32_t levels;          /* 1 to 8 */
	struct nd_limit level;    /* of each level */
	struct nd_limit total;    /* of all levels together */
	uint32_t weights[ND_STRICT_LEVELS_MAX]; /* of each level, 0: it is strict */
	struct nd_shared *shared; /* buffer it takes its bytes from, or NULL */
};

/* The level that a priority of 0 to 7 is served at; level levels - 1 is served first. */
static inline uint32_t nd_strict_level(uint32_t levels, uint8_t priority)
{
	return (priority & (ND_STRICT_LEVELS_MAX - 1)) * levels / ND_STRICT_LEVELS_MAX;
}

extern const struct nd_queue_ops nd_strict_ops;

#endif
