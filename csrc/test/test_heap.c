// SPDX-License-Identifier: Apache-2.0
/* The indexed heap against a linear search, under random set and remove. */
#include "base/heap.h"
#include "base/rng.h"
#include "test/harness.h"

#define LIMIT 50

static struct nd_heap heap;
static uint64_t memory[LIMIT * 3];

TEST(nd_heap_set__moves_an_entry_both_ways)
{
	nd_heap_init(&heap, memory, LIMIT);
	CHECK_EQ(nd_heap_id(&heap), ND_NONE);
	nd_heap_set(&heap, 7, 10);
	nd_heap_set(&heap, 8, 20);
	CHECK_EQ(nd_heap_id(&heap), 7);
	nd_heap_set(&heap, 7, 30);
	CHECK_EQ(nd_heap_id(&heap), 8);
	nd_heap_set(&heap, 7, 5);
	CHECK_EQ(nd_heap_id(&heap), 7);
	CHECK_EQ(heap.count, 2);
}

TEST(nd_heap_id__breaks_ties_by_id)
{
	nd_heap_init(&heap, memory, LIMIT);
	nd_heap_set(&heap, 9, 1);
	nd_heap_set(&heap, 3, 1);
	nd_heap_set(&heap, 6, 1);
	CHECK_EQ(nd_heap_id(&heap), 3);
}

static uint32_t slow_minimum(const uint64_t *keys)
{
	uint32_t best = ND_NONE;

	for (uint32_t id = 0; id < LIMIT; id++) {
		if (keys[id] != ND_NEVER && (best == ND_NONE || keys[id] < keys[best]))
			best = id;
	}
	return best;
}

TEST(nd_heap_remove__random_walk_agrees_with_a_linear_search)
{
	struct nd_rng rng = nd_rng_make(1, 2);
	uint64_t keys[LIMIT];

	CHECK(nd_heap_bytes(LIMIT) <= sizeof(memory));
	nd_heap_init(&heap, memory, LIMIT);
	memset(keys, 0xff, sizeof(keys));
	for (unsigned step = 0; step < 20000; step++) {
		uint32_t id = nd_rng_below(&rng, LIMIT);

		if (nd_rng_below(&rng, 3) == 0) {
			nd_heap_remove(&heap, id);
			keys[id] = ND_NEVER;
		} else {
			keys[id] = nd_rng_below(&rng, 100);
			nd_heap_set(&heap, id, keys[id]);
		}
		CHECK_EQ(nd_heap_id(&heap), slow_minimum(keys));
		CHECK_EQ(nd_heap_has(&heap, id), keys[id] != ND_NEVER);
	}
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
