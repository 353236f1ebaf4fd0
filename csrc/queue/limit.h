/* SPDX-License-Identifier: Apache-2.0 */
/* How much a queue may hold: bytes, packets, both, and its part of a shared buffer. */
#ifndef ND_QUEUE_LIMIT_H
#define ND_QUEUE_LIMIT_H

#include "base/types.h"
#include "queue/shared.h"

/* 0 stands for "no limit of this kind"; every queue has at least one. */
struct nd_limit {
	uint32_t bytes;
	uint32_t packets;
};

static inline bool nd_limit_is_set(const struct nd_limit *limit)
{
	return limit->bytes || limit->packets;
}

/* Whether a queue of these bytes may add a packet of add bytes (add > 0). */
static inline bool nd_limit_admits_bytes(const struct nd_limit *limit, uint32_t bytes, uint32_t add)
{
	/* Taking one away on both sides turns "no limit" into the largest number. */
	return bytes + add - 1 <= limit->bytes - 1;
}

/* Whether a queue of these bytes and packets may add one packet of add bytes (add > 0). */
static inline bool nd_limit_admits(const struct nd_limit *limit, uint32_t bytes, uint32_t packets,
				   uint32_t add)
{
	return nd_limit_admits_bytes(limit, bytes, add) && packets <= limit->packets - 1;
}

/* Whether that much is held rightly. */
static inline bool nd_limit_holds(const struct nd_limit *limit, uint32_t bytes, uint32_t packets)
{
	return (!limit->bytes || bytes <= limit->bytes) &&
	       (!limit->packets || packets <= limit->packets);
}

#endif
