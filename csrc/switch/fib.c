// SPDX-License-Identifier: Apache-2.0
/* Hashing and probing of route prefixes. */
#include "switch/fib.h"

#include <errno.h>
#include <string.h>

#define LENGTH_MAX 128

static size_t round_up_64(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

size_t nd_fib_bytes(uint32_t limit)
{
	return round_up_64(nd_map_bytes(limit)) +
	       round_up_64((size_t)limit * sizeof(struct nd_fib_route)) +
	       round_up_64((size_t)limit * sizeof(uint32_t));
}

void nd_fib_init(struct nd_fib *fib, void *memory, uint32_t limit, uint64_t salt)
{
	uint8_t *at = memory;

	*fib = (struct nd_fib){ .free_count = 0 };
	nd_map_init(&fib->map, at, limit, salt);
	at += round_up_64(nd_map_bytes(limit));
	fib->routes = (struct nd_fib_route *)(void *)at;
	at += round_up_64((size_t)limit * sizeof(struct nd_fib_route));
	fib->free = (uint32_t *)(void *)at;
	for (uint32_t i = limit; i > 0; i--)
		fib->free[fib->free_count++] = i - 1;
}

/* The first length bits of address, the rest zero. */
static void mask_to(uint8_t out[16], const uint8_t address[16], unsigned length)
{
	unsigned whole = length / 8;

	memset(out, 0, 16);
	memcpy(out, address, whole);
	if (length % 8)
		out[whole] = (uint8_t)(address[whole] & (0xff00 >> (length % 8)));
}

static uint64_t key_of(const uint8_t prefix[16], unsigned length)
{
	uint64_t high;
	uint64_t low;

	memcpy(&high, prefix, 8);
	memcpy(&low, prefix + 8, 8);
	return nd_mix64(nd_mix64(high ^ length) + low);
}

static bool holds(const struct nd_fib *fib, uint32_t index, const uint8_t prefix[16],
		  unsigned length)
{
	return index != ND_NONE && fib->routes[index].length == length &&
	       memcmp(fib->routes[index].prefix, prefix, 16) == 0;
}

static void count_length(struct nd_fib *fib, unsigned length, int change)
{
	uint64_t bit = UINT64_C(1) << (length % 64);

	fib->by_length[length] += (uint32_t)change;
	if (fib->by_length[length])
		fib->lengths[length / 64] |= bit;
	else
		fib->lengths[length / 64] &= ~bit;
}

int nd_fib_set(struct nd_fib *fib, const uint8_t prefix[16], uint8_t length, uint32_t group)
{
	uint8_t masked[16];
	uint64_t key;
	uint32_t index;

	if (length > LENGTH_MAX)
		return -EINVAL;
	mask_to(masked, prefix, length);
	if (memcmp(masked, prefix, 16) != 0)
		return -EINVAL;
	key = key_of(prefix, length);
	index = nd_map_get(&fib->map, key);
	if (holds(fib, index, prefix, length)) {
		fib->routes[index].group = group;
		return 0;
	}
	if (index != ND_NONE)
		return -EEXIST;
	if (fib->free_count == 0)
		return -ENOSPC;
	index = fib->free[--fib->free_count];
	fib->routes[index] = (struct nd_fib_route){ .length = length, .group = group };
	memcpy(fib->routes[index].prefix, prefix, 16);
	nd_map_set(&fib->map, key, index);
	count_length(fib, length, 1);
	return 0;
}

uint32_t nd_fib_get(const struct nd_fib *fib, const uint8_t prefix[16], uint8_t length)
{
	uint32_t index = nd_map_get(&fib->map, key_of(prefix, length));

	return holds(fib, index, prefix, length) ? fib->routes[index].group : ND_NONE;
}

bool nd_fib_remove(struct nd_fib *fib, const uint8_t prefix[16], uint8_t length)
{
	uint64_t key = key_of(prefix, length);
	uint32_t index = nd_map_get(&fib->map, key);

	if (!holds(fib, index, prefix, length))
		return false;
	nd_map_remove(&fib->map, key);
	fib->free[fib->free_count++] = index;
	count_length(fib, length, -1);
	return true;
}

/* Longest existing length below bound, or -1. */
static int length_below(const struct nd_fib *fib, int bound)
{
	for (int length = bound - 1; length >= 0; length--) {
		uint64_t word = fib->lengths[length / 64] << (63 - length % 64);

		if (word)
			return length - __builtin_clzll(word);
		length -= length % 64;
	}
	return -1;
}

uint32_t nd_fib_lookup(const struct nd_fib *fib, const uint8_t address[16])
{
	for (int length = length_below(fib, LENGTH_MAX + 1); length >= 0;
	     length = length_below(fib, length)) {
		uint8_t masked[16];
		uint32_t index;

		mask_to(masked, address, (unsigned)length);
		index = nd_map_get(&fib->map, key_of(masked, (unsigned)length));
		if (holds(fib, index, masked, (unsigned)length))
			return fib->routes[index].group;
	}
	return ND_NONE;
}
