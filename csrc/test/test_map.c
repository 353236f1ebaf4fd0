// SPDX-License-Identifier: Apache-2.0
/* The hash map against an array, at its limit and under deletion. */
#include "base/map.h"
#include "test/harness.h"

#define LIMIT 100

static struct nd_map map;
static struct nd_map_slot memory[256];

TEST(nd_map_set__refuses_beyond_its_limit)
{
	CHECK(nd_map_bytes(LIMIT) <= sizeof(memory));
	nd_map_init(&map, memory, LIMIT, 1);
	for (uint32_t i = 0; i < LIMIT; i++)
		CHECK(nd_map_set(&map, i, i));
	CHECK(!nd_map_set(&map, 1000, 0));
	CHECK(nd_map_set(&map, 5, 55));
	CHECK_EQ(nd_map_get(&map, 5), 55);
}

/* One search serves for asking and for putting. */
TEST(nd_map_fill__where_the_search_ended)
{
	struct nd_map_slot *slot;

	nd_map_init(&map, memory, LIMIT, 1);
	slot = nd_map_slot_of(&map, 7);
	CHECK_EQ(slot->value, ND_NONE);
	CHECK(nd_map_fill(&map, slot, 7, 70));
	slot = nd_map_slot_of(&map, 7);
	CHECK_EQ(slot->value, 70);
	CHECK(nd_map_fill(&map, slot, 7, 71));
	CHECK_EQ(map.count, 1);
	for (uint32_t i = 1; i < LIMIT; i++)
		CHECK(nd_map_set(&map, 100 + i, i));
	CHECK(!nd_map_fill(&map, nd_map_slot_of(&map, 8), 8, 80));
	CHECK_EQ(nd_map_get(&map, 8), ND_NONE);
}

/* Slots looked at to find each of LIMIT keys that lie `stride` apart, summed. */
static uint32_t steps_to_find(uint64_t stride, uint64_t salt)
{
	uint32_t steps = 0;

	nd_map_init(&map, memory, LIMIT, salt);
	for (uint64_t i = 0; i < LIMIT; i++)
		CHECK(nd_map_set(&map, i * stride, (uint32_t)i));
	for (uint64_t i = 0; i < LIMIT; i++) {
		uint32_t home = nd_map_home(&map, i * stride);

		steps += (uint32_t)(nd_map_slot_of(&map, i * stride) - map.slots - home) & map.mask;
	}
	return steps;
}

/* Ids, ports, addresses in either half: whatever bits the keys differ in, few meet. */
TEST(nd_map_home__spreads_what_lies_evenly)
{
	for (uint32_t shift = 0; shift < 57; shift++) {
		uint64_t worst = 0, sum = 0;

		for (uint64_t salt = 1; salt <= 20; salt++) {
			uint32_t steps = steps_to_find(UINT64_C(1) << shift, nd_mix64(salt));

			worst = nd_max_u64(worst, steps);
			sum += steps;
		}
		CHECK(sum / 20 < 2 * LIMIT);
		CHECK(worst < 10 * LIMIT);
	}
}

/* Ids are given one after the other, and asked for so. */
TEST(nd_map_home__of_four_that_follow_each_other_in_one_line)
{
	nd_map_init(&map, memory, LIMIT, 7);
	for (uint64_t key = 0; key < 1000; key++)
		CHECK_EQ(nd_map_home(&map, key), (nd_map_home(&map, key & ~UINT64_C(3)) & ~3u) | (key & 3));
}

TEST(nd_map_remove__random_walk_agrees_with_an_array)
{
	struct nd_rng rng = nd_rng_make(3, 4);
	uint32_t values[LIMIT];

	nd_map_init(&map, memory, LIMIT, 2);
	memset(values, 0xff, sizeof(values));
	for (unsigned step = 0; step < 50000; step++) {
		uint32_t key = nd_rng_below(&rng, LIMIT);

		if (nd_rng_coin(&rng)) {
			CHECK_EQ(nd_map_remove(&map, key), values[key]);
			values[key] = ND_NONE;
		} else {
			values[key] = nd_rng_below(&rng, 1000);
			CHECK(nd_map_set(&map, key, values[key]));
		}
		key = nd_rng_below(&rng, LIMIT);
		CHECK_EQ(nd_map_get(&map, key), values[key]);
	}
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
