// SPDX-License-Identifier: Apache-2.0
/* Sifting of the indexed 4-ary heap. */
#include "base/heap.h"

#include <string.h>

size_t nd_heap_bytes(uint32_t limit)
{
	return (size_t)limit * (sizeof(struct nd_heap_item) + sizeof(uint32_t));
}

void nd_heap_init(struct nd_heap *heap, void *memory, uint32_t limit)
{
	nd_assert(((uintptr_t)memory & 7) == 0);
	heap->items = memory;
	heap->position = (uint32_t *)(void *)(heap->items + limit);
	heap->first = ND_NEVER;
	heap->count = 0;
	heap->limit = limit;
	memset(heap->position, 0xff, (size_t)limit * sizeof(uint32_t));
}

static bool before(const struct nd_heap_item *a, const struct nd_heap_item *b)
{
	return a->key < b->key || (a->key == b->key && a->id < b->id);
}

static void place(struct nd_heap *heap, uint32_t at, struct nd_heap_item item)
{
	heap->items[at] = item;
	heap->position[item.id] = at;
}

static void sift_up(struct nd_heap *heap, uint32_t at, struct nd_heap_item item)
{
	while (at > 0) {
		uint32_t parent = (at - 1) / ND_HEAP_ARITY;

		if (!before(&item, &heap->items[parent]))
			break;
		place(heap, at, heap->items[parent]);
		at = parent;
	}
	place(heap, at, item);
}

static void sift_down(struct nd_heap *heap, uint32_t at, struct nd_heap_item item)
{
	for (;;) {
		uint32_t first = at * ND_HEAP_ARITY + 1;
		uint32_t last = nd_min_u32(first + ND_HEAP_ARITY, heap->count);
		uint32_t best = first;

		if (first >= heap->count)
			break;
		for (uint32_t child = first + 1; child < last; child++) {
			if (before(&heap->items[child], &heap->items[best]))
				best = child;
		}
		if (!before(&heap->items[best], &item))
			break;
		place(heap, at, heap->items[best]);
		at = best;
	}
	place(heap, at, item);
}

void nd_heap_sift(struct nd_heap *heap, uint32_t id, uint64_t key)
{
	struct nd_heap_item item = { .key = key, .id = id };
	uint32_t at = heap->position[id];

	if (at == ND_NONE) {
		sift_up(heap, heap->count++, item);
	} else if (key < heap->items[at].key) {
		sift_up(heap, at, item);
	} else if (key > heap->items[at].key) {
		sift_down(heap, at, item);
	}
	heap->first = heap->items[0].key;
}

/* The last item, already off the count, goes to the hole. */
void nd_heap_refill(struct nd_heap *heap, uint32_t at)
{
	struct nd_heap_item last = heap->items[heap->count];

	if (at > 0 && before(&last, &heap->items[(at - 1) / ND_HEAP_ARITY]))
		sift_up(heap, at, last);
	else
		sift_down(heap, at, last);
	heap->first = heap->items[0].key;
}
