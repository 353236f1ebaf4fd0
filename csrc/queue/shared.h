/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A buffer that the ports of a switch share, with a dynamic threshold (Choudhury and Hahne): a
 * queue may grow to alpha times what is free, so that a few busy ports get much and many get
 * little, and some always stays free for a port that wakes up.
 *
 * It has one owner thread: a switch with several workers gives each its part of the buffer.
 */
#ifndef ND_QUEUE_SHARED_H
#define ND_QUEUE_SHARED_H

#include "base/types.h"

/* alpha is in 1/ND_SHARED_ALPHA_ONE; up to 64 times what is free. */
#define ND_SHARED_ALPHA_ONE 256
#define ND_SHARED_ALPHA_MAX (64 * ND_SHARED_ALPHA_ONE)

struct nd_shared_config {
	uint32_t total_bytes; /* of all the queues that share the buffer */
	uint32_t alpha_256;   /* dynamic threshold in 1/256: 256 = as much as is free */
};

struct nd_shared {
	uint32_t total_bytes;
	uint32_t alpha_256;
	uint32_t used_bytes;
	uint32_t used_max_bytes; /* high-water mark */
	uint64_t refused;        /* packets that the threshold or the total turned away */
};

/* 0 or -EINVAL with *why. */
int nd_shared_check(const struct nd_shared_config *config, const char **why);
void nd_shared_init(struct nd_shared *shared, const struct nd_shared_config *config);

static inline uint32_t nd_shared_free(const struct nd_shared *shared)
{
	return shared->total_bytes - shared->used_bytes;
}

/* Most bytes that one queue may hold at the moment. */
static inline uint64_t nd_shared_threshold(const struct nd_shared *shared)
{
	return (uint64_t)nd_shared_free(shared) * shared->alpha_256 / ND_SHARED_ALPHA_ONE;
}

/* Whether a queue that holds queue_bytes may add bytes: below the threshold, and they fit. */
static inline bool nd_shared_admits(struct nd_shared *shared, uint32_t queue_bytes, uint32_t bytes)
{
	if (bytes <= nd_shared_free(shared) &&
	    (uint64_t)queue_bytes + bytes <= nd_shared_threshold(shared))
		return true;
	shared->refused++;
	return false;
}

/* Whether bytes fit at all: what trimmed headers and control packets need. */
static inline bool nd_shared_has_room(struct nd_shared *shared, uint32_t bytes)
{
	if (bytes <= nd_shared_free(shared))
		return true;
	shared->refused++;
	return false;
}

static inline void nd_shared_take(struct nd_shared *shared, uint32_t bytes)
{
	nd_assert(bytes <= nd_shared_free(shared));
	shared->used_bytes += bytes;
	shared->used_max_bytes = nd_max_u32(shared->used_max_bytes, shared->used_bytes);
}

static inline void nd_shared_give(struct nd_shared *shared, uint32_t bytes)
{
	nd_assert(bytes <= shared->used_bytes);
	shared->used_bytes -= bytes;
}

#endif
