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
	uint64_t first; /* smallest key, ND_NEVER when empty: what is asked for most */
	struct nd_heap_item *items;
	uint32_t *position; /* id -> index in items, or ND_NONE */
	uint32_t count;
	uint32_t limit; /* ids are in [0, limit) */
};

size_t nd_heap_bytes(uint32_t limit);
void nd_heap_init(struct nd_heap *heap, void *memory, uint32_t limit);

#define ND_HEAP_ARITY 4

/* The general cases of nd_heap_set() and nd_heap_remove(), which are called instead. */
void nd_heap_sift(struct nd_heap *heap, uint32_t id, uint64_t key);
void nd_heap_refill(struct nd_heap *heap, uint32_t at);

/*
 * Puts id at key, moving it when it is there already. What comes last, as most timers do, stays
 * there; so does what is first and gets smaller, as a message does of which packets are sent.
 */
static inline void nd_heap_set(struct nd_heap *heap, uint32_t id, uint64_t key)
{
	uint32_t last = heap->count;
	uint32_t at;

	nd_assert(id < heap->limit);
	at = heap->position[id];
	if (at == ND_NONE && (!last || key > heap->items[(last - 1) / ND_HEAP_ARITY].key)) {
		heap->items[last] = (struct nd_heap_item){ .key = key, .id = id };
		heap->position[id] = last;
		heap->first = nd_min_u64(heap->first, key);
		heap->count++;
	} else if (at == 0 && key <= heap->items[0].key) {
		heap->items[0].key = heap->first = key;
	} else {
		nd_heap_sift(heap, id, key);
	}
}

/* Takes id out; nothing happens when it is not there. */
static inline void nd_heap_remove(struct nd_heap *heap, uint32_t id)
{
	uint32_t at;

	nd_assert(id < heap->limit);
	at = heap->position[id];
	if (at == ND_NONE)
		return;
	heap->position[id] = ND_NONE;
	if (at != --heap->count)
		nd_heap_refill(heap, at);
	else if (at == 0)
		heap->first = ND_NEVER;
}

static inline bool nd_heap_has(const struct nd_heap *heap, uint32_t id)
{
	return heap->position[id] != ND_NONE;
}

/* Smallest key, or ND_NEVER when empty. */
static inline uint64_t nd_heap_key(const struct nd_heap *heap)
{
	return heap->first;
}

/* Id of the smallest key, or ND_NONE when empty. */
static inline uint32_t nd_heap_id(const struct nd_heap *heap)
{
	return heap->count ? heap->items[0].id : ND_NONE;
}

#endif
