/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keyed random numbers: a draw is a hash of (seed, entity, draw index).
 *
 * Each entity (host, port, connection) owns a stream, so adding a flow elsewhere never shifts the
 * draws of the others, and a run repeats on every compiler.
 */
#ifndef ND_BASE_RNG_H
#define ND_BASE_RNG_H

#include "base/types.h"

struct nd_rng {
	uint64_t key;  /* identifies the stream: hash of seed and entity */
	uint64_t draw; /* index of the next draw */
};

/* Finaliser of splitmix64: every input bit reaches every output bit. */
static inline uint64_t nd_mix64(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static inline struct nd_rng nd_rng_make(uint64_t seed, uint64_t entity)
{
	struct nd_rng rng = { 0, 0 };

	rng.key = nd_mix64(nd_mix64(seed + UINT64_C(0x9e3779b97f4a7c15)) ^
			   (entity * UINT64_C(0xd1342543de82ef95) + 1));
	return rng;
}

static inline uint64_t nd_rng_u64(struct nd_rng *rng)
{
	return nd_mix64(rng->key + UINT64_C(0x9e3779b97f4a7c15) * ++rng->draw);
}

/* Uniform in [0, bound), bound > 0, by multiply-shift (bias < 2^-32). */
static inline uint32_t nd_rng_below(struct nd_rng *rng, uint32_t bound)
{
	return (uint32_t)(((nd_rng_u64(rng) >> 32) * bound) >> 32);
}

/*
 * The same with half of the mixing: for choices between few that need only be even, one for each
 * packet.
 */
static inline uint32_t nd_rng_pick(struct nd_rng *rng, uint32_t bound)
{
	uint64_t x = rng->key + UINT64_C(0x9e3779b97f4a7c15) * ++rng->draw;

	x = (x ^ x >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
	return (uint32_t)(((x >> 32) * bound) >> 32);
}

static inline bool nd_rng_coin(struct nd_rng *rng)
{
	return (nd_rng_u64(rng) >> 63) != 0;
}

/* True with probability per_2_32 / 2^32. */
static inline bool nd_rng_chance(struct nd_rng *rng, uint32_t per_2_32)
{
	return (uint32_t)(nd_rng_u64(rng) >> 32) < per_2_32;
}

#endif
