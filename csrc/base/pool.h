/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of equal-sized items in caller's memory, named by 32-bit index, with a LIFO free list.
 *
 * Conservation is always checkable: limit == used + free. A state byte per item turns a double
 * free into an assertion instead of a corrupted list.
 */
#ifndef ND_BASE_POOL_H
#define ND_BASE_POOL_H

#include "base/types.h"

struct nd_pool {
	uint8_t *items;
	uint32_t stride;  /* bytes from one item to the next */
	uint32_t limit;   /* number of items */
	uint32_t *next;   /* free-list links, ND_POOL_USED while the item is out */
	uint32_t free;    /* head of the free list, or ND_NONE */
	uint32_t used;    /* items that are out */
	uint32_t used_max;
};

#define ND_POOL_USED (UINT32_MAX - 1)

/* Bytes of memory that a pool of limit items of item_bytes needs (64-byte aligned). */
size_t nd_pool_bytes(uint32_t limit, uint32_t item_bytes);

/* Lays the pool out in memory (64-byte aligned, nd_pool_bytes() long). Items are not cleared. */
void nd_pool_init(struct nd_pool *pool, void *memory, uint32_t limit, uint32_t item_bytes);

/* True when every item is either out or reachable from the free list exactly once. O(limit). */
bool nd_pool_check(const struct nd_pool *pool);

static inline void *nd_pool_at(const struct nd_pool *pool, uint32_t index)
{
	return pool->items + (size_t)index * pool->stride;
}

/* Index of the first item from *cursor on that is out, cursor behind it; ND_NONE at the end. */
static inline uint32_t nd_pool_next_used(const struct nd_pool *pool, uint32_t *cursor)
{
	while (*cursor < pool->limit) {
		uint32_t index = (*cursor)++;

		if (pool->next[index] == ND_POOL_USED)
			return index;
	}
	*cursor = ND_NONE;
	return ND_NONE;
}

static inline uint32_t nd_pool_index(const struct nd_pool *pool, const void *item)
{
	return (uint32_t)((size_t)((const uint8_t *)item - pool->items) / pool->stride);
}

/* Index of a fresh item, or ND_NONE when all are out. Contents are undefined. */
static inline uint32_t nd_pool_get(struct nd_pool *pool)
{
	uint32_t index = pool->free;

	if (ND_UNLIKELY(index == ND_NONE))
		return ND_NONE;
	pool->free = pool->next[index];
	pool->next[index] = ND_POOL_USED;
	if (++pool->used > pool->used_max)
		pool->used_max = pool->used;
	return index;
}

static inline void nd_pool_put(struct nd_pool *pool, uint32_t index)
{
	nd_assert(index < pool->limit);
	nd_assert(pool->next[index] == ND_POOL_USED);
	pool->next[index] = pool->free;
	pool->free = index;
	pool->used--;
}

#endif
