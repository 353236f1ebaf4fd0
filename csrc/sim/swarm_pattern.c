// SPDX-License-Identifier: Apache-2.0
/* Patterns of message bytes. */
#include "sim/swarm_pattern.h"

#include <string.h>

#include "base/rng.h"

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static uint64_t word_at(uint64_t base, uint32_t key, uint32_t word)
{
	if (word == 0)
		return key | (uint64_t)~key << 32;
	return nd_mix64(base + GOLDEN * word);
}

static uint64_t base_of(uint64_t seed, uint32_t key)
{
	return nd_mix64(nd_mix64(seed) ^ (key * UINT64_C(0xd1342543de82ef95)));
}

void nd_swarm_pattern_fill(uint64_t seed, uint32_t key, uint8_t *bytes, uint32_t count)
{
	uint64_t base = base_of(seed, key);

	for (uint32_t at = 0; at < count; at += 8) {
		uint64_t word = word_at(base, key, at / 8);

		memcpy(bytes + at, &word, nd_min_u32(8, count - at));
	}
}

bool nd_swarm_pattern_check(uint64_t seed, uint32_t key, const uint8_t *bytes, uint32_t count)
{
	uint64_t base = base_of(seed, key);

	for (uint32_t at = 0; at < count; at += 8) {
		uint64_t word = word_at(base, key, at / 8);

		if (memcmp(bytes + at, &word, nd_min_u32(8, count - at)) != 0)
			return false;
	}
	return true;
}

uint32_t nd_swarm_pattern_key(uint64_t seed, const uint8_t *bytes)
{
	uint64_t words[2];
	uint32_t key;

	memcpy(words, bytes, sizeof(words));
	key = (uint32_t)words[0];
	if ((uint32_t)(words[0] >> 32) != ~key || words[1] != word_at(base_of(seed, key), key, 1))
		return ND_NONE;
	return key;
}
