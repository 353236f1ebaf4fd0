/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An indexed 4-ary min-heap: at most one entry per id, which can be moved or taken out by id.
 *
 * Ties break by id, so the order is total and the same everywhere. Used for per-endpoint timers
 * (key = deadline) and for SRPT (key = remaining bytes).
 */
#ifndef ND_BASE_HEAP_H
#define ND_BASE_HEAP_H

#include "base/types.h"

struct nd_heap_item {
	uint64_t key;
	uint32_t id;
};

struct nd_heap {
	struct nd_heap_item *items;
	uint32_t *position; /* id -> index in items, or ND_NONE */
	uint32_t count;
	uint32_t limit; /* ids are in [0, limit) */
};

size_t nd_heap_bytes(uint32_t limit);
void nd_heap_init(struct nd_heap *heap, void *memory, uint32_t limit);

/* Puts id at key, moving it when it is there already. */
void nd_heap_set(struct nd_heap *heap, uint32_t id, uint64_t key);

/* Takes id out; nothing happens when it is not there. */
void nd_heap_remove(struct nd_heap *heap, uint32_t id);

static inline bool nd_heap_has(const struct nd_heap *heap, uint32_t id)
{
	return heap->position[id] != ND_NONE;
}

/* Smallest key, or ND_NEVER when empty. */
static inline uint64_t nd_heap_key(const struct nd_heap *heap)
{
	return heap->count ? heap->items[0].key : ND_NEVER;
}

/* Id of the smallest key, or ND_NONE when empty. */
static inline uint32_t nd_heap_id(const struct nd_heap *heap)
{
	return heap->count ? heap->items[0].id : ND_NONE;
}

#endif
