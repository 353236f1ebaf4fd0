// SPDX-License-Identifier: Apache-2.0
/* Layout and conservation check of index pools. */
#include "base/pool.h"

static size_t round_up_64(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

size_t nd_pool_bytes(uint32_t limit, uint32_t item_bytes)
{
	return round_up_64((size_t)limit * item_bytes) +
	       round_up_64((size_t)limit * sizeof(uint32_t));
}

void nd_pool_init(struct nd_pool *pool, void *memory, uint32_t limit, uint32_t item_bytes)
{
	nd_assert(limit < ND_POOL_USED);
	nd_assert(((uintptr_t)memory & 63) == 0);
	*pool = (struct nd_pool){
		.items = memory,
		.stride = item_bytes,
		.limit = limit,
		.free = limit ? 0 : ND_NONE,
	};
	pool->next = (uint32_t *)(void *)(pool->items + round_up_64((size_t)limit * item_bytes));
	for (uint32_t i = 0; i < limit; i++)
		pool->next[i] = i + 1 < limit ? i + 1 : ND_NONE;
}

bool nd_pool_check(const struct nd_pool *pool)
{
	uint32_t free_count = 0;
	uint32_t used_count = 0;

	for (uint32_t i = pool->free; i != ND_NONE; i = pool->next[i]) {
		if (i >= pool->limit || pool->next[i] == ND_POOL_USED)
			return false;
		if (++free_count > pool->limit)
			return false;
	}
	for (uint32_t i = 0; i < pool->limit; i++)
		used_count += pool->next[i] == ND_POOL_USED;
	return used_count == pool->used && free_count + used_count == pool->limit;
}
